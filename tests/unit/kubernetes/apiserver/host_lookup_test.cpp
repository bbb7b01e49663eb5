// Tests the resolution of host names by a worker, whose addresses libcurl then uses.

#include "kubernetes/apiserver/host_lookup.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <memory>
#include <mutex>

#include "unit/kubernetes/apiserver/api_client_fixture.hpp"
#include "unit/kubernetes/apiserver/fake_api_server.hpp"

using namespace plughost;
using namespace std::chrono_literals;
using test::FakeApiServer;
using test::FakeConnection;
using test::FakeRequest;
using test::run_until;
using test::says;

namespace {

// A client whose kubeconfig names the server api.test, with a resolver that the test controls.
struct Named {
  using Result = std::variant<Addresses, std::string>;

  test::ClientOfTest test;
  FakeApiServer server{[](const FakeRequest&, FakeConnection& out) {
    out.answer(200, "{}", "Connection: close\r\n");
    out.cut();
  }};
  std::mutex mutex;
  Result result = Addresses{"127.0.0.1"};
  std::vector<std::string> asked;

  Named() {
    test.options.lookup.resolve = [this](const std::string& host) {
      const std::lock_guard lock(mutex);
      asked.push_back(host);
      return result;
    };
    test.kubeconfig(url("http://api.test"));
  }
  std::string url(const std::string& host) const { return host + ':' + std::to_string(server.port()); }
  void resolves_to(Result now) {
    const std::lock_guard lock(mutex);
    result = std::move(now);
  }
};

// A resolver that hangs until the test releases it, for at most 10 s, so that a failing test ends.
struct Hanging {
  // Shared with the resolver, because a worker may still use them after the test.
  struct Counts {
    std::atomic<int> begun = 0;
    std::atomic<int> ended = 0;
  };
  std::promise<void> release;
  std::shared_future<void> released = release.get_future().share();
  const std::shared_ptr<Counts> counts = std::make_shared<Counts>();
  std::atomic<int>& begun = counts->begun;
  std::atomic<int>& ended = counts->ended;

  auto resolve() const {
    return [counts = counts, released = released](const std::string&) -> Named::Result {
      ++counts->begun;
      released.wait_for(10s);
      ++counts->ended;
      return Addresses{"127.0.0.1"};
    };
  }
};

}  // namespace

TEST_CASE("a request tries a host name's addresses in order until one responds") {
  Named named;
  named.resolves_to(Addresses{"::1", "127.0.0.2", "127.0.0.1"});
  named.test.start();
  CHECK(named.test.get("/x").error == "");
  CHECK(named.test.get("/y").ok());
  REQUIRE(named.server.requests().size() == 2);
  CHECK(named.server.requests()[0].headers.at("host") == named.url("api.test"));
  CHECK(named.asked == std::vector<std::string>{"api.test"});
}

TEST_CASE("a call that is dropped while its host name is being resolved does not wait for the resolver") {
  Named named;
  Hanging hanging;
  named.test.options.lookup.resolve = hanging.resolve();
  named.test.start();
  bool called = false;
  auto call = named.test.client->send({.path = "/"}, [&](const ApiAnswer&) { called = true; });
  REQUIRE(run_until(named.test.loop, [&] { return hanging.begun == 1; }));
  call.reset();
  CHECK(hanging.ended == 0);
  hanging.release.set_value();
  CHECK(run_until(named.test.loop, [&] { return hanging.ended == 1; }));
  CHECK(named.test.get("/later").ok());
  CHECK_FALSE(called);
  CHECK(named.server.requests().size() == 1);
}

TEST_CASE("a call ends at its own deadline while its host name is being resolved") {
  Named named;
  Hanging hanging;
  named.test.options.lookup.resolve = hanging.resolve();
  named.test.start();
  CHECK(says(named.test.ask({.path = "/", .deadline = 50ms}).error, "no answer within 50 ms"));
  CHECK(hanging.ended == 0);
  hanging.release.set_value();
}

