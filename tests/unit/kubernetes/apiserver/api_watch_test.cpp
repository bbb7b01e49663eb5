#include "kubernetes/apiserver/api_watch.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>

#include "unit/kubernetes/apiserver/api_client_fixture.hpp"
#include "unit/kubernetes/apiserver/fake_api_server.hpp"

using namespace plughost;
using namespace std::chrono_literals;
using test::ClientOfTest;
using test::FakeApiServer;
using test::FakeConnection;
using test::FakeRequest;
using test::run_until;
using test::says;

namespace {

std::string pod(const std::string& name, unsigned version) {
  return R"({"metadata":{"name":")" + name + R"(","resourceVersion":")" + std::to_string(version) + R"("}})";
}

std::string list(const std::string& version, const std::string& items, const std::string& more = "") {
  return R"({"kind":"PodList","metadata":{"resourceVersion":")" + version + "\"" +
         (more.empty() ? "" : R"(,"continue":")" + more + "\"") + R"(},"items":[)" + items + "]}";
}

std::string event(const std::string& type, const std::string& object) {
  return R"({"type":")" + type + R"(","object":)" + object + "}\n";
}

// Returns a list of JSON numbers that has about `bytes` bytes.
std::string numbers(std::size_t bytes) {
  std::string text = "1";
  while (text.size() < bytes) text += ",10000000000000";
  return text;
}

// Returns a pod whose `spec` has about `bytes` bytes.
std::string large_pod(const std::string& name, unsigned version, std::size_t bytes) {
  return R"({"metadata":{"name":")" + name + R"(","namespace":"ns","resourceVersion":")" +
         std::to_string(version) + R"("},"spec":[)" + numbers(bytes) + "]}";
}

constexpr std::size_t kMiB = std::size_t{1} << 20u;

bool is_watch(const FakeRequest& request) { return says(request.target, "watch=true"); }

// Records what a watch reports: the lists, the changes and the error.
struct Heard final : ApiWatch::Owner {
  std::vector<std::string> lines;
  std::size_t listed = 0;   // number of objects in the last list
  std::size_t changed = 0;  // number of changes
  std::string error;

  static std::string name_of(const Json& object) { return object["metadata"]["name"].text(); }
  void on_list(std::vector<Json> objects) override {
    std::string line = "listed";
    for (const Json& object : objects) line += ' ' + name_of(object);
    lines.push_back(line);
    listed = objects.size();
  }
  void on_change(Json object) override {
    lines.push_back("changed " + name_of(object));
    ++changed;
  }
  void on_gone(Json object) override { lines.push_back("gone " + name_of(object)); }
  void on_error(const std::string& sentence) override { error = sentence; }
};

using Step = FakeApiServer::Handler;

// Answers each request with the next step. The last step answers all further requests.
FakeApiServer::Handler script(std::vector<Step> steps) {
  auto next = std::make_shared<std::atomic<std::size_t>>(0);
  return [steps = std::move(steps), next](const FakeRequest& request, FakeConnection& out) {
    steps[std::min((*next)++, steps.size() - 1)](request, out);
  };
}

struct Watching {
  ClientOfTest test;
  FakeApiServer server;
  Heard heard;
  std::optional<ApiWatch> watch;

  explicit Watching(std::vector<Step> steps, const std::string& selector = "spec.nodeName={node}")
      : server(script(std::move(steps))) {
    test.kubeconfig(server.url());
    test.start();
    watch.emplace(*test.client, ApiCollection{.path = "/api/v1/pods", .selector = selector}, heard);
  }
  bool until(std::size_t lines) {
    return run_until(test.loop, [&] { return heard.lines.size() >= lines; });
  }
};

Step answers(int code, const std::string& body, const std::string& headers = "") {
  return [=](const FakeRequest&, FakeConnection& out) { out.answer(code, body, headers); };
}

// Sends the events, and then keeps the connection open.
Step streams(const std::string& events) {
  return [=](const FakeRequest&, FakeConnection& out) {
    out.begin();
    out.chunk(events);
    out.wait_for_close();
  };
}

Step cuts(const std::string& events) {
  return [=](const FakeRequest&, FakeConnection& out) {
    out.begin();
    out.chunk(events);
    out.cut();
  };
}

}  // namespace

