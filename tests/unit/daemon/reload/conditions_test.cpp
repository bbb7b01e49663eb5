#include "daemon/reload/conditions.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <future>
#include <latch>
#include <optional>

#include "base/system/unique_fd.hpp"
#include "unit/config/config_of.hpp"
#include "unit/daemon/platform/process.hpp"
#include "unit/kubernetes/apiserver/fake_cluster.hpp"
#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

namespace plughost {
namespace {

using namespace std::chrono_literals;
using test::run_until;
using Names = std::vector<std::string>;

struct Tree {
  test::TempDir tree;
};

// Conditions on a directory that stands for the machine, and the entries that apply.
struct ConditionsRig : Tree, test::Process {
  explicit ConditionsRig(std::chrono::milliseconds deadline = Conditions::kDeadline,
                         Inotify::AddWatch add_watch = ::inotify_add_watch)
      : Process(HostRoot(tree.path()), std::move(add_watch)),
        conditions(
            platform, [this](const Config& part) { parts.push_back(names_of(part)); }, deadline) {}

  static std::shared_ptr<const Config> config(const std::string& text) {
    return std::make_shared<const Config>(test::config_of("domain: x.com\n" + text));
  }
  static Names names_of(const Config& config) {
    Names names;
    for (const ResourceConfig& entry : config.resources) names.push_back(entry.spec->name.text());
    return names;
  }
  void follow(const std::shared_ptr<const Config>& config) {
    conditions.follow(config, not_asked_yet(*config, {}));
  }
  bool comes_to(const Names& names) {
    return run_until(loop, [&] { return !parts.empty() && parts.back() == names; });
  }

  // Waits until the running checks have ended: a job on each worker waits for the other one.
  void settle() {
    const auto both = std::make_shared<std::latch>(2);
    int ended = 0;
    for (int i = 0; i < 2; ++i)
      workers.run([both] { both->arrive_and_wait(); }, [&ended] { ++ended; }, 60s, [] {});
    REQUIRE(run_until(loop, [&] { return ended == 2; }));
  }

