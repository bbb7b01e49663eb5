#include "kubernetes/kubelet/pods_api.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <optional>

#include "unit/kubernetes/kubelet/fake_pods_api.hpp"
#include "unit/model/assume/pods.hpp"
#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

namespace plughost {
namespace {

using Outcome = PodsApi::Outcome;
using test::FakePodsApi;
using test::run_until;

struct Client {
  test::TempDir dir;
  EventLoop loop;
  std::vector<PodsApi::Answer> answers;
  // The long deadline is for sanitizers, which make a large response slow.
  std::optional<PodsApi> pods{std::in_place, loop, dir.at("pods.sock"), std::chrono::seconds(60)};

  void list() { pods->list(taken()); }
  void get(const std::string& uid) { pods->get(uid, taken()); }
  PodsApi::Done taken() {
    return [this](const PodsApi::Answer& answer) { answers.push_back(answer); };
  }
  bool answered(std::size_t times) {
    return run_until(loop, [&] { return answers.size() == times; });
  }
};

TEST_CASE("the kubelet's pods are read like the API server's") {
  Client client;
  FakePodsApi kubelet(client.dir.at("pods.sock"));
  const PodText one{.uid = "a", .name = "one", .units = {1, 2}, .init = {4}};
  const PodText other{
      .uid = "b", .name = "other", .more_metadata = R"("deletionTimestamp":"2026-11-23T12:00:01Z",)"};
  kubelet.put(one.json());
  kubelet.put(other.json());
  client.list();
  CHECK(client.answers.empty());
  REQUIRE(client.answered(1));
  CHECK(client.answers[0].outcome == Outcome::kTold);
  REQUIRE(client.answers[0].pods.size() == 2);
  for (const PodText& text : {one, other}) {
    Pod pod = client.answers[0].pods[text.uid == "a" ? 0 : 1];
    CHECK(pod.created == "2026-11-23T12:00:00.000000Z");
    pod.created = text.created;
    CHECK(pod == pod_of(text.json()));
  }
}

TEST_CASE("a pod is found by its UID, and a missing one is none") {
  Client client;
  FakePodsApi kubelet(client.dir.at("pods.sock"));
  kubelet.put(PodText{.uid = "a"}.json());
  kubelet.put(PodText{.uid = "b"}.json());
  client.get("b");
  REQUIRE(client.answered(1));
  REQUIRE(client.answers[0].pods.size() == 1);
  CHECK(client.answers[0].pods[0].uid == "b");
  client.get("c");
  REQUIRE(client.answered(2));
  CHECK(client.answers[1].outcome == Outcome::kTold);
  CHECK(client.answers[1].pods.empty());
}

TEST_CASE(
    "the outcome distinguishes a kubelet that does not serve the Pods API from one that does not serve it "
    "yet") {
  Client client;
  client.list();
  REQUIRE(client.answered(1));
  CHECK(client.answers[0].outcome == Outcome::kNotServed);
  CHECK(client.answers[0].why.find("No such file or directory") != std::string::npos);
  FakePodsApi kubelet(client.dir.at("pods.sock"));
  const std::pair<grpc::StatusCode, Outcome> cases[] = {
      {grpc::StatusCode::FAILED_PRECONDITION, Outcome::kNotYet},
      {grpc::StatusCode::UNIMPLEMENTED, Outcome::kNotServed},
      {grpc::StatusCode::INTERNAL, Outcome::kFailed}};
  for (const auto& [code, outcome] : cases) {
    kubelet.refuse(code);
    client.answers.clear();
    client.list();
    REQUIRE(client.answered(1));
    CHECK(client.answers[0].outcome == outcome);
    CHECK(client.answers[0].why == "as the test wants it");
  }
}

TEST_CASE("a kubelet that limits queries is queried again, but not for ever") {
  Client client;
  FakePodsApi kubelet(client.dir.at("pods.sock"));
  kubelet.put(PodText{}.json());
  kubelet.refuse(grpc::StatusCode::RESOURCE_EXHAUSTED, 2);
  client.list();
  REQUIRE(client.answered(1));
  CHECK(client.answers[0].outcome == Outcome::kTold);
  CHECK(kubelet.calls() == 3);
  kubelet.refuse(grpc::StatusCode::RESOURCE_EXHAUSTED, 1000);
  client.list();
  REQUIRE(client.answered(2));
  CHECK(client.answers[1].outcome == Outcome::kFailed);
  CHECK(kubelet.calls() == 3 + PodsApi::kMostTries);
}

TEST_CASE("pods of more than 16 MiB are read") {
  Client client;
  FakePodsApi kubelet(client.dir.at("pods.sock"));
  for (int i = 0; i < 20; ++i)
    kubelet.put(PodText{.uid = "uid-" + std::to_string(i),
                        .annotations = R"("large":")" + std::string(1 << 20, 'x') + '"'}
                    .json());
  client.list();
  REQUIRE(client.answered(1));
  CHECK(client.answers[0].pods.size() == 20);
  // The values of annotations that are not used are dropped.
  for (const Pod& pod : client.answers[0].pods) CHECK(pod.annotations.at("large").empty());
}

TEST_CASE("a list of pods with more than 64 MiB fails, and is not queried again") {
  Client client;
  FakePodsApi kubelet(client.dir.at("pods.sock"));
  for (int i = 0; i < 9; ++i) kubelet.put("uid-" + std::to_string(i), std::string(8 << 20, 'x'));
  client.list();
  REQUIRE(client.answered(1));
  CHECK(client.answers[0].outcome == Outcome::kFailed);
  CHECK(client.answers[0].why.find("larger than max") != std::string::npos);
  CHECK(kubelet.calls() == 1);
}

TEST_CASE("ended pods are left out of a list, and not of a query for one") {
  Client client;
  FakePodsApi kubelet(client.dir.at("pods.sock"));
  kubelet.put(PodText{.uid = "a", .phase = "Succeeded"}.json());
  kubelet.put(PodText{.uid = "b", .phase = "Failed"}.json());
  kubelet.put(PodText{.uid = "c", .phase = "Running"}.json());
  client.list();
  REQUIRE(client.answered(1));
  REQUIRE(client.answers[0].pods.size() == 1);
  CHECK(client.answers[0].pods[0].uid == "c");
  CHECK(client.answers[0].left_out.empty());
  client.get("a");
  REQUIRE(client.answered(2));
  CHECK(client.answers[1].pods.size() == 1);
}

TEST_CASE("a pod with too many annotations is left out by name, and so are pods beyond a list's limit") {
  const auto annotations = [](int number, std::size_t size) {
    std::string text = R"("x":"")";
    for (int i = 0; i < number; ++i)
      text += ",\"" + std::to_string(i) + "\":\"" + std::string(size, 'x') + '"';
    return text;
  };
  Client client;
  FakePodsApi kubelet(client.dir.at("pods.sock"));
  kubelet.put(PodText{.uid = "a", .name = "many", .annotations = annotations(1000, 0)}.json());
  kubelet.put(PodText{.uid = "b", .name = "few", .annotations = annotations(10, 0)}.json());
  client.list();
  REQUIRE(client.answered(1));
  REQUIRE(client.answers[0].pods.size() == 1);
  CHECK(client.answers[0].pods[0].name == "few");
  CHECK(client.answers[0].left_out == std::vector<std::string>{"ns/many"});
  for (int i = 0; i < 400; ++i)
    kubelet.put(PodText{.uid = "c" + std::to_string(i), .annotations = annotations(50, 1000)}.json());
  client.list();
  REQUIRE(client.answered(2));
  const std::size_t pods = client.answers[1].pods.size();
  CHECK(pods + client.answers[1].left_out.size() == 402);
  CHECK(pods * 50'000 <= PodsApi::kMostOfList);
  CHECK((pods + 1) * 60'000 > PodsApi::kMostOfList);
}

TEST_CASE("an unreadable pod is left out, and the others are kept") {
  Client client;
  FakePodsApi kubelet(client.dir.at("pods.sock"));
  kubelet.put("a", "\xff\xff nonsense");
  kubelet.put("b", "");
  kubelet.put(PodText{.uid = "c"}.json());
  client.list();
  REQUIRE(client.answered(1));
  CHECK(client.answers[0].outcome == Outcome::kTold);
  CHECK(client.answers[0].pods.back().uid == "c");
}

TEST_CASE("after the client's destruction its callbacks are not called") {
  Client client;
  FakePodsApi kubelet(client.dir.at("pods.sock"));
  client.list();
  client.get("a");
  test::run_once(client.loop);
  client.pods.reset();
  test::run_once(client.loop);
  CHECK(client.answers.empty());
}

}  // namespace
}  // namespace plughost