TEST_CASE("a watch lists the objects, and then reports each change") {
  Watching test({answers(200, list("10", pod("a", 3) + ',' + pod("b", 4))),
                 streams(event("ADDED", pod("c", 11)) + event("MODIFIED", pod("a", 12)) +
                         event("BOOKMARK", R"({"metadata":{"resourceVersion":"13"}})") +
                         event("DELETED", pod("b", 14)))});
  CHECK_FALSE(test.test.client->state().watches[0].listed);
  CHECK(test.heard.lines.empty());
  REQUIRE(test.until(4));
  CHECK(test.heard.lines == std::vector<std::string>{"listed a b", "changed c", "changed a", "gone b"});
  const ApiTally::Watched seen = test.test.client->state().watches[0];
  CHECK(seen.listed);
  REQUIRE(seen.heard);
  CHECK(EventLoop::Clock::now() - *seen.heard < 10s);
  const auto requests = test.server.requests();
  REQUIRE(requests.size() == 2);
  CHECK(requests[0].target == "/api/v1/pods?limit=500&fieldSelector=spec.nodeName%3Dworker-1");
  CHECK(requests[1].target.starts_with(
      "/api/v1/pods?watch=true&allowWatchBookmarks=true&resourceVersion=10&timeoutSeconds=3"));
  CHECK(requests[1].target.ends_with("&fieldSelector=spec.nodeName%3Dworker-1"));
  const ApiClientState state = test.test.client->state();
  REQUIRE(state.watches.size() == 1);
  CHECK(state.watches[0].collection == "/api/v1/pods");
  CHECK(state.watches[0].listed);
  CHECK(state.watches[0].objects == 2);
  CHECK(state.watches[0].error.empty());
  const auto reading = test.test.tally->read();
  REQUIRE(reading.watches.size() == 1);
  CHECK(reading.watches[0].objects == 2);
  CHECK(reading.watches[0].collection == "/api/v1/pods");
  CHECK(reading.watches[0].heard == state.watches[0].heard);
  test.watch.reset();
  CHECK(test.test.client->state().watches.empty());
  CHECK(test.test.tally->read().watches.empty());
  CHECK(run_until(test.test.loop, [&] { return test.server.connections() <= 1; }));
}

TEST_CASE("pages are one list, and an empty selector is not sent") {
  Watching test({answers(200, list("10", pod("a", 3), "next/1")), answers(200, list("10", pod("b", 4), "2")),
                 answers(200, list("11", pod("c", 5))), streams("")},
                "");
  REQUIRE(test.until(1));
  CHECK(test.heard.lines[0] == "listed a b c");
  CHECK(run_until(test.test.loop, [&] { return test.server.requests().size() == 4; }));
  const auto requests = test.server.requests();
  CHECK(requests[0].target == "/api/v1/pods?limit=500");
  CHECK(requests[1].target == "/api/v1/pods?limit=500&continue=next%2F1");
  CHECK(requests[2].target == "/api/v1/pods?limit=500&continue=2");
  CHECK(says(requests[3].target, "resourceVersion=11&"));
}

TEST_CASE("an empty list is reported") {
  Watching test({answers(200, list("10", "")), streams("")});
  REQUIRE(test.until(1));
  CHECK(test.heard.lines[0] == "listed");
  Watching nothing({answers(200, R"({"metadata":{"resourceVersion":"1"},"items":null})"), streams("")});
  REQUIRE(nothing.until(1));
  CHECK(nothing.heard.lines[0] == "listed");
}

TEST_CASE(
    "after a 410, as response or as event, the objects are listed again at once and replace all former "
    "ones") {
  for (const bool as_event : {false, true}) {
    CAPTURE(as_event);
    const std::string status = R"({"kind":"Status","code":410,"message":"too old","reason":"Expired"})";
    Watching test(
        {answers(200, list("10", pod("a", 3))),
         as_event ? streams(event("ERROR", status) + event("ADDED", pod("x", 11))) : answers(410, status),
         answers(200, list("20", pod("b", 15))), streams(event("ADDED", pod("c", 21)))});
    REQUIRE(test.until(3));
    CHECK(test.heard.lines == std::vector<std::string>{"listed a", "listed b", "changed c"});
    CHECK(test.heard.error.empty());
    CHECK(says(test.server.requests()[3].target, "resourceVersion=20&"));
    CHECK(test.test.client->state().watches[0].objects == 2);
  }
}

