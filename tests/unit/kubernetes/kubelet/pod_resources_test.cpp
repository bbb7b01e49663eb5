#include "kubernetes/kubelet/pod_resources.hpp"

#include <doctest/doctest.h>

#include <optional>

#include "unit/kubernetes/kubelet/telling_kubelet.hpp"
#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
using namespace std::chrono_literals;
using Answers = std::vector<PodResources::Answer>;

namespace {

struct Client {
  test::TempDir dir;
  EventLoop loop;
  Answers answers;
  std::optional<PodResources> pods{std::in_place, loop, dir.at("kubelet.sock")};

  void request(EventLoop::Clock::time_point since = EventLoop::Clock::now()) {
    pods->query(since, [this](const PodResources::Answer& answer) { answers.push_back(answer); });
  }
  bool answered(std::size_t times) {
    return test::run_until(loop, [&] { return answers.size() == times; });
  }
};

}  // namespace

TEST_CASE("the ids that pods hold are reported by resource, each once") {
  Client client;
  test::TellingKubelet kubelet(client.dir.at("kubelet.sock"));
  kubelet.add("x.com/a", "gpu::0");
  kubelet.add("x.com/b", "other");
  kubelet.add("x.com/a", "gpu::0");
  kubelet.add("x.com/a", "gpu::3");
  client.request();
  CHECK(client.answers.empty());
  REQUIRE(client.answered(1));
  REQUIRE(client.answers[0].holdings);
  const Holdings& held = *client.answers[0].holdings;
  REQUIRE(held.size() == 2);
  CHECK(held.at("x.com/a").all().size() == 2);
  CHECK(held.at("x.com/a").contains("gpu::0"));
  CHECK(held.at("x.com/a").contains("gpu::3"));
  CHECK(held.at("x.com/b").contains("other"));
}

