#include "kubernetes/apiserver/api_server.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <future>

#include "unit/kubernetes/apiserver/api_client_fixture.hpp"
#include "unit/kubernetes/apiserver/fake_api_server.hpp"
#include "unit/leased_program.hpp"

using namespace plughost;
using namespace std::chrono_literals;
using test::ClientOfTest;
using test::FakeApiServer;
using test::FakeConnection;
using test::FakeRequest;
using test::run_until;
using test::says;

namespace {

std::uint64_t counted(const ApiTally& tally, std::string_view verb, int code) {
  for (const auto& each : tally.read().requests) {
    if (each.verb == verb && each.code == code) return each.count;
  }
  return 0;
}

}  // namespace

TEST_CASE("a request has its path, identity and body, and its response arrives") {
  FakeApiServer server([](const FakeRequest&, FakeConnection& out) { out.answer(201, R"({"a":1})"); });
  ClientOfTest test;
  test.kubeconfig(server.url() + "/prefix/");
  test.start();
  CHECK(test.client->state().server.empty());
  const ApiAnswer answer =
      test.ask({.verb = ApiVerb::kPatch,
                .path = [](const std::string& node) { return "/api/v1/nodes/" + node + "/status?x=1"; },
                .content_type = ApiRequest::kMergePatch,
                .body = [](const std::string& node) { return R"({"n":")" + node + "\"}"; }});
  CHECK(answer.ok());
  CHECK(answer.code == 201);
  CHECK(answer.body == R"({"a":1})");
  CHECK(answer.error.empty());
  const auto requests = server.requests();
  REQUIRE(requests.size() == 1);
  CHECK(requests[0].method == "PATCH");
  CHECK(requests[0].target == "/prefix/api/v1/nodes/worker-1/status?x=1");
  CHECK(requests[0].headers.at("authorization") == "Bearer secret");
  CHECK(requests[0].headers.at("content-type") == "application/merge-patch+json");
  CHECK(requests[0].headers.at("accept") == "application/json");
  CHECK(requests[0].headers.at("user-agent") == "plughost");
  CHECK(requests[0].body == R"({"n":"worker-1"})");
  CHECK(counted(*test.tally, "patch", 201) == 1);
  const ApiClientState state = test.client->state();
  CHECK(state.server == server.url() + "/prefix");
  CHECK(state.identity == test.directory.at("kubeconfig"));
  CHECK(state.node == "worker-1");
  CHECK(state.heard);
  CHECK(state.error.empty());
}

TEST_CASE("a create is a POST, and get and list are GETs") {
  FakeApiServer server([](const FakeRequest&, FakeConnection& out) { out.answer(200, "{}"); });
  ClientOfTest test;
  test.kubeconfig(server.url(), "      username: me\n      password: pass\n");
  test.start();
  CHECK(test.ask({.verb = ApiVerb::kCreate, .path = "/one", .body = "{}"}).ok());
  CHECK(test.ask({.verb = ApiVerb::kGet, .path = "/two"}).ok());
  CHECK(test.ask({.verb = ApiVerb::kList, .path = "/three"}).ok());
  const auto requests = server.requests();
  REQUIRE(requests.size() == 3);
  CHECK(requests[0].method == "POST");
  CHECK(requests[0].headers.at("content-type") == "application/json");
  CHECK(requests[0].headers.at("authorization") == "Basic bWU6cGFzcw==");
  CHECK(requests[1].method == "GET");
  CHECK(requests[2].method == "GET");
  CHECK_FALSE(requests[2].headers.contains("content-type"));
  CHECK(counted(*test.tally, "create", 200) == 1);
  CHECK(counted(*test.tally, "list", 200) == 1);
}

TEST_CASE("an update is a PUT with its body, and a delete has no body unless it needs options") {
  FakeApiServer server([](const FakeRequest&, FakeConnection& out) { out.answer(200, "{}"); });
  ClientOfTest test;
  test.kubeconfig(server.url());
  test.start();
  CHECK(test.ask({.verb = ApiVerb::kUpdate, .path = "/one", .body = R"({"a":1})"}).ok());
  CHECK(test.ask({.verb = ApiVerb::kDelete, .path = "/two"}).ok());
  CHECK(test.ask({.verb = ApiVerb::kDelete, .path = "/three", .body = R"({"b":2})"}).ok());
  CHECK(test.ask({.verb = ApiVerb::kGet, .path = "/four"}).ok());
  const auto requests = server.requests();
  REQUIRE(requests.size() == 4);
  CHECK(requests[0].method == "PUT");
  CHECK(requests[0].headers.at("content-type") == "application/json");
  CHECK(requests[0].body == R"({"a":1})");
  CHECK(requests[1].method == "DELETE");
  CHECK(requests[1].body.empty());
  CHECK(requests[2].method == "DELETE");
  CHECK(requests[2].body == R"({"b":2})");
  CHECK(requests[3].method == "GET");
  CHECK(counted(*test.tally, "update", 200) == 1);
  CHECK(counted(*test.tally, "delete", 200) == 2);
}