TEST_CASE("a cut connection continues from the last event, without a list") {
  Watching test({answers(200, list("10", pod("a", 3))),
                 cuts(event("MODIFIED", pod("a", 12)) + R"({"type":"MODIFIED","obj)"),
                 streams(event("MODIFIED", pod("a", 13)))});
  REQUIRE(test.until(3));
  CHECK(test.heard.lines == std::vector<std::string>{"listed a", "changed a", "changed a"});
  CHECK(says(test.server.requests()[2].target, "resourceVersion=12&"));
  CHECK(test.heard.error.empty());
}

TEST_CASE("a server that ends a watch regularly is watched again") {
  Watching test({answers(200, list("10", "")),
                 [](const FakeRequest&, FakeConnection& out) {
                   out.begin();
                   out.chunk(event("ADDED", pod("a", 12)));
                   out.end();
                 },
                 streams(event("ADDED", pod("b", 13)))});
  REQUIRE(test.until(3));
  CHECK(says(test.server.requests()[2].target, "resourceVersion=12&"));
}

TEST_CASE("an error is reported when it begins and when it ends") {
  Watching test({answers(500, R"({"message":"no etcd"})"), answers(200, list("10", "")), streams("")});
  REQUIRE(run_until(test.test.loop, [&] { return !test.heard.error.empty(); }));
  CHECK(says(test.heard.error, "was asked to list /api/v1/pods: 500 Internal Server Error: no etcd"));
  CHECK(test.test.client->state().watches[0].error == test.heard.error);
  REQUIRE(test.until(1));
  CHECK(run_until(test.test.loop, [&] { return test.heard.error.empty(); }));
}

TEST_CASE(
    "after a watch that broke early, the next one ends the error once it has lasted, even without events") {
  Watching test({answers(200, list("10", "")), cuts("\n"), streams("\n")});
  REQUIRE(run_until(test.test.loop, [&] { return !test.heard.error.empty(); }));
  const auto heard = [&] { return test.test.client->state().watches[0].heard; };
  const auto before = heard();
  REQUIRE(run_until(test.test.loop, [&] { return heard() != before; }));
  CHECK_FALSE(test.heard.error.empty());
  EventLoop::Clock::advance(Reflector::kLived);
  CHECK(run_until(test.test.loop, [&] { return test.heard.error.empty(); }));
}

TEST_CASE("Retry-After of a 429 is obeyed, and a 403 that passes is no error") {
  const auto begin = EventLoop::Clock::now();
  Watching test({answers(429, "", "Retry-After: 1\r\n"), answers(403, R"({"message":"not yet"})"),
                 answers(200, list("10", "")), streams("")});
  REQUIRE(run_until(test.test.loop, [&] { return test.server.requests().size() >= 2; }));
  CHECK(EventLoop::Clock::now() - begin >= 1s);
  REQUIRE(test.until(1));
  CHECK_FALSE(says(test.heard.error, "403"));
}

TEST_CASE("an invalid list or stream is an error, and retried") {
  const std::vector<std::pair<std::string, std::string>> lists{
      {"<html>", "this is no JSON"},
      {"[]", "it has no resourceVersion"},
      {R"({"items":[]})", "it has no resourceVersion"},
      {std::string(100, '['), "64 deep"}};
  for (const auto& [body, words] : lists) {
    Watching test({answers(200, body), answers(200, list("10", "")), streams("")});
    REQUIRE(run_until(test.test.loop, [&] { return !test.heard.error.empty(); }));
    CHECK(says(test.heard.error, words));
    CHECK(test.until(1));
  }
  const std::vector<std::pair<std::string, std::string>> streams_of{
      {"nonsense\n", "an event of the watch cannot be read: this is no JSON"},
      {event("OTHER", pod("a", 11)), "is of the type 'OTHER'"},
      {event("ADDED", R"({"spec":{}})"), "an event of the watch has no object"},
      {event("ADDED", "{\"a\":\"" + std::string(500, '\xff') + "\"}"), "cannot be read: this is no JSON"},
      {event("ADDED", R"({"spec":[)" + numbers(ObjectStream::kMostText) + "]}"), "more than 4194304 bytes"}};
  for (const auto& [bytes, words] : streams_of) {
    // A watch from the previous version would deliver the same event again, so the next step is a list.
    Watching test(
        {answers(200, list("10", "")), streams(bytes), answers(200, list("11", pod("a", 11))), streams("")});
    REQUIRE(run_until(test.test.loop, [&] { return !test.heard.error.empty(); }));
    CHECK(says(test.heard.error, words));
    CHECK(test.until(2));
    CHECK(test.heard.lines.back() == "listed a");
    CHECK(run_until(test.test.loop, [&] { return test.heard.error.empty(); }));
  }
  for (const auto& [bytes, words] :
       {std::pair{event("ERROR", R"({"code":500,"message":"in\nside"})"), "has ended: in\\x0Aside"}}) {
    Watching test({answers(200, list("10", "")), streams(bytes), streams(event("ADDED", pod("a", 11)))});
    REQUIRE(run_until(test.test.loop, [&] { return !test.heard.error.empty(); }));
    CHECK(says(test.heard.error, words));
    CHECK(test.until(2));
    CHECK(run_until(test.test.loop, [&] { return test.heard.error.empty(); }));
  }
}

