#include "daemon/publish/resource_publisher.hpp"

#include <doctest/doctest.h>

#include <set>

#include "host/hardware/machine_files.hpp"
#include "unit/daemon/platform/process.hpp"
#include "unit/daemon/resource_names.hpp"
#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

namespace plughost {
namespace {

using test::kA;
using test::kB;
using namespace std::chrono_literals;
using Clock = EventLoop::Clock;
using Texts = std::vector<std::string>;

// The other entries, one of which may own a resource that this entry wants.
struct Owner final : ControllerOwner {
  std::string claim(const std::string& resource, const std::string&) override {
    return taken.contains(resource) ? "x.com/other (a.yaml:1:1) serves it already" : "";
  }
  Clock::time_point not_before(const std::string&) const override { return Clock::time_point::min(); }
  void removed(const std::string& resource, const std::string& entry) override {
    told.push_back("removed " + resource + " of " + entry);
  }
  void published(const ResourceSnapshot& snapshot) override {
    told.push_back("offered " + snapshot.resource + ' ' + std::to_string(snapshot.inventory.id_count()));
    if (on_snapshot) on_snapshot();
  }
  void emptied(const ResourceSnapshot& last) override {
    told.push_back("emptied " + last.resource + ' ' + std::to_string(last.inventory.id_count()));
  }
  void changed() override { ++changes; }

  std::set<std::string> taken;
  Texts told;
  std::function<void()> on_snapshot;
  unsigned changes = 0;
};

struct Of final : PublisherOwner {
  void on_incomplete() override { ++looks; }
  void all_published() override { ++published; }
  void dropped(const std::string& resource) override { drops.push_back(resource); }
  void record_error(const std::string& error) override { notes.push_back(error); }

  unsigned looks = 0;
  unsigned published = 0;
  Texts drops;
  Texts notes;
};

// An entry on a node without a kubelet.
struct PublisherRig {
  explicit PublisherRig(const char* name = "x.com/a", CdiNames cdi_names = CdiNames::kNone) {
    AllocationSpec spec;
    spec.name = Template(name);
    spec.cdi = cdi_names;
    spec.env = {{Template("HAS_{id}"), Template("1")}};
    config.spec = std::make_shared<const AllocationSpec>(spec);
    publisher = std::make_unique<ResourcePublisher>(ResourcePublisher::Context{.platform = process.platform,
                                                                               .link = link,
                                                                               .cdi = cdi,
                                                                               .assuming = assuming,
                                                                               .held = held,
                                                                               .owner = owner},
                                                    config, entry);
  }

  void publish(const std::string& resource, std::vector<Device> before, std::vector<Device> now) {
    publisher->publish({.spec = config.spec,
                        .by_cdi = config.spec->cdi != CdiNames::kNone,
                        .files = {},
                        .listings = {{resource, Inventory(std::move(before)), Inventory(std::move(now))}}});
  }
  bool idle() {
    return test::run_until(process.loop, [&] { return publisher->idle(); });
  }
  // Returns the resource's snapshot; nullptr if the resource is not served.
  SharedSnapshot snapshot(const std::string& resource) const {
    SharedSnapshot found;
    publisher->for_each_resource([&](const Resource& each) {
      if (each.name() == resource) found = each.snapshot();
    });
    return found;
  }
  std::filesystem::path specification() const { return dir.at("cdi/plughost-x.com_a.json"); }