TEST_CASE("requests share one connection, which is closed when unused") {
  FakeApiServer server([](const FakeRequest&, FakeConnection& out) { out.answer(200, "{}"); });
  ClientOfTest test;
  test.kubeconfig(server.url());
  test.options.idle = 50ms;
  test.start();
  for (int i = 0; i < 3; ++i) CHECK(test.get("/").ok());
  CHECK(server.requests().back().connection == 1);
  CHECK(run_until(test.loop, [&] { return server.connections() == 0; }));
  CHECK(test.get("/").ok());
  CHECK(server.requests().back().connection == 2);
}

TEST_CASE("404, 409, 422 and 500 are returned as responses, with the API server's message") {
  std::atomic<int> code = 409;
  FakeApiServer server([&](const FakeRequest&, FakeConnection& out) {
    out.answer(code, R"({"kind":"Status","message":"so it is"})");
  });
  ClientOfTest test;
  test.kubeconfig(server.url());
  test.start();
  for (const int each : {404, 409, 422, 500}) {
    code = each;
    const ApiAnswer answer = test.get("/api/v1/pods?limit=1");
    CHECK(answer.code == each);
    CHECK_FALSE(answer.ok());
    CHECK(says(answer.error, "the API server (" + server.url() +
                                 ") was asked to get /api/v1/pods: " + std::to_string(each)));
    CHECK(says(answer.error, ": so it is"));
    CHECK(says(answer.body, "Status"));
  }
  CHECK(server.requests().size() == 4);
  CHECK(test.client->state().error.empty());
}

TEST_CASE("a response's Retry-After is returned, reduced to at most one minute") {
  std::atomic<int> code = 429;
  std::atomic<int> seconds = 7;
  FakeApiServer server([&](const FakeRequest&, FakeConnection& out) {
    out.answer(code, "", "Retry-After: " + std::to_string(seconds) + "\r\n");
  });
  ClientOfTest test;
  test.kubeconfig(server.url());
  test.start();
  CHECK(test.get("/").retry_after == 7s);
  code = 503;
  CHECK(test.get("/").retry_after == 7s);
  seconds = 61;
  CHECK(test.get("/").retry_after == 60s);
  seconds = -1;
  CHECK_FALSE(test.get("/").retry_after);
}

TEST_CASE("after a 401 the token is read again at once, and the request is sent once more") {
  FakeApiServer server([](const FakeRequest& request, FakeConnection& out) {
    out.answer(request.headers.at("authorization") == "Bearer new" ? 200 : 401, "{}");
  });
  ClientOfTest test;
  test.directory.file("token", "old\n");
  test.kubeconfig(server.url(), "      tokenFile: token\n");
  test.start();
  const ApiAnswer refused = test.get("/");
  CHECK(refused.code == 401);
  CHECK(server.requests().size() == 2);
  CHECK(says(test.client->state().error, "401 Unauthorized"));
  test.directory.file("token", "new\n");
  const ApiAnswer taken = test.get("/");
  CHECK(taken.ok());
  CHECK(taken.body == "{}");
  CHECK(server.requests().size() == 4);
  CHECK(server.requests()[2].headers.at("authorization") == "Bearer old");
  CHECK(counted(*test.tally, "get", 401) == 3);
  CHECK(counted(*test.tally, "get", 200) == 1);
  CHECK(test.client->state().error.empty());
}

TEST_CASE("old credentials are read again before the next request") {
  FakeApiServer server([](const FakeRequest&, FakeConnection& out) { out.answer(200, "{}"); });
  ClientOfTest test;
  test.kubeconfig(server.url(), "      token: one\n");
  test.options.access_age = 0ms;
  test.start();
  CHECK(test.get("/").ok());
  test.kubeconfig(server.url(), "      token: two\n");
  CHECK(test.get("/").ok());
  CHECK(server.requests()[1].headers.at("authorization") == "Bearer two");
  // If the file cannot be read, the former credentials stay in use.
  test.directory.file("kubeconfig", "broken: [");
  CHECK(test.get("/").ok());
  CHECK(server.requests()[2].headers.at("authorization") == "Bearer two");
  REQUIRE(test.client->state().warnings.size() == 1);
  CHECK(says(test.client->state().warnings[0], "kubeconfig:1"));
}

