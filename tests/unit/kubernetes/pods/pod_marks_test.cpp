#include "kubernetes/pods/assuming.hpp"

#include <doctest/doctest.h>

#include <set>

#include "unit/kubernetes/pods/rig.hpp"

namespace plughost {
namespace {

using test::kAssigned;

const std::string kPatch = "PATCH /api/v1/namespaces/ns/pods/";

struct MarksRig : test::PodsRig {
  void put(const std::string& name) { cluster.put_pod(pod(name, "0")); }
  void add(const std::string& name) {
    const AskingPod its = PodText{.uid = name, .name = name}.asking();
    marks.add(its, mark_patch(terms_of(Dialect::kGpushare), its, 5));
  }
  bool marked(const std::string& name) { return cluster.annotation(name, kAssigned) == "true"; }
  bool patched(std::size_t times) {
    return until([&] { return cluster.asked(kPatch) == times; });
  }
  // Waits for the next response of the API server.
  bool answered() {
    const auto heard = [this] { return server.client()->state().heard; };
    const bool came = until([&] { return heard() != heard_; });
    heard_ = heard();
    return came;
  }

  PodMarks marks{loop, server, log};
  std::optional<EventLoop::Clock::time_point> heard_;
};

}  // namespace

TEST_CASE("a mark is written into the pod's status, once") {
  MarksRig rig;
  rig.put("a");
  rig.add("a");
  rig.add("a");
  REQUIRE(rig.until([&] { return rig.marked("a"); }));
  CHECK(rig.cluster.asked() == std::vector<std::string>{kPatch + "a/status"});
}

TEST_CASE(
    "while writing marks is forbidden one of them, a different one each time, is tried, and once that "
    "succeeds all are written") {
  MarksRig rig;
  constexpr int kMarks = 20;
  constexpr std::size_t kProbes = 12;
  const auto name_of = [](int n) { return "p" + std::to_string(n); };
  for (int n = 0; n < kMarks; ++n) rig.put(name_of(n));
  rig.cluster.refuse(kPatch, 403);
  for (int n = 0; n < kMarks; ++n) rig.add(name_of(n));
  for (std::size_t probes = 1; probes <= kProbes; ++probes) {
    REQUIRE(rig.answered());
    CHECK(rig.cluster.asked(kPatch) == probes);
    if (probes == kProbes) rig.cluster.refuse(kPatch, 0);
    test::pass(rig.loop, PodMarks::kLongestPause);
  }
  for (int n = 0; n < kMarks; ++n) REQUIRE(rig.until([&] { return rig.marked(name_of(n)); }));
  const std::vector<std::string> asked = rig.cluster.asked();
  CHECK(asked.size() == kProbes + kMarks);
  CHECK(std::set<std::string>(asked.begin(), asked.begin() + kProbes).size() == kProbes);
}

TEST_CASE("a new mark is tried at once while others wait, and its success ends their wait") {
  MarksRig rig;
  for (const std::string name : {"old", "older", "new"}) rig.put(name);
  rig.cluster.refuse(kPatch, 500, 1);
  rig.add("older");
  rig.add("old");
  REQUIRE(rig.answered());
  CHECK(rig.cluster.asked(kPatch) == 1);
  rig.add("new");
  REQUIRE(rig.until([&] { return rig.marked("new") && rig.marked("old") && rig.marked("older"); }));
  CHECK(rig.cluster.asked(kPatch) == 4);
  CHECK(rig.cluster.asked()[1] == kPatch + "new/status");
}

TEST_CASE("marks of pods that are gone are dropped, both waiting ones and one that is being written") {
  MarksRig rig;
  for (const std::string name : {"a", "b", "c", "d"}) rig.put(name);
  rig.cluster.refuse(kPatch, 403);
  rig.add("a");
  REQUIRE(rig.answered());
  rig.cluster.refuse(kPatch, 0);
  rig.cluster.hold(kPatch);
  rig.add("b");
  REQUIRE(rig.patched(2));
  rig.add("c");
  rig.marks.keep([](const std::string& uid) { return uid == "c"; });
  REQUIRE(rig.patched(3));
  rig.cluster.release();
  REQUIRE(rig.answered());
  CHECK(rig.marked("c"));
  test::pass(rig.loop, PodMarks::kLongestPause);
  // Only one request runs at a time, so a waiting mark would be written before this one.
  rig.add("d");
  REQUIRE(rig.until([&] { return rig.marked("d"); }));
  CHECK(rig.cluster.asked(kPatch) == 4);
  CHECK(rig.cluster.asked()[2] == kPatch + "c/status");
  CHECK_FALSE(rig.marked("a"));
}

TEST_CASE(
    "the mark of a pod that the API server does not have, or has with a different UID, is not tried again") {
  MarksRig rig;
  rig.cluster.put_pod(PodText{.uid = "of-before", .name = "other"}.json());
  rig.put("a");
  rig.add("absent");
  rig.add("other");
  rig.add("a");
  REQUIRE(rig.patched(3));
  REQUIRE(rig.until([&] { return rig.marked("a"); }));
  rig.put("b");
  rig.add("b");
  REQUIRE(rig.until([&] { return rig.marked("b"); }));
  test::pass(rig.loop, PodMarks::kLongestPause);
  CHECK(rig.cluster.asked(kPatch) == 4);
  CHECK_FALSE(rig.marked("other"));
}

TEST_CASE("without a configured API server marks wait, and an interrupted write is repeated") {
  MarksRig rig;
  rig.put("a");
  rig.put("b");
  rig.server.use(std::nullopt);
  rig.add("a");
  rig.use();
  REQUIRE(rig.until([&] { return rig.marked("a"); }));
  CHECK(rig.cluster.asked(kPatch) == 1);
  rig.cluster.hold(kPatch);
  rig.add("b");
  REQUIRE(rig.patched(2));
  rig.server.use(std::nullopt);
  rig.use();
  REQUIRE(rig.patched(3));
  rig.cluster.release();
  CHECK(rig.until([&] { return rig.marked("b"); }));
}

}  // namespace plughost
