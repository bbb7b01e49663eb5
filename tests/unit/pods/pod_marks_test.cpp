#include "pods/pod_marks.hpp"

#include <doctest/doctest.h>

#include "unit/pods/rig.hpp"

namespace plughost {
namespace {

const std::string kCard = "ALIYUN_COM_GPU_MEM_IDX";
const std::string kPatch = "PATCH /api/v1/namespaces/ns/pods/a/status";

struct Rig : test::PodsRig {
  Rig() { cluster.put_pod(PodText{}.json()); }
  void card(const std::string& value, const std::string& uid = "uid-a") {
    marks.add("ns/a", uid, kCard, value,
              R"({"metadata":{"uid":")" + uid + R"(","annotations":{")" + kCard + R"(":")" + value + "\"}}}");
  }
  bool patched(std::size_t times) {
    return until([&] { return cluster.asked(kPatch) == times; });
  }
  bool shows(const std::string& value) {
    return until([&] { return cluster.annotation("a", kCard) == value; });
  }

  PodMarks marks{loop, server, log};
};

}  // namespace

TEST_CASE("a pod's annotation is written into its status, and the same once at a time") {
  Rig rig;
  rig.card("1");
  rig.card("1");
  REQUIRE(rig.shows("1"));
  CHECK(rig.cluster.asked(kPatch) == 1);
  rig.card("0");
  REQUIRE(rig.shows("0"));
  CHECK(rig.cluster.asked(kPatch) == 2);
}

TEST_CASE("of one annotation the last value is what the pod has in the end") {
  Rig rig;
  rig.card("1");
  rig.card("2");
  rig.card("3");
  REQUIRE(rig.shows("3"));
  CHECK(rig.cluster.asked(kPatch) == 2);
  rig.cluster.refuse(kPatch, 500, 1);
  rig.card("4");
  REQUIRE(rig.patched(3));
  rig.card("5");
  REQUIRE(rig.shows("5"));
  CHECK(rig.cluster.asked(kPatch) == 4);
}

TEST_CASE("what is written of two annotations is written of both") {
  Rig rig;
  rig.card("1");
  rig.marks.add("ns/a", "uid-a", "other", "1", R"({"metadata":{"uid":"uid-a","annotations":{"other":"1"}}})");
  REQUIRE(rig.shows("1"));
  CHECK(rig.until([&] { return rig.cluster.annotation("a", "other") == "1"; }));
}

TEST_CASE("a pod that is gone, or is another one now, is not tried again") {
  Rig rig;
  rig.card("1", "uid-of-before");
  REQUIRE(rig.patched(1));
  rig.cluster.remove_pod("a");
  rig.card("1");
  REQUIRE(rig.patched(2));
  // What has ended is written anew when it is asked for; the answer may be on its way yet.
  rig.cluster.put_pod(PodText{}.json());
  REQUIRE(rig.until([&] {
    if (rig.cluster.annotation("a", kCard) == "1") return true;
    rig.card("1");
    return false;
  }));
  CHECK(rig.cluster.asked(kPatch) == 3);
}

TEST_CASE("without an API server it is written when there is one again") {
  Rig rig;
  rig.server.use(std::nullopt);
  rig.card("1");
  rig.use();
  CHECK(rig.shows("1"));
  CHECK(rig.cluster.asked(kPatch) == 1);
}

}  // namespace plughost