TEST_CASE("a server that goes away and returns is used again") {
  std::uint16_t port = 0;
  ClientOfTest test;
  Heard heard;
  auto server = std::make_unique<FakeApiServer>(script({answers(200, list("10", pod("a", 3))), streams("")}));
  port = server->port();
  test.kubeconfig(server->url());
  test.start();
  const ApiWatch watch(*test.client, {.path = "/api/v1/pods"}, heard);
  REQUIRE(run_until(test.loop, [&] { return heard.lines.size() == 1 && server->requests().size() == 2; }));
  server.reset();
  REQUIRE(run_until(test.loop, [&] { return says(heard.error, "Connection refused"); }));
  CHECK(test.client->state().watches[0].listed);
  FakeApiServer next(script({streams(event("ADDED", pod("b", 11)))}), port);
  REQUIRE(run_until(
      test.loop, [&] { return heard.lines.size() == 2; }, 30s));
  CHECK(heard.error.empty());
  CHECK(heard.lines[1] == "changed b");
}

TEST_CASE("a watch without any bytes for too long is replaced by a watch from its last version") {
  ClientOfTest test;
  FakeApiServer server(script({answers(200, list("10", "")), streams(event("ADDED", pod("a", 11)))}));
  test.kubeconfig(server.url());
  test.options.silence = 300ms;
  test.start();
  Heard heard;
  const ApiWatch watch(*test.client, {.path = "/api/v1/pods"}, heard);
  REQUIRE(run_until(test.loop, [&] { return server.requests().size() >= 3; }));
  CHECK(says(server.requests()[2].target, "resourceVersion=11&"));
}

TEST_CASE("objects of a list that begins again are dropped") {
  Watching test({answers(200, list("10", pod("a", 3), "more")), answers(410, "{}"),
                 answers(200, list("20", pod("b", 15))), streams("")});
  REQUIRE(test.until(1));
  CHECK(test.heard.lines[0] == "listed b");
}

TEST_CASE("an object that is too large is left out and named once, and all others are kept") {
  Watching test({answers(200, list("10", pod("a", 3) + ',' + large_pod("c", 4, 64 * kMiB) + ',' +
                                             large_pod("b", 5, 3 * kMiB) + ',' + pod("d", 6))),
                 streams(event("MODIFIED", large_pod("c", 12, 5 * kMiB)) + event("ADDED", pod("e", 13)) +
                         event("MODIFIED", large_pod("b", 14, 5 * kMiB)) +
                         event("DELETED", large_pod("b", 15, 5 * kMiB)) + event("ADDED", pod("f", 16)))});
  REQUIRE(run_until(
      test.test.loop, [&] { return test.heard.lines.size() >= 6; }, 60s));
  CHECK(test.heard.lines ==
        std::vector<std::string>{"listed a b d", "gone c", "changed e", "gone b", "gone b", "changed f"});
  CHECK(test.heard.error.empty());
  CHECK(test.server.requests().size() == 2);
  const auto warnings = test.test.logged("object of the API server left out");
  REQUIRE(warnings.size() == 2);
  CHECK(says(warnings[0], R"("object":"ns/c")"));
  CHECK(says(warnings[0], "make it smaller, or delete it"));
  CHECK(says(warnings[0], "it has more than 4194304 bytes"));
  CHECK(says(warnings[1], R"("object":"ns/b")"));
}