TEST_CASE("without credentials or without libcurl a request ends with the reason") {
  ClientOfTest test;
  test.start();
  const ApiAnswer none = test.get("/api/v1/pods");
  CHECK(none.code == 0);
  CHECK(says(none.error, "kubeconfig cannot be opened: No such file or directory"));
  CHECK(says(test.client->state().error, "No such file or directory"));
  CHECK(counted(*test.tally, "get", 0) == 1);
  test.kubeconfig("https://127.0.0.1:1");
  test.options.library = "libplughost-has-none.so.4";
  test.start();
  CHECK(says(test.get("/").error, "install the package libcurl4"));
  test.options.library = "libdl.so.2";
  test.start();
  CHECK(says(test.get("/").error, "libdl.so.2 is not libcurl"));
}

TEST_CASE(
    "if the server is missing, hangs up or sends garbage, requests fail, until the server answers "
    "correctly") {
  std::atomic<int> mood = 0;
  FakeApiServer server([&](const FakeRequest&, FakeConnection& out) {
    if (mood == 0) out.cut();
    if (mood == 1) out.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"), out.cut();
    if (mood == 2) out.send("220 smtp.example.com ready\r\n"), out.cut();
    if (mood == 3) out.answer(200, "{}");
  });
  ClientOfTest test;
  test.kubeconfig("http://127.0.0.1:1");
  test.options.access_age = 0ms;
  test.start();
  const ApiAnswer refused = test.get("/x");
  CHECK(refused.code == 0);
  CHECK(says(refused.error, "the API server (http://127.0.0.1:1) was asked to get /x: "));
  CHECK(says(refused.error, "Connection refused"));
  CHECK(refused.nobody);
  test.kubeconfig(server.url());
  for (mood = 0; mood < 3; ++mood) {
    CAPTURE(mood.load());
    const ApiAnswer answer = test.get("/x");
    CHECK(answer.code == 0);
    CHECK(answer.body.empty());
    CHECK_FALSE(answer.error.empty());
    CHECK_FALSE(answer.nobody);
    CHECK(test.client->state().error == answer.error);
  }
  CHECK(test.get("/x").ok());
  CHECK(test.client->state().error.empty());
}

TEST_CASE("a request without a response fails at its deadline, and a dropped call ends at once") {
  FakeApiServer server([](const FakeRequest&, FakeConnection& out) { out.wait_for_close(); });
  ClientOfTest test;
  test.kubeconfig(server.url());
  test.start();
  const ApiAnswer late = test.ask({.path = "/", .deadline = 50ms});
  CHECK(late.code == 0);
  CHECK(says(late.error, "no answer within 50 ms"));
  bool called = false;
  auto call = test.client->send({.path = "/dropped"}, [&](const ApiAnswer&) { called = true; });
  // The second request is awaited by its path, because on a busy machine the first may end before the server
  // has read it.
  CHECK(run_until(test.loop, [&] {
    const auto requests = server.requests();
    return std::ranges::any_of(requests, [](const auto& each) { return each.target == "/dropped"; });
  }));
  call.reset();
  CHECK(run_until(test.loop, [&] { return server.connections() == 0; }));
  CHECK_FALSE(called);
}

TEST_CASE("a slow response does not delay others") {
  FakeApiServer server([](const FakeRequest& request, FakeConnection& out) {
    if (request.target == "/slow")
      out.wait_for_close();
    else
      out.answer(200, "{}");
  });
  ClientOfTest test;
  test.kubeconfig(server.url());
  test.start();
  const auto slow = test.client->send({.path = "/slow"}, [](const ApiAnswer&) {});
  CHECK(run_until(test.loop, [&] { return server.requests().size() == 1; }));
  CHECK(test.get("/quick").ok());
}

TEST_CASE("a response whose body or head is too long fails, and its body is dropped") {
  FakeApiServer server([](const FakeRequest& request, FakeConnection& out) {
    if (request.target == "/fits") return out.answer(200, std::string(1000, 'x'));
    if (request.target == "/long") return out.answer(200, std::string(1001, 'x'));
    std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n";
    for (int i = 0; i < (request.target == "/large-head" ? 250 : 265); ++i)
      head += "X: " + std::string(1019, 'x') + "\r\n";  // 1 KiB each
    out.send(head + "\r\n");
  });
  ClientOfTest test;
  test.kubeconfig(server.url());
  test.start();
  CHECK(test.ask({.path = "/fits", .most_answer = 1000}).ok());
  const ApiAnswer too_long = test.ask({.path = "/long", .most_answer = 1000});
  CHECK_FALSE(too_long.ok());
  CHECK(too_long.body.empty());
  CHECK(says(too_long.error, "its answer has more than 1000 bytes"));
  // The API server has responded, so it is not reported as unreachable.
  CHECK(test.client->state().error.empty());
  CHECK(test.logged("cannot reach the API server").empty());
  CHECK(test.get("/large-head").ok());
  CHECK(test.get("/larger-head").code == 0);
}

