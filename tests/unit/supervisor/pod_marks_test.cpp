#include "supervisor/pod_marks.hpp"

#include <doctest/doctest.h>

#include "integration/fake_pods.hpp"
#include "unit/assume/pods.hpp"
#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

namespace plughost {
namespace {

using test::FakePods;
using test::run_until;

const std::string kCard = "ALIYUN_COM_GPU_MEM_IDX";

struct Rig {
  Rig() {
    cluster.put(PodText{}.json());
    use();
  }
  void use() {
    directory.file("kubeconfig", cluster.kubeconfig());
    server.use(ApiServerConfig{.kubeconfig = directory.at("kubeconfig").string(), .node = "n1", .where = ""});
  }
  void card(const std::string& value, const std::string& uid = "uid-a") {
    marks.add("ns/a", uid, kCard, value,
              R"({"metadata":{"uid":")" + uid + R"(","annotations":{")" + kCard + R"(":")" + value + "\"}}}");
  }
  bool patched(std::size_t times) {
    return run_until(loop, [&] { return cluster.patches().size() == times; });
  }
  bool shows(const std::string& value) {
    return run_until(loop, [&] { return cluster.annotation("uid-a", kCard) == value; });
  }

  test::TempDir directory;
  FakePods cluster;
  EventLoop loop;
  Log log{LogLevel::kError, LogFormat::kJson};
  Workers workers{loop, 2};
  Programs programs{loop};
  ApiServer server{loop, workers, programs, log};
  PodMarks marks{loop, server, log};
};

}  // namespace

TEST_CASE("a pod's annotation is written into its status, and the same once at a time") {
  Rig rig;
  rig.card("1");
  rig.card("1");
  REQUIRE(rig.shows("1"));
  CHECK(rig.cluster.requests("PATCH /api/v1/namespaces/ns/pods/a/status") == 1);
  rig.card("0");
  REQUIRE(rig.shows("0"));
  CHECK(rig.cluster.patches().size() == 2);
}

TEST_CASE("of one annotation the last value is what the pod has in the end") {
  Rig rig;
  rig.card("1");
  rig.card("2");
  rig.card("3");
  REQUIRE(rig.shows("3"));
  CHECK(rig.cluster.patches().size() == 2);
  rig.cluster.fail_patches(500, 1);
  rig.card("4");
  REQUIRE(rig.patched(3));
  rig.card("5");
  REQUIRE(rig.shows("5"));
  CHECK(rig.cluster.patches().size() == 4);
}

TEST_CASE("what is written of two annotations is written of both") {
  Rig rig;
  rig.card("1");
  rig.marks.add("ns/a", "uid-a", "other", "1", R"({"metadata":{"uid":"uid-a","annotations":{"other":"1"}}})");
  REQUIRE(rig.shows("1"));
  CHECK(run_until(rig.loop, [&] { return rig.cluster.annotation("uid-a", "other") == "1"; }));
}

TEST_CASE("a pod that is gone, or is another one now, is not tried again") {
  Rig rig;
  rig.card("1", "uid-of-before");
  REQUIRE(rig.patched(1));
  CHECK(rig.cluster.patches()[0].starts_with("a 422 "));
  rig.cluster.remove("uid-a");
  rig.card("1");
  REQUIRE(rig.patched(2));
  CHECK(rig.cluster.patches()[1].starts_with("a 404 "));
  // What has ended is written anew when it is asked for; the answer may be on its way yet.
  rig.cluster.put(PodText{}.json());
  REQUIRE(run_until(rig.loop, [&] {
    if (rig.cluster.annotation("uid-a", kCard) == "1") return true;
    rig.card("1");
    return false;
  }));
  CHECK(rig.cluster.patches().size() == 3);
}

TEST_CASE("without an API server it is written when there is one again") {
  Rig rig;
  rig.server.use(std::nullopt);
  rig.card("1");
  rig.use();
  CHECK(rig.shows("1"));
  CHECK(rig.cluster.patches().size() == 1);
}

}  // namespace plughost