TEST_CASE("an object with texts of megabytes is read like any other") {
  std::string escaped;
  for (std::size_t i = 0; i < kMiB; ++i) escaped += "\\u003c";
  const std::string fat =
      R"({"metadata":{"name":"a","resourceVersion":"3"},"spec":{"args":[")" + escaped + "\"]}}";
  Watching test({answers(200, list("10", fat + ',' + pod("b", 4))),
                 streams(event("MODIFIED", fat) + event("ADDED", pod("c", 12)))});
  REQUIRE(run_until(
      test.test.loop, [&] { return test.heard.lines.size() >= 3; }, 60s));
  CHECK(test.heard.lines == std::vector<std::string>{"listed a b", "changed a", "changed c"});
  CHECK(test.test.logged("left out").empty());
}

TEST_CASE("unreadable objects are left out, and the others of their list are kept") {
  Watching test({answers(200, list("10", R"({"metadata":{"name":"deep","resourceVersion":"3"},"a":)" +
                                             std::string(100, '[') + std::string(100, ']') + "}," +
                                             "{\"metadata\":{\"name\":\"bytes\"},\"a\":\"\xff\"},"
                                             R"({"metadata":{"name":"broken"]},7,null,{},)" +
                                             pod("a", 4))),
                 streams("")});
  REQUIRE(test.until(1));
  CHECK(test.heard.lines[0] == "listed    a");
  CHECK(test.test.logged(R"("object":"deep")").size() == 1);
  CHECK(test.test.logged(R"("object":"bytes")").size() == 1);
  CHECK(test.test.logged(R"("object":"broken")").size() == 1);
  Watching nameless({answers(200, list("10", R"({"spec":[)" + numbers(5 * kMiB) +
                                                 R"(],"metadata":{"name":"b"}},)" + pod("a", 4))),
                     streams("")});
  REQUIRE(nameless.until(1));
  CHECK(nameless.heard.lines[0] == "listed a");
  CHECK(nameless.test.logged("its beginning has no name").size() == 1);
}