TEST_CASE("a callback may drop its call, and send the next one") {
  FakeApiServer server([](const FakeRequest&, FakeConnection& out) { out.answer(200, "{}"); });
  ClientOfTest test;
  test.kubeconfig(server.url());
  test.start();
  std::unique_ptr<ApiCall> call;
  int done = 0;
  const std::function<void()> next = [&] {
    call = test.client->send({.path = "/"}, [&](const ApiAnswer&) {
      ++done;
      call.reset();
      if (done < 3) next();
    });
  };
  next();
  CHECK(done == 0);
  CHECK(run_until(test.loop, [&] { return done == 3; }));
}

TEST_CASE("a `tls-server-name` does not change the Host header of requests") {
  FakeApiServer server([](const FakeRequest&, FakeConnection& out) { out.answer(200, "{}"); });
  ClientOfTest test;
  test.kubeconfig(server.url(), "      token: t\n", "      tls-server-name: kubernetes.example\n");
  test.start();
  CHECK(test.get("/x").ok());
  CHECK(server.requests()[0].headers.at("host") == "127.0.0.1:" + std::to_string(server.port()));
}

TEST_CASE("a proxy is used if the kubeconfig names it, and the environment's proxies are ignored") {
  FakeApiServer server([](const FakeRequest&, FakeConnection& out) { out.answer(200, "{}"); });
  FakeApiServer proxy([](const FakeRequest&, FakeConnection& out) { out.answer(200, "{}"); });
  ::setenv("http_proxy", "http://127.0.0.1:1", 1);
  ::setenv("no_proxy", "127.0.0.1", 1);
  ClientOfTest test;
  test.kubeconfig(server.url());
  test.options.access_age = 0ms;
  test.start();
  CHECK(test.get("/x").ok());
  test.kubeconfig(server.url(), "      token: t\n", "      proxy-url: " + proxy.url() + "\n");
  CHECK(test.get("/y").ok());
  ::unsetenv("http_proxy");
  ::unsetenv("no_proxy");
  REQUIRE(proxy.requests().size() == 1);
  CHECK(proxy.requests()[0].target == server.url() + "/y");
  CHECK(server.requests().size() == 1);
}

TEST_CASE("a stream reports its begin, its bytes and its end, and for a refusal only the end") {
  FakeApiServer server([](const FakeRequest& request, FakeConnection& out) {
    if (request.target == "/no") return out.answer(403, R"({"message":"not you"})");
    out.begin();
    out.chunk("one");
    out.chunk("two");
    out.end();
  });
  ClientOfTest test;
  test.kubeconfig(server.url());
  test.start();
  struct Reader final : ApiClient::StreamReader {
    int began = 0;
    std::string bytes;
    std::optional<ApiAnswer> ended;
    void on_begin() override { ++began; }
    void on_bytes(std::string_view some) override { bytes += some; }
    void on_end(ApiAnswer answer) override { ended = std::move(answer); }
  } reader;
  auto call = test.client->stream({.verb = ApiVerb::kWatch, .path = "/yes"}, reader);
  REQUIRE(run_until(test.loop, [&] { return reader.ended.has_value(); }));
  CHECK(reader.began == 1);
  CHECK(reader.bytes == "onetwo");
  CHECK(reader.ended->ok());
  CHECK(counted(*test.tally, "watch", 200) == 1);
  reader.ended.reset();
  call = test.client->stream({.verb = ApiVerb::kWatch, .path = "/no"}, reader);
  REQUIRE(run_until(test.loop, [&] { return reader.ended.has_value(); }));
  CHECK(reader.began == 1);
  CHECK(reader.ended->code == 403);
  CHECK(says(reader.ended->error, "was asked to watch /no: 403 Forbidden: not you"));
  CHECK(counted(*test.tally, "watch", 403) == 1);
}