  std::vector<Names> parts;
  Conditions conditions;
};

const std::string kWithFile =
    "resources: [{name: a, count: 1, when: {exists: /dev/one}}, {name: b, count: 1}]";

TEST_CASE("an entry applies while the file that its condition requires exists") {
  ConditionsRig rig;
  rig.tree.directory("/dev");
  rig.follow(ConditionsRig::config(kWithFile));
  CHECK(rig.conditions.selection().others.size() == 1);
  run_until(rig.loop, [&] { return rig.conditions.selection().others[0].why == "/dev/one does not exist"; });
  CHECK(rig.parts.empty());
  rig.tree.file("/dev/one");
  CHECK(rig.comes_to({"x.com/a", "x.com/b"}));
  CHECK(rig.conditions.selection().others.empty());
  rig.tree.remove("/dev/one");
  CHECK(rig.comes_to({"x.com/b"}));
  CHECK(rig.conditions.selection().others[0].why == "/dev/one does not exist");
  CHECK(rig.parts.size() == 2);
}

TEST_CASE("a condition on /sys is evaluated every 5 s, because /sys has no events") {
  // The watch fails, so that no event is sent, as in /sys.
  bool asked = false;
  ConditionsRig rig(Conditions::kDeadline, [&](int, const char*, std::uint32_t) {
    asked = true;
    errno = EACCES;
    return -1;
  });
  rig.tree.directory("/sys");
  rig.follow(
      ConditionsRig::config("resources: [{name: a, count: 1, when: {exists: /sys/one}}, "
                            "{name: b, count: 1, when: {exists: /sys/two}}]"));
  REQUIRE(run_until(rig.loop, [&] { return asked; }));
  rig.tree.file("/sys/two");
  test::pass(rig.loop, 5s);
  REQUIRE(rig.comes_to({"x.com/b"}));
  rig.settle();  // a check that is still running would notice the next file
  rig.tree.file("/sys/one");
  test::pass(rig.loop, 4s);
  CHECK_FALSE(run_until(
      rig.loop, [&] { return rig.parts.size() > 1; }, 50ms));
  test::pass(rig.loop, 1s);
  CHECK(rig.comes_to({"x.com/a", "x.com/b"}));
}

TEST_CASE("a new configuration's conditions are evaluated before it is applied, without notifications") {
  ConditionsRig rig;
  rig.tree.file("/dev/one");
  std::optional<Selection> told;
  rig.conditions.evaluate(ConditionsRig::config(kWithFile), {},
                          [&](Selection selection) { told = std::move(selection); });
  CHECK_FALSE(told);
  REQUIRE(run_until(rig.loop, [&] { return told.has_value(); }));
  CHECK(told->applies == std::vector{true, true});
  CHECK(rig.parts.empty());
  CHECK(rig.conditions.selection().applies.empty());
}

TEST_CASE("conditions of a replaced configuration cause no notification") {
  ConditionsRig rig;
  rig.tree.directory("/dev");
  rig.follow(ConditionsRig::config(kWithFile));
  rig.follow(ConditionsRig::config("resources: [{name: c, count: 1, when: {exists: /dev/two}}]"));
  rig.tree.file("/dev/one");
  rig.tree.file("/dev/two");
  CHECK(rig.comes_to({"x.com/c"}));
  CHECK(rig.parts.size() == 1);
  rig.follow(ConditionsRig::config("resources: [{name: d, count: 1}]"));
  CHECK(rig.conditions.selection().applies == std::vector{true});
  rig.tree.remove("/dev/two");
  CHECK_FALSE(run_until(
      rig.loop, [&] { return rig.parts.size() > 1; }, 50ms));
}

TEST_CASE("labels that become unknown change no entry, and are reported as an error once") {
  ConditionsRig rig;
  rig.tree.file("/etc/labels", "rack=a1");
  rig.follow(ConditionsRig::config(
      "nodeLabels: /etc/labels\nresources: [{name: a, count: 1, when: {label: {rack: a*}}}]"));
  REQUIRE(rig.comes_to({"x.com/a"}));
  rig.tree.remove("/etc/labels");
  REQUIRE(run_until(rig.loop, [&] { return rig.log.errors().count() == 1; }));
  CHECK(rig.parts.size() == 1);
  CHECK(rig.conditions.selection().others.empty());
  rig.tree.file("/etc/labels", "rack=a2");
  rig.tree.file("/etc/labels", "rack=b1");
  CHECK(rig.comes_to({}));
  CHECK(rig.log.errors().count() == 1);
}

TEST_CASE("without a label file, the Node's labels are watched, and an error is reported once") {
  ConditionsRig rig;
  test::FakeCluster cluster;
  cluster.label("rack", "a1");
  cluster.refuse("GET /api/v1/nodes", 500);
  test::TempDir directory;
  const auto config =
      ConditionsRig::config("apiServer: {kubeconfig: " + cluster.kubeconfig(directory) +
                            ", node: worker-1}\nresources: [{name: a, count: 1, when: {label: {rack: a*}}}]");
  rig.api_server.use(config->api_server);
  rig.follow(config);
  REQUIRE(run_until(rig.loop, [&] { return rig.log.errors().count() == 1; }));
  CHECK(rig.parts.empty());
  CHECK(rig.conditions.selection().others[0].why.find("500") != std::string::npos);
  cluster.refuse("GET /api/v1/nodes", 0);
  REQUIRE(rig.comes_to({"x.com/a"}));
  cluster.label("rack", "b1");
  REQUIRE(rig.comes_to({}));
  cluster.label("rack", "a2");
  REQUIRE(rig.comes_to({"x.com/a"}));
  // The labels of a deleted Node are unknown.
  cluster.remove_node();
  REQUIRE(run_until(rig.loop, [&] { return rig.log.errors().count() == 2; }));
  CHECK(rig.parts.size() == 3);
  CHECK(rig.conditions.selection().others.empty());
}

TEST_CASE("no error is reported while the API server's first response is awaited") {
  ConditionsRig rig;
  test::FakeCluster cluster;
  cluster.label("rack", "a1");
  test::TempDir directory;
  const auto config =
      ConditionsRig::config("apiServer: {kubeconfig: " + cluster.kubeconfig(directory) +
                            ", node: worker-1}\nresources: [{name: a, count: 1, when: {label: {rack: a*}}}]");
  rig.api_server.use(config->api_server);
  std::optional<Selection> told;
  rig.conditions.evaluate(config, {}, [&](Selection selection) { told = std::move(selection); });
  REQUIRE(run_until(rig.loop, [&] { return told.has_value(); }));
  CHECK(told->applies == std::vector{false});
  CHECK(told->others[0].why == "the node's labels are not known: the API server has not answered yet");
  rig.conditions.follow(config, *told);
  REQUIRE(rig.comes_to({"x.com/a"}));
  CHECK(rig.log.errors().count() == 0);
  // A reload finds the labels known.
  told.reset();
  rig.conditions.evaluate(config, {}, [&](Selection selection) { told = std::move(selection); });
  REQUIRE(run_until(rig.loop, [&] { return told.has_value(); }));
  CHECK(told->applies == std::vector{true});
  // The labels that a different API server has are unknown.
  const auto other = ConditionsRig::config(
      "apiServer: {kubeconfig: /nowhere, node: worker-1}\nresources: [{name: b, count: 1, when: {label: "
      "{rack: a*}}}]");
  told.reset();
  rig.conditions.evaluate(other, {}, [&](Selection selection) { told = std::move(selection); });
  REQUIRE(run_until(rig.loop, [&] { return told.has_value(); }));
  CHECK(told->others.at(0).unknown);
  rig.follow(ConditionsRig::config("resources: [{name: a, count: 1}]"));
  cluster.label("rack", "b1");
  CHECK_FALSE(run_until(
      rig.loop, [&] { return rig.parts.size() > 1; }, 50ms));
}

// Opening a pipe waits for a writer.
TEST_CASE("a stalled read of the labels changes no entry, and is reported as an error") {
  ConditionsRig rig(50ms);
  rig.tree.directory("/etc");
  REQUIRE(::mkfifo(rig.tree.at("/etc/labels").c_str(), 0600) == 0);
  const auto config = ConditionsRig::config(
      "nodeLabels: /etc/labels\nresources: [{name: a, count: 1, when: {label: {rack: a*}}}, {name: b, count: "
      "1}]");
  std::optional<Selection> told;
  rig.conditions.evaluate(config, config->resources, [&](Selection selection) {
    CHECK_FALSE(told);
    told = std::move(selection);
  });
  REQUIRE(run_until(rig.loop, [&] { return told.has_value(); }));
  CHECK(told->applies == std::vector{true, true});
  rig.conditions.follow(config, *told);
  REQUIRE(run_until(rig.loop, [&] { return rig.log.errors().count() == 1; }));
  CHECK(rig.parts.empty());
  UniqueFd writer(::open(rig.tree.at("/etc/labels").c_str(), O_RDWR | O_CLOEXEC));
  rig.tree.file("/etc/next", "rack=b1");
  std::filesystem::rename(rig.tree.at("/etc/next"), rig.tree.at("/etc/labels"));
  writer = UniqueFd();
  CHECK(rig.comes_to({"x.com/b"}));
}

}  // namespace
}  // namespace plughost