TEST_CASE(
    "events are reported in order, also if workers parse them, and after a break the watch continues from "
    "the last") {
  std::string events;
  std::vector<std::string> wanted{"listed"};
  for (unsigned i = 0; i < 40; ++i) {
    const std::string name = std::to_string(i);
    events += event("ADDED", i % 4 == 0 ? large_pod(name, 11 + i, 100'000) : pod(name, 11 + i));
    wanted.push_back("changed " + name);
  }
  Watching test({answers(200, list("10", "")), cuts(events), streams(event("ADDED", pod("40", 51)))});
  wanted.emplace_back("changed 40");
  REQUIRE(test.until(wanted.size()));
  CHECK(test.heard.lines == wanted);
  CHECK(says(test.server.requests()[2].target, "resourceVersion=50&"));
}

TEST_CASE("a list uses a limited amount of memory, and objects beyond it are left out and logged") {
  std::string annotations;
  for (int i = 0; i < 50; ++i)
    annotations += (i ? ",\"" : "\"") + std::to_string(i) + "\":\"" + std::string(1000, 'x') + '"';
  std::string items;
  for (int i = 0; i < 400; ++i)
    items += (i ? "," : "") + std::string(R"({"metadata":{"name":")") + std::to_string(i) +
             R"(","annotations":{)" + annotations + "}}}";
  ClientOfTest test;
  FakeApiServer server(script({answers(200, list("10", items)), streams("")}));
  test.kubeconfig(server.url());
  test.start();
  Heard heard;
  const ApiWatch watch(*test.client,
                       {.path = "/api/v1/pods", .selector = "", .fields = {"metadata.annotations"}}, heard);
  REQUIRE(run_until(
      test.loop, [&] { return heard.listed > 0; }, 60s));
  const std::size_t listed = heard.listed;
  CHECK(listed * 50'000 <= ApiWatch::kMostKept);
  CHECK((listed + 1) * 60'000 > ApiWatch::kMostKept);
  const auto warnings = test.logged("object of the API server left out");
  REQUIRE(!warnings.empty());
  CHECK(warnings.size() <= ApiWatch::kMostNamed);
  CHECK(says(warnings[0], "\"object\":\"" + std::to_string(listed) + '"'));
  CHECK(says(warnings[0], "the objects before it take 16777216 bytes"));
}

TEST_CASE("an object whose kept part needs too much memory is left out") {
  std::string annotations = R"("x":"")";
  for (int i = 0; i < 1000; ++i) annotations += ",\"" + std::to_string(i) + "\":\"\"";
  const std::string many = R"({"metadata":{"name":"many","annotations":{)" + annotations + "}}}";
  ClientOfTest test;
  FakeApiServer server(script({answers(200, list("10", many + ',' + pod("a", 4))), streams("")}));
  test.kubeconfig(server.url());
  test.start();
  Heard heard;
  const ApiWatch watch(*test.client,
                       {.path = "/api/v1/pods", .selector = "", .fields = {"metadata.annotations"}}, heard);
  REQUIRE(run_until(test.loop, [&] { return !heard.lines.empty(); }));
  CHECK(heard.lines[0] == "listed a");
  CHECK(test.logged(R"("object":"many")").size() == 1);
}

TEST_CASE("a list with endless pages is an error, and nothing is reported") {
  Watching test({answers(200, list("10", pod("a", 3), "more"))});
  REQUIRE(run_until(
      test.test.loop, [&] { return !test.heard.error.empty(); }, 60s));
  CHECK(says(test.heard.error, "the list of /api/v1/pods has more than 1000 pages"));
  CHECK(test.heard.lines.empty());
}

TEST_CASE(
    "a list may have its metadata at the end, and is an error if the metadata is too long or the list is cut "
    "off") {
  Watching test({answers(200, R"({"items":[)" + pod("a", 3) + R"(],"metadata":{"resourceVersion":"10"}})"),
                 streams("")});
  REQUIRE(test.until(1));
  CHECK(test.heard.lines[0] == "listed a");
  Watching other({answers(200, R"({"metadata":{"resourceVersion":"10","x":")" + std::string(100'000, 'x') +
                                   R"("},"items":[]})")});
  REQUIRE(run_until(other.test.loop, [&] { return !other.heard.error.empty(); }));
  CHECK(says(other.heard.error, "the list cannot be read: it has more than 65536 bytes beside its items"));
  Watching cut({answers(200, R"({"metadata":{"resourceVersion":"10"},"items":[)" + pod("a", 3))});
  REQUIRE(run_until(cut.test.loop, [&] { return !cut.heard.error.empty(); }));
  CHECK(says(cut.heard.error, "the list cannot be read: this is no JSON"));
  CHECK(cut.heard.lines.empty());
}

TEST_CASE("while all workers are busy, a list's server has to wait, and other requests are answered") {
  ClientOfTest test;
  std::atomic<std::size_t> sent = 0;
  std::promise<void> freed;
  const std::shared_future<void> free = freed.get_future().share();
  constexpr std::size_t kParts = 32;
  FakeApiServer server([&](const FakeRequest& request, FakeConnection& out) {
    if (request.target == "/ping") return out.answer(200, "{}");
    if (is_watch(request)) return streams("")(request, out);
    out.begin();
    out.chunk(R"({"metadata":{"resourceVersion":"10"},"items":[)" + pod("a", 3));
    const std::string part = ',' + large_pod("b", 4, kMiB / 2);
    for (std::size_t i = 0; i < kParts && out.chunk(part); ++i) ++sent;
    out.chunk("]}");
    out.end();
  });
  test.kubeconfig(server.url());
  test.start();
  CHECK(test.get("/ping").ok());  // so that the credentials are loaded already
  for (int i = 0; i < 2; ++i) test.workers.run([free] { free.wait(); }, [] {}, 60s, [] {});
  Heard heard;
  const ApiWatch watch(*test.client, {.path = "/api/v1/pods"}, heard);
  REQUIRE(run_until(test.loop, [&] { return sent > 0; }));
  for (int i = 0; i < 100; ++i) CHECK(test.get("/ping").ok());
  CHECK(sent < kParts);
  freed.set_value();
  REQUIRE(run_until(
      test.loop, [&] { return !heard.lines.empty(); }, 60s));
  CHECK(sent == kParts);
  CHECK(std::ranges::count(heard.lines[0], 'b') == kParts);
}

