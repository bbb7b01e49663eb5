#include "daemon/telemetry/http_server.hpp"

#include <doctest/doctest.h>

#include "integration/eventually.hpp"
#include "unit/daemon/telemetry/served.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kHealth = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";

struct Serving {
  explicit Serving(const std::string& address = "127.0.0.1:0", DaemonStatus status = {}) {
    daemon.status = std::move(status);
    daemon.start();
    server = std::make_unique<HttpServer>(daemon.loop, daemon.log, daemon.requests,
                                          HttpServer::on_address(address));
    port = server->port();
  }

  AskedDaemon daemon;
  std::unique_ptr<HttpServer> server;
  unsigned port = 0;
};

// A status whose text exceeds the buffers of a connection that is not read.
DaemonStatus big_status() {
  DaemonStatus status;
  status.version = std::string(kSanitized ? 2'000'000 : 6'000'000, 'x');
  return status;
}

std::unique_ptr<Client> watching(unsigned port) {
  auto page = std::make_unique<Client>(port);
  page->send("GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
  return page;
}

}  // namespace

TEST_CASE("200 connections without a complete request do not delay other requests") {
  Serving serving;
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 200; ++i) {
    clients.push_back(std::make_unique<Client>(serving.port));
    if (i % 2 == 0) clients.back()->send("GET /healthz HTT");
  }
  for (const char* path : {"/healthz", "/metrics", "/status.json"}) {
    const auto begin = Clock::now();
    CHECK(code_of(asked(serving.port, path)) == 200);
    CHECK(Clock::now() - begin < 2s);  // an idle connection has 5 s
  }
}

TEST_CASE("a connection without a complete request is dropped after 5 s, even if it sends all the time") {
  Serving serving;
  Client idle(serving.port);
  Client dripping(serving.port);
  const auto begin = Clock::now();
  const std::string head = "GET / HTTP/1.1\r\nX: ";
  std::size_t sent = 0;
  CHECK_FALSE(idle.ended(3s));
  while (sent < 1000 && !dripping.ended(100ms))
    dripping.send(sent < head.size() ? head.substr(sent++, 1) : "x");
  CHECK(Clock::now() - begin < 15s);
  CHECK(idle.ended());
}