TEST_CASE("holders with more than 4 MiB of ids are read") {
  Client client;
  test::TellingKubelet kubelet(client.dir.at("kubelet.sock"));
  // Few but long ids, because a sanitizer makes each id slow, and the query has a deadline.
  for (int i = 0; i < 10'000; ++i) kubelet.add("x.com/a", std::string(500, 'x') + std::to_string(i));
  client.request();
  REQUIRE(client.answered(1));
  REQUIRE(client.answers[0].holdings);
  CHECK(client.answers[0].holdings->at("x.com/a").all().size() == 10'000);
}

TEST_CASE("without a kubelet the holders are unknown, with a reason") {
  Client client;
  std::string reason;
  SUBCASE("without a socket") { reason = "No such file or directory"; }
  SUBCASE("after the kubelet has ended and removed its socket") {
    const test::TellingKubelet former(client.dir.at("kubelet.sock"));
    reason = "No such file or directory";
  }
  SUBCASE("with a regular file instead of the socket") {
    client.dir.file("kubelet.sock");
    reason = "Connection refused";
  }
  client.request();
  CHECK(client.answers.empty());
  REQUIRE(client.answered(1));
  CHECK_FALSE(client.answers[0].holdings);
  CHECK(client.answers[0].why.find(reason) != std::string::npos);
}

TEST_CASE("if the kubelet refuses the query, the holders are unknown, with the kubelet's message") {
  Client client;
  test::TellingKubelet kubelet(client.dir.at("kubelet.sock"));
  kubelet.refuse_next({grpc::StatusCode::UNIMPLEMENTED, "no pods here"});
  client.request();
  REQUIRE(client.answered(1));
  CHECK_FALSE(client.answers[0].holdings);
  CHECK(client.answers[0].why == "no pods here");
}

TEST_CASE("callers before the query begins share it, and the query for later callers follows after a pause") {
  Client client;
  test::TellingKubelet kubelet(client.dir.at("kubelet.sock"));
  kubelet.hold(true);
  client.request();
  client.request();
  REQUIRE(test::run_until(client.loop, [&] { return kubelet.calls().size() == 1; }));
  client.request();  // cannot share the running query, because the state may have changed since its begin
  kubelet.hold(false);
  REQUIRE(client.answered(2));
  CHECK(kubelet.calls().size() == 1);
  client.request();
  REQUIRE(client.answered(4));
  CHECK(kubelet.calls().size() == 2);
  CHECK(client.answers[3].asked - client.answers[0].asked >= PodResources::kPause);
  CHECK(client.answers[3].asked - client.answers[0].asked < PodResources::kPauseIfRefused);
}

TEST_CASE(
    "a caller that accepts an older state shares the running query, or gets the last response at once") {
  Client client;
  test::TellingKubelet kubelet(client.dir.at("kubelet.sock"));
  kubelet.add("x.com/a", "one");
  kubelet.hold(true);
  const auto before = EventLoop::Clock::now();
  client.request();
  REQUIRE(test::run_until(client.loop, [&] { return kubelet.calls().size() == 1; }));
  client.request(before);
  kubelet.hold(false);
  REQUIRE(client.answered(2));
  const auto asked = client.answers[0].asked;
  CHECK(asked >= before);
  CHECK(asked <= kubelet.calls()[0]);
  client.request(asked);
  REQUIRE(client.answers.size() == 3);
  CHECK(client.answers[2].holdings == client.answers[0].holdings);
  CHECK(client.answers[2].asked == asked);
  client.request(asked + 1ns);
  CHECK(client.answers.size() == 3);
  REQUIRE(client.answered(4));
  CHECK(client.answers[3].asked > asked);
  CHECK(kubelet.calls().size() == 2);
}

TEST_CASE("a kubelet that limits queries is queried again a second later") {
  Client client;
  test::TellingKubelet kubelet(client.dir.at("kubelet.sock"));
  kubelet.add("x.com/a", "one");
  kubelet.refuse_next({grpc::StatusCode::RESOURCE_EXHAUSTED, "rejected by rate limit"});
  const auto begun = EventLoop::Clock::now();
  client.request();
  REQUIRE(client.answered(1));
  CHECK(client.answers[0].holdings);
  CHECK(kubelet.calls().size() == 2);
  CHECK(client.answers[0].asked - begun >= PodResources::kPauseIfRefused);
}

TEST_CASE("a kubelet that continues to refuse is not queried sooner for the next caller") {
  Client client;
  test::TellingKubelet kubelet(client.dir.at("kubelet.sock"));
  for (unsigned i = 0; i < PodResources::kMostTries; ++i)
    kubelet.refuse_next({grpc::StatusCode::RESOURCE_EXHAUSTED, "rejected by rate limit"});
  client.request();
  REQUIRE(client.answered(1));
  CHECK_FALSE(client.answers[0].holdings);
  CHECK(client.answers[0].why == "rejected by rate limit");
  client.request();
  REQUIRE(client.answered(2));
  CHECK(client.answers[1].holdings);
  CHECK(client.answers[1].asked - client.answers[0].asked >= PodResources::kPauseIfRefused);
  CHECK(kubelet.calls().size() == PodResources::kMostTries + 1);
}

TEST_CASE("a query that hangs ends at the deadline") {
  Client client;
  test::TellingKubelet kubelet(client.dir.at("kubelet.sock"));
  kubelet.hold(true);
  const auto start = EventLoop::Clock::now();
  client.request();
  REQUIRE(client.answered(1));
  CHECK_FALSE(client.answers[0].holdings);
  CHECK(EventLoop::Clock::now() - start > PodResources::kDeadline - 100ms);
}

TEST_CASE("after the client's destruction its callbacks are not called") {
  Client client;
  test::TellingKubelet kubelet(client.dir.at("kubelet.sock"));
  kubelet.hold(true);
  client.request();
  REQUIRE(test::run_until(client.loop, [&] { return kubelet.calls().size() == 1; }));
  client.pods.reset();
  kubelet.hold(false);
  client.pods.emplace(client.loop, client.dir.at("kubelet.sock"));
  client.request();
  REQUIRE(client.answered(1));
  CHECK(kubelet.calls().size() == 2);
}