TEST_CASE("a stream's bytes arrive in small parts, also from a fast server, and can be paused") {
  constexpr std::size_t kSize = std::size_t{32} << 20u;
  FakeApiServer server([](const FakeRequest& request, FakeConnection& out) {
    if (request.target == "/ping") return out.answer(200, "{}");
    out.answer(200, std::string(kSize, 'x'));
  });
  ClientOfTest test;
  test.kubeconfig(server.url());
  test.start();
  CHECK(test.get("/ping").ok());
  struct Reader final : ApiClient::StreamReader {
    std::size_t largest = 0;
    std::size_t sum = 0;
    bool ended = false;
    std::unique_ptr<ApiCall> call;
    void on_bytes(std::string_view some) override {
      if (sum == 0) call->pause();
      largest = std::max(largest, some.size());
      sum += some.size();
    }
    void on_end(ApiAnswer answer) override { ended = answer.ok(); }
  } reader;
  reader.call = test.client->stream({.verb = ApiVerb::kList, .path = "/large"}, reader);
  REQUIRE(run_until(test.loop, [&] { return reader.sum > 0; }));
  const std::size_t first = reader.sum;
  for (int i = 0; i < 50; ++i) CHECK(test.get("/ping").ok());
  CHECK(reader.sum == first);
  reader.call->resume();
  REQUIRE(run_until(test.loop, [&] { return reader.ended; }));
  CHECK(reader.sum == kSize);
  CHECK(reader.largest <= std::size_t{512} << 10u);
}

TEST_CASE("if reading the credentials hangs, each request fails after the deadline, and only one read runs") {
  FakeApiServer server([](const FakeRequest&, FakeConnection& out) { out.answer(200, "{}"); });
  ClientOfTest test;
  test.kubeconfig(server.url());
  test.directory.file("/etc/kubernetes/kubelet.conf");
  std::filesystem::rename(test.directory.at("kubeconfig"), test.directory.at("/etc/kubernetes/kubelet.conf"));
  std::atomic<int> looks = 0;
  std::promise<void> release;
  const auto released = release.get_future().share();
  test.options.config.kubeconfig = "auto";
  test.options.host = HostRoot(test.directory.path())
                          .noted(
                              [&looks, released](HostRoot::Look, const std::string&) {
                                ++looks;
                                released.wait();
                              },
                              nullptr);
  test.options.file_deadline = 50ms;
  test.start();
  for (int i = 0; i < 3; ++i) CHECK(says(test.get("/").error, "takes longer than 50 ms: the file system"));
  CHECK(looks == 1);
  release.set_value();
  const auto end = EventLoop::Clock::now() + 10s;
  while (!test.get("/").ok()) REQUIRE(EventLoop::Clock::now() < end);
}

TEST_CASE("an invalid node name is not requested") {
  FakeApiServer server([](const FakeRequest&, FakeConnection& out) { out.answer(200, "{}"); });
  ClientOfTest test;
  test.kubeconfig(server.url());
  for (const std::string name : {"a/b", "Worker", "a\"b", "a b"}) {
    test.options.config.node = name;
    test.start();
    CHECK(says(test.get("/").error, "write `apiServer: {node: NAME}`"));
  }
  CHECK(server.requests().empty());
  test.options.config.node = "worker-1.example";
  test.start();
  CHECK(test.get("/").ok());
}

TEST_CASE(
    "the log reports once that the API server cannot be reached, that it responds, and what is not secure") {
  FakeApiServer server([](const FakeRequest&, FakeConnection& out) { out.answer(200, "{}"); });
  ClientOfTest test;
  test.options.access_age = 0ms;
  test.start();
  for (int i = 0; i < 2; ++i) CHECK_FALSE(test.get("/").ok());
  test.kubeconfig(server.url(), "      token: t\n", "      insecure-skip-tls-verify: true\n");
  for (int i = 0; i < 2; ++i) CHECK(test.get("/").ok());
  std::vector<std::string> words;
  for (std::uint64_t number = 0; const auto record = test.log.history().after(number);
       number = record->number)
    words.push_back(record->words);
  CHECK(words == std::vector<std::string>{"cannot reach the API server: retrying",
                                          "the connection to the API server is not secure",
                                          "API server answers"});
}

TEST_CASE("while opening libcurl stalls, requests end with the reason, and afterwards libcurl is opened") {
  test::ClientOfTest test;
  test::LeasedProgram stalled(test.directory.at("libcurl.so.4"));
  test.options.library = stalled.path();
  test.options.file_deadline = 50ms;
  test.start();
  for (int i = 0; i < 2; ++i)
    CHECK(test::says(test.get("/").error,
                     "opening libcurl takes longer than 50 ms: its file system does not respond"));
  stalled.give_back();
  const auto end = EventLoop::Clock::now() + 10s;
  // The test's libcurl is a shell script, so the loader refuses it.
  while (!test::says(test.get("/").error, "cannot be opened: " + stalled.path()))
    REQUIRE(EventLoop::Clock::now() < end);
}