TEST_CASE("a watch that is destroyed while a worker parses its list reports nothing") {
  ClientOfTest test;
  FakeApiServer server([](const FakeRequest& request, FakeConnection& out) {
    out.answer(200, request.target == "/ping" ? "{}" : list("10", large_pod("a", 3, kMiB)));
  });
  test.kubeconfig(server.url());
  test.start();
  CHECK(test.get("/ping").ok());  // so that the credentials are loaded already
  std::promise<void> freed;
  const std::shared_future<void> free = freed.get_future().share();
  for (int i = 0; i < 2; ++i) test.workers.run([free] { free.wait(); }, [] {}, 60s, [] {});
  Heard heard;
  auto watch = std::make_unique<ApiWatch>(*test.client, ApiCollection{.path = "/api/v1/pods"}, heard);
  REQUIRE(run_until(test.loop, [&] { return server.requests().size() == 2; }));
  CHECK(test.get("/ping").ok());
  watch.reset();
  freed.set_value();
  bool done = false;
  test.workers.run([] {}, [&] { done = true; }, 60s, [] {});
  CHECK(run_until(test.loop, [&] { return done; }));
  CHECK(heard.lines.empty());
}

TEST_CASE("a watch may be ended by each of its hooks") {
  for (const std::string at : {"listed", "changed", "gone", "trouble"}) {
    CAPTURE(at);
    ClientOfTest test;
    FakeApiServer server(script({answers(at == "trouble" ? 500 : 200, list("10", "")),
                                 streams(event("ADDED", pod("a", 11)) + event("DELETED", pod("a", 12)) +
                                         event("ADDED", pod("b", 13)))}));
    test.kubeconfig(server.url());
    test.start();
    std::optional<ApiWatch> watch;
    struct Ending final : ApiWatch::Owner {
      std::optional<ApiWatch>& watch;
      const std::string at;
      std::string last = {};  // the last call

      Ending(std::optional<ApiWatch>& its_watch, std::string end) : watch(its_watch), at(std::move(end)) {}
      void called(const std::string& what) {
        last = what;
        if (what == at) watch.reset();
      }
      void on_list(std::vector<Json> /*objects*/) override { called("listed"); }
      void on_change(Json /*object*/) override { called("changed"); }
      void on_gone(Json /*object*/) override { called("gone"); }
      void on_error(const std::string& /*sentence*/) override { called("trouble"); }
    } ending(watch, at);
    watch.emplace(*test.client, ApiCollection{.path = "/api/v1/pods"}, ending);
    REQUIRE(run_until(test.loop, [&] { return !watch; }));
    test::run_once(test.loop);
    CHECK(ending.last == at);
    CHECK(test.client->state().watches.empty());
  }
}

TEST_CASE("a thousand pods are listed and watched, and other requests are answered meanwhile") {
  constexpr unsigned kPods = 1000;
  const std::string bulk(4000, 'x');
  const auto big_pod = [&](unsigned i, unsigned version) {
    return R"({"metadata":{"name":"pod-)" + std::to_string(i) + R"(","resourceVersion":")" +
           std::to_string(version) + R"(","managedFields":[{"f:x":{"f:y":{}}}]},"spec":{"x":")" + bulk +
           "\"}}";
  };
  const auto page = [&](unsigned from, const std::string& more) {
    std::string items;
    for (unsigned i = from; i < from + kPods / 2; ++i) items += (i == from ? "" : ",") + big_pod(i, i + 1);
    return list("5000", items, more);
  };
  std::string events;
  for (unsigned i = 0; i < kPods; ++i) events += event("MODIFIED", big_pod(i, 6000 + i));
  ClientOfTest test;
  FakeApiServer server([&](const FakeRequest& request, FakeConnection& out) {
    if (request.target == "/ping") return out.answer(200, "{}");
    if (is_watch(request)) return streams(events)(request, out);
    out.answer(200, says(request.target, "continue=") ? page(kPods / 2, "") : page(0, "more"));
  });
  test.kubeconfig(server.url());
  test.start();
  Heard heard;
  std::optional<ApiWatch> watch;
  watch.emplace(*test.client, ApiCollection{.path = "/api/v1/pods"}, heard);
  CHECK(test.get("/ping").ok());
  REQUIRE(run_until(
      test.loop, [&] { return heard.changed == kPods; }, 60s));
  CHECK(heard.listed == kPods);
  CHECK(test.client->state().watches[0].objects == kPods);
  CHECK(test.get("/ping").ok());
}
