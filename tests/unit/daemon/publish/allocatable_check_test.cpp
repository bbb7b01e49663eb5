#include "daemon/publish/allocatable_check.hpp"

#include <doctest/doctest.h>

#include "unit/daemon/platform/process.hpp"
#include "unit/daemon/resource_names.hpp"
#include "unit/kubernetes/kubelet/telling_kubelet.hpp"
#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

namespace plughost {
namespace {

using test::kA;
using namespace std::chrono_literals;

// A resource with two devices that the kubelet was sent, and the requests that the check makes.
struct CheckRig : AllocatableCheck::Owner {
  test::TempDir dir;
  test::Process process;
  test::TellingKubelet kubelet{dir.at("pods.sock")};
  std::unique_ptr<KubeletLink> link = std::make_unique<KubeletLink>(
      process.platform, KubeletConfig{.directory = dir.path(), .pod_resources = dir.at("pods.sock")}, nullptr,
      [] {}, [] {});
  std::vector<AllocatableCheck::Subject> sent{{.resource = kA,
                                               .sent = Inventory({{.id = "one"}, {.id = "two"}}),
                                               .attached_since = EventLoop::Clock::now()}};
  unsigned changes = 0;
  std::vector<std::string> anew;
  AllocatableCheck check{process.platform, *this};

  std::vector<AllocatableCheck::Subject> subjects() const override { return sent; }
  void register_again(const std::string& name) override { anew.push_back(name); }
  void on_disagreement() override { ++changes; }

  bool asked(std::size_t times) {
    return test::run_until(process.loop, [&] { return kubelet.counted() >= times; });
  }
  // Starts a check, and runs the loop until the kubelet's answer has been processed.
  bool look() {
    const std::size_t before = kubelet.counted();
    check.check(*link);
    return asked(before + 1) && test::run_until(process.loop, [&] { return !check.busy(); });
  }
};

TEST_CASE("a kubelet that counts what it was sent causes no action") {
  CheckRig rig;
  rig.kubelet.count(kA, "one");
  rig.kubelet.count(kA, "two");
  REQUIRE(rig.look());
  test::pass(rig.process.loop, 1min);
  CHECK(rig.kubelet.counted() == 1);
  CHECK(rig.check.disagreement(kA).empty());
  CHECK(rig.changes == 0);
}

TEST_CASE(
    "a kubelet that does not count a device is queried every second, and after 5 s the resource registers "
    "again") {
  CheckRig rig;
  rig.kubelet.count(kA, "one");
  REQUIRE(rig.look());
  for (std::size_t n = 2; n < 6; ++n) {
    test::pass(rig.process.loop, AllocatableCheck::kAgain);
    REQUIRE(rig.asked(n));
    REQUIRE(test::run_until(rig.process.loop, [&] { return !rig.check.busy(); }));
    CHECK(rig.anew.empty());
    CHECK(rig.check.disagreement(kA).empty());
  }
  test::pass(rig.process.loop, AllocatableCheck::kAgain);
  REQUIRE(test::run_until(rig.process.loop, [&] { return !rig.anew.empty(); }));
  CHECK(rig.anew == std::vector{kA});
  CHECK(rig.check.disagreement(kA) == "of 2 Healthy devices it does not count 1 (two)");
  CHECK(rig.changes >= 1);
  // The kubelet's count is right again.
  rig.kubelet.count(kA, "two");
  const unsigned before = rig.changes;
  REQUIRE(rig.look());
  CHECK(rig.check.disagreement(kA).empty());
  CHECK(rig.changes == before + 1);
}

TEST_CASE("a resource without a stream causes no query of the kubelet, and has no disagreement") {
  CheckRig rig;
  rig.sent[0].attached_since.reset();
  rig.check.check(*rig.link);
  CHECK_FALSE(rig.link->allocatable().asking());
  rig.sent.push_back({.resource = "x.com/b", .sent = {}, .attached_since = EventLoop::Clock::now()});
  REQUIRE(rig.look());
  test::pass(rig.process.loop, 1min);
  CHECK(rig.kubelet.counted() == 1);
}

TEST_CASE("on_disagreement() is called when the kubelet stops reporting its counts, and when it resumes") {
  CheckRig rig;
  rig.kubelet.count(kA, "one");
  rig.kubelet.count(kA, "two");
  REQUIRE(rig.look());
  CHECK(rig.check.unknown().empty());
  rig.kubelet.keep_counts("disabled");
  REQUIRE(rig.look());
  CHECK(rig.check.unknown() == "disabled");
  CHECK(rig.changes == 1);
  REQUIRE(rig.look());
  CHECK(rig.changes == 1);
  rig.kubelet.keep_counts("");
  REQUIRE(rig.look());
  CHECK(rig.check.unknown().empty());
  CHECK(rig.changes == 2);
}

TEST_CASE("a former kubelet is not queried after forget()") {
  CheckRig rig;
  rig.kubelet.count(kA, "one");
  REQUIRE(rig.look());
  rig.check.forget();
  SUBCASE("the link to the kubelet has ended") { rig.link.reset(); }
  SUBCASE("the link to the kubelet exists") {}
  test::pass(rig.process.loop, AllocatableCheck::kAgain);
  if (rig.link) CHECK_FALSE(rig.link->allocatable().asking());
  CHECK(rig.kubelet.counted() == 1);
}

}  // namespace
}  // namespace plughost