TEST_CASE(
    "a resolution that hangs occupies one worker, calls fail with the reason, and its late result is used") {
  Named named;
  Hanging hanging;
  named.test.options.lookup.resolve = hanging.resolve();
  named.test.options.lookup.deadline = 50ms;
  named.test.start();
  for (int i = 0; i < 3; ++i)
    CHECK(says(named.test.get("/").error,
               "resolving the host name 'api.test' takes longer than 50 ms: the "
               "name servers of this node do not answer"));
  CHECK(hanging.begun == 1);
  bool worked = false;
  named.test.workers.run([] {}, [&] { worked = true; }, 10s, [] {});
  CHECK(run_until(named.test.loop, [&] { return worked; }));
  CHECK(hanging.ended == 0);
  hanging.release.set_value();
  const auto end = EventLoop::Clock::now() + 10s;
  while (!named.test.get("/").ok()) REQUIRE(EventLoop::Clock::now() < end);
  CHECK(hanging.begun == 1);
}

TEST_CASE("a host name that cannot be resolved ends the request with the name and the resolver's reason") {
  Named named;
  named.resolves_to("the host name 'api.test' cannot be resolved: Name or service not known");
  named.test.start();
  CHECK(named.test.get("/x").error ==
        "the API server (" + named.url("http://api.test") +
            ") was asked to get /x: the host name 'api.test' cannot be resolved: Name or service not known");
  named.resolves_to(Addresses{"127.0.0.1"});
  CHECK(named.test.get("/x").ok());
}

TEST_CASE("a host name is resolved again after a while, and the new address replaces the former one") {
  Named named;
  named.test.options.lookup.age = 0ms;
  named.test.start();
  CHECK(named.test.get("/").ok());
  named.resolves_to(Addresses{"127.0.0.2"});
  CHECK(says(named.test.get("/").error, "Connection refused"));
  named.resolves_to(Addresses{"127.0.0.1"});
  CHECK(named.test.get("/").ok());
  // A failed resolution keeps the last addresses.
  named.resolves_to("the name servers are away");
  CHECK(named.test.get("/").ok());
  named.test.kubeconfig(named.url("http://other.test"));
  named.test.options.access_age = 0ms;
  named.test.start();
  CHECK(says(named.test.get("/").error, "the name servers are away"));
}

TEST_CASE(
    "an IP address is not resolved, and with tls-server-name or a proxy the name to connect to is resolved") {
  Named named;
  named.test.options.access_age = 0ms;
  named.test.kubeconfig(named.server.url());
  named.test.start();
  CHECK(named.test.get("/").ok());
  CHECK(named.asked.empty());
  named.test.kubeconfig(named.url("http://api.test"), "      token: t\n",
                        "      tls-server-name: tls.test\n");
  CHECK(named.test.get("/").ok());
  CHECK(named.asked == std::vector<std::string>{"api.test"});
  named.test.kubeconfig("http://api.test", "      token: t\n",
                        "      proxy-url: " + named.url("http://me:pw@proxy.test") + "\n");
  CHECK(named.test.get("/").ok());
  CHECK(named.server.requests().back().target == "http://api.test/");
  CHECK(named.asked == std::vector<std::string>{"api.test", "proxy.test"});
}

TEST_CASE("the system's resolver resolves localhost, and reports why it resolves no other name") {
  const auto found = resolve_host("localhost");
  REQUIRE(std::holds_alternative<Addresses>(found));
  const auto& addresses = std::get<0>(found);
  CHECK((addresses.front() == "127.0.0.1" || addresses.front() == "::1"));
  const auto none = resolve_host(std::string(100, 'x') + ".test");
  REQUIRE(std::holds_alternative<std::string>(none));
  CHECK(std::get<1>(none).starts_with("the host name 'xxx"));
  CHECK(says(std::get<1>(none), "' cannot be resolved: "));
  CHECK_FALSE(std::get<1>(none).ends_with(": "));
}