  test::TempDir dir;
  test::Process process;
  KubeletLink link{
      process.platform, {.directory = dir.path(), .pod_resources = dir.at("none")}, nullptr, [] {}, [] {}};
  CdiPlaces cdi{process.workers, process.host, dir.at("cdi"), "plughost"};
  Assuming assuming{{.loop = process.loop,
                     .log = process.log,
                     .api_server = process.api_server,
                     .node_watch = process.node_watch,
                     .checkpoint = [this]() -> CheckpointReader& { return link.checkpoint(); },
                     .write_late = {},
                     .remove_other_late = {}},
                    dir.at("none")};
  HeldDevices held{process.loop, process.log, [](const HoldingsReader::Done&) {}, [] {}};
  ResourceConfig config;
  Owner owner;
  Of entry;
  std::unique_ptr<ResourcePublisher> publisher;
};

TEST_CASE("publisher: a list is sent at once, and every observer is notified") {
  PublisherRig rig;
  rig.publish(kA, {}, {{.id = "one"}, {.id = "two"}});
  REQUIRE(rig.snapshot(kA));
  CHECK(rig.snapshot(kA)->inventory.id_count() == 2);
  CHECK(rig.owner.told == Texts{"offered x.com/a 2"});
  CHECK(rig.owner.changes == 1);
  CHECK(rig.entry.published == 1);
  rig.publish(kA, {{.id = "one"}, {.id = "two"}}, {});
  REQUIRE(rig.snapshot(kA));  // the configuration names the resource, so an empty list counts
  CHECK(rig.snapshot(kA)->inventory.empty());
  CHECK(rig.entry.drops.empty());
}

TEST_CASE("publisher: a resource that is named after its devices is removed with the last one") {
  PublisherRig rig("x.com/{type}");
  rig.publish(kA, {}, {{.id = "one"}});
  rig.publish(kB, {}, {{.id = "two"}});
  rig.owner.told.clear();
  rig.publish(kA, {{.id = "one"}}, {});
  CHECK_FALSE(rig.snapshot(kA));
  CHECK(rig.snapshot(kB));
  CHECK(rig.owner.told == Texts{"offered x.com/a 0", "emptied x.com/a 1", "removed x.com/a of x.com/{type}"});
  CHECK(rig.entry.drops == Texts{kA});
}

TEST_CASE("publisher: a resource of another entry is not served until that entry releases it") {
  PublisherRig rig;
  rig.owner.taken = {kA};
  rig.publish(kA, {}, {{.id = "one"}});
  CHECK_FALSE(rig.snapshot(kA));
  CHECK(rig.owner.told.empty());
  CHECK(rig.entry.notes == Texts{"x.com/a: x.com/other (a.yaml:1:1) serves it already"});
  rig.publish(kA, {}, {{.id = "one"}});
  CHECK(rig.entry.notes.size() == 1);
  rig.owner.taken.clear();
  rig.publish(kA, {}, {{.id = "one"}});
  CHECK(rig.snapshot(kA));
  rig.publisher.reset();
  CHECK(rig.owner.told.back() == "removed x.com/a of x.com/a");
}

TEST_CASE("publisher: an entry that never had a resource does not release it") {
  PublisherRig rig;
  rig.owner.taken = {kA};
  rig.publish(kA, {}, {{.id = "one"}});
  rig.publisher.reset();
  CHECK(rig.owner.told.empty());
}

TEST_CASE("publisher: definitions of CDI names are written before the names are published") {
  PublisherRig rig("x.com/a", CdiNames::kCri);
  bool written = false;
  rig.owner.on_snapshot = [&] { written = std::filesystem::exists(rig.specification()); };
  rig.publish(kA, {}, {{.id = "one"}});
  CHECK_FALSE(rig.publisher->idle());
  CHECK_FALSE(rig.snapshot(kA));
  CHECK(rig.entry.published == 0);
  REQUIRE(rig.idle());
  REQUIRE(rig.snapshot(kA));
  CHECK(rig.snapshot(kA)->stalls.empty());
  CHECK(written);
  CHECK(rig.entry.published == 1);
}

TEST_CASE(
    "publisher: an entry that may not serve a resource does not write the resource's CDI specification") {
  PublisherRig rig("x.com/a", CdiNames::kCri);
  rig.owner.taken = {kA};
  rig.dir.file("cdi/plughost-x.com_a.json", "the other entry's");
  rig.publish(kA, {}, {{.id = "one"}});
  REQUIRE(rig.idle());
  CHECK(file_text(rig.specification(), 100) == "the other entry's");
  rig.owner.taken.clear();
  rig.publish(kA, {}, {{.id = "one"}});
  REQUIRE(rig.idle());
  CHECK(file_text(rig.specification(), 100) != "the other entry's");
}

TEST_CASE(
    "publisher: lists that arrive while a specification is written are sent in order, and the last one "
    "stays") {
  PublisherRig rig("x.com/a", CdiNames::kCri);
  rig.publish(kA, {}, {{.id = "one"}});
  rig.publish(kA, {{.id = "one"}}, {{.id = "one"}, {.id = "two"}});
  rig.publish(kA, {{.id = "one"}, {.id = "two"}}, {{.id = "two"}});
  REQUIRE(rig.idle());
  CHECK(rig.owner.told == Texts{"offered x.com/a 1", "offered x.com/a 2", "offered x.com/a 1"});
  CHECK(rig.snapshot(kA)->inventory.find("two"));
  CHECK(rig.entry.published == 1);
}

TEST_CASE(
    "publisher: if the specification cannot be written the list is sent, requests are refused with the "
    "reason, and the write is retried after 5 s") {
  PublisherRig rig("x.com/a", CdiNames::kCri);
  rig.dir.file("cdi");  // prevents the creation of a directory
  rig.publish(kA, {}, {{.id = "one"}});
  REQUIRE(rig.idle());
  REQUIRE(rig.snapshot(kA));
  const std::string why = stall_of(*rig.snapshot(kA), {});
  CHECK(why.find(rig.dir.at("cdi").string()) != std::string::npos);
  test::pass(rig.process.loop, ResourcePublisher::kCdiRetry - 1s);
  CHECK(rig.entry.looks == 0);
  test::pass(rig.process.loop, 1s);
  CHECK(rig.entry.looks == 1);
  SUBCASE("a stalled scan is the reason until the scan ends") {
    rig.publisher->set_stalls({{.terms = nullptr, .why = "a driver hangs"}});
    CHECK(stall_of(*rig.snapshot(kA), {}) == "a driver hangs");
    rig.publisher->set_stalls({});
    CHECK(stall_of(*rig.snapshot(kA), {}) == why);
  }
  SUBCASE("the specification can be written later") {
    rig.dir.remove("cdi");
    rig.publish(kA, {{.id = "one"}}, {{.id = "one"}});
    REQUIRE(rig.idle());
    CHECK(rig.snapshot(kA)->stalls.empty());
    test::pass(rig.process.loop, 1min);
    CHECK(rig.entry.looks == 1);
  }
}

TEST_CASE(
    "publisher: a change of `near` or of the given cards applies from the next response, and no list is "
    "sent") {
  PublisherRig rig;
  rig.publish(kA, {}, {{.id = "one"}});
  const auto told = rig.owner.told;
  rig.publisher->set_neighbours({.healthy = {"pci0000:00/a"}, .given = {}});
  CHECK(rig.snapshot(kA)->near.healthy == Texts{"pci0000:00/a"});
  const auto cards = std::make_shared<GivenCards>();
  rig.publisher->set_joined(cards);
  CHECK(rig.snapshot(kA)->joined == cards);
  CHECK(rig.snapshot(kA)->near.healthy == Texts{"pci0000:00/a"});
  CHECK(rig.owner.told == told);
  // The given cards still apply with a later list.
  rig.publish(kA, {{.id = "one"}}, {{.id = "two"}});
  CHECK(rig.snapshot(kA)->joined == cards);
}

}  // namespace
}  // namespace plughost
