#include "kubernetes/pods/pod_search.hpp"

#include <doctest/doctest.h>

#include "unit/kubernetes/kubelet/fake_pods_api.hpp"
#include "unit/kubernetes/pods/rig.hpp"

namespace plughost {
namespace {

using namespace std::chrono_literals;
using test::FakePodsApi;

const std::string kWatch = "GET /api/v1/pods?watch=true";
const std::string kPendingList =
    "GET /api/v1/pods?fieldSelector=spec.nodeName%3Dworker-1%2Cstatus.phase%3DPending";

struct SearchRig : test::PodsRig {
  std::filesystem::path socket = directory.at("pods-api.sock");
  PodSource source{loop, server, socket};
  unsigned changes = 0;
  unsigned lists = 0;
  PodSearch pods{loop, source, kGpuMemory, terms_of(Dialect::kGpushare), [this](bool anew) {
                   ++changes;
                   lists += anew;
                 }};
  std::vector<std::string> given_up;

  const AskingPod* find(const std::string& uid) { return pods.book().find(uid); }
  bool sees(const std::string& uid, const std::string& card) {
    return until([&] { return find(uid) && find(uid)->card == card; });
  }
  PodSearch::Attempt seen(const std::string& uid, bool& served) {
    return [this, &served, uid] { return served = find(uid) != nullptr; };
  }
  PodSearch::GiveUp record() {
    return [this](const std::string& error) { given_up.push_back(error); };
  }
};

TEST_CASE("without the pods API, pods come from a watch of the API server") {
  SearchRig rig;
  rig.cluster.put_pod(rig.pod("a", "0"));
  REQUIRE(rig.sees("a", "0"));
  CHECK_FALSE(rig.source.by_kubelet());
  const unsigned lists = rig.lists;
  rig.cluster.put_pod(rig.pod("b", "1"));
  REQUIRE(rig.sees("b", "1"));
  CHECK(rig.lists == lists);
  const unsigned changes = rig.changes;
  rig.cluster.remove_pod("a");
  REQUIRE(rig.until([&] { return !rig.find("a"); }));
  CHECK(rig.changes > changes);
  CHECK(rig.cluster.asked(kWatch) == 1);
}

TEST_CASE("an ended pod is not read, and one that ends is forgotten") {
  SearchRig rig;
  rig.cluster.put_pod(PodText{.uid = "over", .name = "over", .phase = "Succeeded"}.json());
  rig.cluster.put_pod(PodText{.uid = "failed", .name = "failed", .phase = "Failed"}.json());
  rig.cluster.put_pod(rig.pod("a", "0"));
  REQUIRE(rig.sees("a", "0"));
  CHECK(rig.pods.book().all().size() == 1);
  rig.cluster.put_pod(PodText{.uid = "later", .name = "later", .phase = "Failed"}.json());
  rig.cluster.put_pod(rig.pod("b", "0"));
  REQUIRE(rig.sees("b", "0"));
  CHECK(rig.pods.book().all().size() == 2);
  rig.cluster.set_phase("a", "Succeeded");
  CHECK(rig.until([&] { return !rig.find("a"); }));
}

TEST_CASE("pods with megabytes of arguments are read, and so are those after them") {
  SearchRig rig;
  const auto large = [](const std::string& name) {
    Json pod = SearchRig::pod(name, "0");
    pod["spec"]["args"] = std::string(std::size_t{5} << 20u, 'x');
    return pod;
  };
  // The long deadline is for sanitizers, with which each megabyte takes seconds.
  const auto sees = [&](const std::string& uid) {
    return test::run_until(
        rig.loop, [&] { return rig.find(uid) != nullptr; }, 60s);
  };
  rig.cluster.put_pod(large("listed"));
  REQUIRE(sees("listed"));
  rig.cluster.put_pod(large("watched"));
  rig.cluster.put_pod(rig.pod("b", "1"));
  REQUIRE(sees("b"));
  CHECK(rig.find("watched"));
  CHECK(rig.cluster.asked(kWatch) == 1);
}

TEST_CASE("a waiting caller is served at once, by the next event, or by one more list of waiting pods") {
  SearchRig rig;
  int asked = 0;
  rig.pods.until(
      "", [&] { return ++asked == 1; }, rig.record());
  CHECK(asked == 1);
  rig.cluster.put_pod(rig.pod("a", "0"));
  REQUIRE(rig.sees("a", "0"));
  bool served = false;
  rig.pods.until("", rig.seen("b", served), rig.record(), 1h);
  CHECK_FALSE(served);
  rig.cluster.put_pod(rig.pod("b", "1"));
  CHECK(rig.until([&] { return served; }));
  CHECK(rig.cluster.asked(kPendingList) == 0);
  rig.cluster.hold_watches(true);
  rig.cluster.put_pod(rig.pod("c", "1"));
  served = false;
  rig.pods.until("", rig.seen("c", served), rig.record(), 1ms);
  CHECK(rig.until([&] { return served; }));
  CHECK(rig.cluster.asked(kPendingList) == 1);
  CHECK(rig.given_up.empty());
  CHECK(asked == 1);
}

TEST_CASE(
    "if the pod does not appear, the caller is notified once, with the API server's error if there is one") {
  SearchRig rig;
  rig.cluster.put_pod(rig.pod("a", "0"));
  REQUIRE(rig.sees("a", "0"));
  const auto never = [] { return false; };
  rig.pods.until("", never, rig.record(), 1ms);
  REQUIRE(rig.until([&] { return rig.given_up.size() == 1; }));
  CHECK(rig.given_up[0].empty());
  rig.cluster.refuse("GET /api/v1/pods", 403);
  rig.pods.until("", never, rig.record(), 1ms);
  REQUIRE(rig.until([&] { return rig.given_up.size() == 2; }));
  CHECK(rig.given_up[1].find("refused by the test") != std::string::npos);
  rig.server.use(std::nullopt);
  rig.pods.until("", never, rig.record(), 1ms);
  REQUIRE(rig.until([&] { return rig.given_up.size() == 3; }));
  CHECK(rig.given_up[2] == "the configuration names no API server any more");
  // A caller that was notified is forgotten.
  rig.cluster.refuse("GET /api/v1/pods", 0);
  rig.use();
  rig.cluster.put_pod(rig.pod("b", "0"));
  REQUIRE(rig.sees("b", "0"));
  CHECK(rig.given_up.size() == 3);
}

TEST_CASE("with the pods API the kubelet is queried each time, and the API server is not watched") {
  SearchRig rig;
  FakePodsApi kubelet(rig.socket);
  kubelet.put(rig.pod("a", "0"));
  REQUIRE(rig.sees("a", "0"));
  CHECK(rig.source.by_kubelet());
  CHECK(rig.lists == 1);
  // The former response is not enough, because the pod in it may have ended.
  kubelet.remove("a");
  kubelet.put(rig.pod("b", "1"));
  bool served = false;
  rig.pods.until(
      "", [&] { return served = !rig.pods.book().all().empty(); }, rig.record(), 0ms);
  CHECK_FALSE(served);
  REQUIRE(rig.until([&] { return served; }));
  CHECK_FALSE(rig.find("a"));
  CHECK(rig.find("b"));
  CHECK(rig.cluster.asked().empty());
}

TEST_CASE("a too large pod of the kubelet is named once, and the others are known") {
  SearchRig rig;
  FakePodsApi kubelet(rig.socket);
  std::string annotations = gpushare_annotations("1", "0");
  for (int i = 0; i < 1000; ++i) annotations += ",\"" + std::to_string(i) + "\":\"\"";
  kubelet.put(PodText{.uid = "many", .name = "many", .annotations = annotations}.json());
  kubelet.put(rig.pod("a", "0"));
  REQUIRE(rig.sees("a", "0"));
  const unsigned lists = rig.lists;
  rig.source.on_kubelet(rig.socket);
  REQUIRE(rig.until([&] { return rig.lists > lists; }));
  CHECK_FALSE(rig.find("many"));
  std::size_t named = 0;
  std::uint64_t number = 0;
  while (const auto record = rig.log.history().after(number)) {
    number = record->number;
    named += record->json().dump().find(R"("pod":"ns/many")") != std::string::npos;
  }
  CHECK(named == 1);
}

TEST_CASE("with the pods API the kubelet is queried repeatedly for a pod, until the deadline") {
  SearchRig rig;
  FakePodsApi kubelet(rig.socket);
  kubelet.put(rig.pod("other", "0"));
  REQUIRE(rig.sees("other", "0"));
  bool served = false;
  rig.pods.until("a", rig.seen("a", served), rig.record(), 1h);
  REQUIRE(rig.until([&] { return kubelet.calls() > 2; }));
  CHECK_FALSE(served);
  kubelet.put(rig.pod("a", "1"));
  REQUIRE(rig.until([&] { return served; }));
  CHECK(rig.find("other"));  // a query for one pod does not replace the list
  const auto asked = EventLoop::Clock::now();
  rig.pods.until("b", rig.seen("b", served), rig.record(), 600ms);
  REQUIRE(rig.until([&] { return rig.given_up.size() == 1; }));
  CHECK(EventLoop::Clock::now() - asked >= 600ms);
  CHECK(rig.given_up[0].empty());
}

TEST_CASE("while the pods API does not respond yet, the API server is queried, and the kubelet soon again") {
  SearchRig rig;
  rig.source.on_kubelet(rig.directory.at("another.sock"));
  FakePodsApi kubelet(rig.directory.at("another.sock"));
  kubelet.refuse(grpc::StatusCode::FAILED_PRECONDITION, 2);
  REQUIRE(rig.until([&] { return rig.source.by_kubelet(); }));
  rig.cluster.put_pod(rig.pod("a", "0"));
  kubelet.put(rig.pod("b", "0"));
  bool served = false;
  rig.pods.until("", rig.seen("a", served), rig.record(), 0ms);
  REQUIRE(rig.until([&] { return served; }));
  CHECK(rig.cluster.asked(kPendingList) == 1);
  CHECK(rig.cluster.asked(kWatch) == 0);
  CHECK(rig.sees("b", "0"));
  CHECK_FALSE(rig.find("a"));
  CHECK(kubelet.calls() == 3);
}

TEST_CASE("if the kubelet's Pods API fails, the API server is watched and serves callers") {
  SearchRig rig;
  FakePodsApi kubelet(rig.socket);
  kubelet.refuse(grpc::StatusCode::INTERNAL, 1000);
  rig.cluster.put_pod(rig.pod("a", "0"));
  REQUIRE(rig.sees("a", "0"));
  CHECK_FALSE(rig.source.by_kubelet());
  CHECK(rig.until([&] { return rig.cluster.asked(kWatch) == 1; }));
  // The next request tries the Pods API again, and it is used from then on.
  kubelet.refuse(grpc::StatusCode::OK, 0);
  kubelet.put(rig.pod("b", "1"));
  bool served = false;
  rig.pods.until("", rig.seen("b", served), rig.record(), 0ms);
  REQUIRE(rig.until([&] { return served; }));
  CHECK(rig.source.by_kubelet());
}

TEST_CASE("a query during a change of kubelet is answered") {
  SearchRig rig;
  {
    FakePodsApi former(rig.socket);
    former.put(rig.pod("a", "0"));
    REQUIRE(rig.sees("a", "0"));
    rig.pods.until(
        "", [] { return false; }, rig.record(), 0ms);
    test::run_once(rig.loop);
  }
  FakePodsApi kubelet(rig.socket);
  rig.source.on_kubelet(rig.socket);
  REQUIRE(rig.until([&] { return rig.given_up.size() == 1; }));
}

TEST_CASE("if both the kubelet and the API server fail, the caller gets both reasons") {
  SearchRig rig;
  FakePodsApi kubelet(rig.socket);
  kubelet.put(rig.pod("a", "0"));
  REQUIRE(rig.sees("a", "0"));
  kubelet.refuse(grpc::StatusCode::FAILED_PRECONDITION);
  rig.cluster.refuse("GET /api/v1/pods", 500);
  rig.pods.until(
      "", [] { return false; }, rig.record(), 0ms);
  REQUIRE(rig.until([&] { return rig.given_up.size() == 1; }));
  CHECK(rig.given_up[0].starts_with("the kubelet: as the test wants it; "));
  CHECK(rig.given_up[0].find("refused by the test") != std::string::npos);
}

TEST_CASE(
    "after a kubelet with the Pods API is replaced by one without it, the API server is used, and vice "
    "versa") {
  SearchRig rig;
  {
    FakePodsApi kubelet(rig.socket);
    kubelet.put(rig.pod("a", "0"));
    REQUIRE(rig.sees("a", "0"));
  }
  rig.cluster.put_pod(rig.pod("b", "1"));
  rig.source.on_kubelet(rig.socket);
  REQUIRE(rig.sees("b", "1"));
  CHECK_FALSE(rig.source.by_kubelet());
  CHECK_FALSE(rig.find("a"));
  FakePodsApi kubelet(rig.socket);
  kubelet.put(rig.pod("c", "0"));
  // The next query of the kubelet succeeds.
  bool served = false;
  rig.pods.until("", rig.seen("c", served), rig.record(), 0ms);
  REQUIRE(rig.until([&] { return served; }));
  CHECK(rig.source.by_kubelet());
  rig.cluster.put_pod(rig.pod("d", "0"));
  rig.source.on_kubelet(rig.socket);
  REQUIRE(rig.until([&] { return kubelet.calls() == 2; }));
  CHECK_FALSE(rig.find("d"));
}

TEST_CASE("a caller that was served, or is destroyed, is not called again") {
  SearchRig rig;
  FakePodsApi kubelet(rig.socket);
  kubelet.put(rig.pod("a", "0"));
  {
    PodSearch gone(rig.loop, rig.source, kGpuMemory, terms_of(Dialect::kGpushare), [](bool) {});
    gone.until(
        "", [] { return false; }, rig.record(), 1h);
    gone.until(
        "a", [] { return false; }, rig.record(), 0ms);
    test::run_once(rig.loop);
  }
  REQUIRE(rig.sees("a", "0"));
  int attempts = 0;
  rig.pods.until(
      "", [&] { return ++attempts == 2; }, rig.record(), 1h);
  REQUIRE(rig.until([&] { return attempts == 2; }));
  rig.source.on_kubelet(rig.socket);
  REQUIRE(rig.until([&] { return rig.lists >= 4; }));
  CHECK(attempts == 2);
  CHECK(rig.given_up.empty());
}

TEST_CASE("the wait for a pod is at least one second, and with the last list less than two") {
  CHECK(PodSearch::kPatience + PodSource::kLastList < 2s);
  CHECK(PodSearch::kPatience >= 1s);
}

}  // namespace
}  // namespace plughost