TEST_CASE("a too long head or body is refused, and the refusal arrives") {
  const Serving serving;
  Client head(serving.port);
  head.send("GET / HTTP/1.1\r\nX: " + std::string(20'000, 'x'));
  CHECK(code_of(head.read_until("").value_or("")) == 431);
  Client body(serving.port);
  body.send("POST / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n" + std::string(10'000, 'x'));
  CHECK(code_of(body.read_until("").value_or("")) == 413);
  Client short_body(serving.port);
  short_body.send("POST / HTTP/1.1\r\nContent-Length: 60000\r\n\r\n" + std::string(60'000, 'x'));
  CHECK(code_of(short_body.read_until("").value_or("")) == 405);
  Client garbage(serving.port);
  garbage.send("\x16\x03\x01 what is this\r\n\r\n");
  CHECK(code_of(garbage.read_until("").value_or("")) == 400);
}

TEST_CASE("/healthz responds although the kubelet is silent, and /status.json waits for the kubelet") {
  Serving serving;
  serving.daemon.silent = true;
  Client status(serving.port);
  status.send("GET /status.json HTTP/1.1\r\n\r\n");
  while (serving.daemon.asked == 0) std::this_thread::yield();
  CHECK(body_of(asked(serving.port, "/healthz")) == "alive\n");
  CHECK(serving.daemon.asked == 1);  // /healthz does not query the status
  for (const char* path : {"/readyz", "/metrics"}) CHECK(code_of(asked(serving.port, path)) != 0);
  CHECK(serving.daemon.asked == 3);
  CHECK(code_of(status.read_until("").value_or("")) == 503);  // after 5 s
}

TEST_CASE("/healthz reports a busy loop as alive, and no request waits for the loop") {
  Serving serving;
  {
    const BusyLoop busy(serving.daemon.loop);
    const auto begin = Clock::now();
    CHECK(asked(serving.port, "/healthz").ends_with("\r\n\r\nalive, and busy\n"));
    CHECK(asked(serving.port, "/healthz").ends_with("\r\n\r\nalive, and busy\n"));
    CHECK(Clock::now() - begin < 2s);
    CHECK(code_of(asked(serving.port, "/")) == 200);
  }
  CHECK(body_of(asked(serving.port, "/healthz")) == "alive\n");
}

TEST_CASE(
    "/healthz reports a loop that has been silent for too long as failed, until the loop responds again") {
  Serving serving;
  {
    const BusyLoop busy(serving.daemon.loop);
    std::string reply;
    const auto begin = Clock::now();
    do {
      reply = asked(serving.port, "/healthz");
    } while (code_of(reply) == 200 && Clock::now() - begin < 20s);
    CHECK(code_of(reply) == 503);
    CHECK(Clock::now() - begin >= Pulse::kSilence);
    CHECK(body_of(reply) == "plughost's loop does not respond: see its log\n");
  }
  CHECK(body_of(asked(serving.port, "/healthz")) == "alive\n");
}

TEST_CASE("the end of the server waits for no connection, and requests that still wait receive an error") {
  Serving serving;
  serving.daemon.silent = true;
  Client idle(serving.port);
  Client waiting(serving.port);
  waiting.send("GET /status.json HTTP/1.1\r\n\r\n");
  while (serving.daemon.asked == 0) std::this_thread::yield();
  const auto page = watching(serving.port);
  REQUIRE(page->read_until("retry: "));
  const auto begin = Clock::now();
  serving.server.reset();
  CHECK(Clock::now() - begin < 1s);  // CivetWeb, the former server, took 2 s
  CHECK(idle.ended());
  CHECK(page->read_until("").has_value());
  CHECK(code_of(waiting.read_until("").value_or("")) == 503);
  CHECK_THROWS_AS(Client(serving.port), std::system_error);
}

TEST_CASE("a connection beyond 64 closes the oldest connection without a request") {
  Serving serving;
  std::vector<std::unique_ptr<Client>> clients;
  for (unsigned i = 0; i < HttpServer::kMostConnections; ++i)
    clients.push_back(std::make_unique<Client>(serving.port));
  CHECK_FALSE(clients.front()->ended(300ms));
  clients.push_back(std::make_unique<Client>(serving.port));
  CHECK(clients.front()->ended(3s));
  CHECK_FALSE(clients[1]->ended(0ms));
  CHECK(clients.back()->send(kHealth));
  CHECK(code_of(clients.back()->read_until("").value_or("")) == 200);
}

TEST_CASE("new connections do not close a watching page, but close the oldest waiting connection") {
  Serving serving;
  serving.daemon.silent = true;
  const auto page = watching(serving.port);
  REQUIRE(page->read_until("retry: "));
  std::vector<std::unique_ptr<Client>> clients;
  for (unsigned i = 1; i < HttpServer::kMostConnections; ++i) {
    clients.push_back(std::make_unique<Client>(serving.port));
    clients.back()->send("GET /status.json HTTP/1.1\r\n\r\n");
  }
  serving.daemon.log.info("all have asked");
  REQUIRE(page->read_until("all have asked"));
  CHECK(code_of(asked(serving.port, "/healthz")) == 200);
  CHECK(clients.front()->ended(1s));
  serving.daemon.log.info("something happens");
  CHECK(page->read_until("something happens"));
}

TEST_CASE("a response that the client reads slowly arrives completely") {
  Serving serving("127.0.0.1:0", big_status());
  Client client(serving.port, Client::Room::kLittle);
  client.send("GET /status.json HTTP/1.1\r\n\r\n");
  REQUIRE(client.read_until("Content-Length: "));
  CHECK(code_of(asked(serving.port, "/healthz")) == 200);
  const std::string reply = client.read_until("").value_or("");
  const std::size_t at = reply.find("Content-Length: ") + 16;
  CHECK(body_of(reply).size() == std::stoul(reply.substr(at)));
  CHECK(body_of(reply).size() > 2'000'000);
}

TEST_CASE("a client that ends its sending half is answered, and a response to HEAD has no body") {
  const Serving serving;
  Client client(serving.port);
  client.send("GET /status.json HTTP/1.1\r\n\r\n");
  client.end_sending();
  CHECK(code_of(client.read_until("").value_or("")) == 200);
  const std::string head = asked(serving.port, "/status.json", "HEAD");
  CHECK(code_of(head) == 200);
  CHECK(head.find("Content-Length: 0") == std::string::npos);
  CHECK(body_of(head).empty());
  CHECK(body_of(asked(serving.port, "/stream", "HEAD")).empty());
}

TEST_CASE("a page that reads slowly receives an event later if it has no room at first") {
  Serving serving("127.0.0.1:0", big_status());
  Client page(serving.port, Client::Room::kLittle);
  page.send("GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
  REQUIRE(page.read_until("event: status"));
  serving.daemon.log.info("something happens meanwhile");
  CHECK(code_of(asked(serving.port, "/healthz")) == 200);  // the page had no room yet
  CHECK(page.read_until("something happens meanwhile", 10s));
}

TEST_CASE("sixteen pages may watch at once, and a page that ends makes room immediately") {
  Serving serving;
  std::vector<std::unique_ptr<Client>> pages;
  for (unsigned i = 0; i < HttpServer::kMostStreams; ++i) {
    pages.push_back(watching(serving.port));
    REQUIRE(pages.back()->read_until("retry: "));
  }
  CHECK(code_of(asked(serving.port, "/stream")) == 503);
  pages.pop_back();
  const auto begin = Clock::now();
  bool room = false;
  while (!room && Clock::now() - begin < 10s) {  // no event occurs meanwhile
    const auto next = watching(serving.port);
    room = next->read_until("retry: ", 1s).has_value();
  }
  CHECK(room);
}

TEST_CASE("a port in use is refused with the reason") {
  const Serving serving;
  CHECK_THROWS_WITH_AS(
      HttpServer::on_address("127.0.0.1:" + std::to_string(serving.port)),
      ("cannot listen on 127.0.0.1:" + std::to_string(serving.port) + ": Address already in use").c_str(),
      std::runtime_error);
}
