#include "telemetry/servers.hpp"

#include <doctest/doctest.h>

#include "kubelet/unix_socket.hpp"
#include "telemetry/control_client.hpp"
#include "unit/telemetry/served.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;

// Servers are the loop's.
struct Running {
  Running() {
    daemon.start();
    daemon.in_loop([this] {
      servers.emplace(daemon.loop, daemon.log, daemon.requests);
      troubles = servers->open(config("first.sock", "127.0.0.1:0"));
    });
  }
  ~Running() {
    daemon.in_loop([this] {
      daemon.requests.close();
      servers.reset();
    });
    daemon.stop();
  }

  TelemetryConfig config(const std::string& socket, const std::string& listen) const {
    return {.listen = listen,
            .control = dir.path() / socket,
            .listen_where = "config.yaml:1:9",
            .control_where = "config.yaml:2:10"};
  }
  // Why not; empty: it has moved.
  std::string move(const TelemetryConfig& to) {
    std::string why;
    daemon.in_loop([&] {
      try {
        Servers::Opened opened = servers->prepare(to);
        troubles = servers->take(std::move(opened));
      } catch (const std::runtime_error& error) {
        why = error.what();
      }
    });
    return why;
  }
  void end_former() {
    daemon.in_loop([this] { servers->end_former(); });
  }
  // Where the page is, as the log says.
  unsigned port() {
    unsigned newest = 0;
    std::uint64_t told = 0;
    while (const auto record = daemon.log.history().after(told)) {
      told = record->number;
      if (record->words != "listening") continue;
      for (const auto& [key, value] : record->fields) {
        if (key == "port") newest = static_cast<unsigned>(std::stoul(value));
      }
    }
    return newest;
  }
  bool answers(const std::string& socket) const {
    try {
      ControlClient(dir.path() / socket).status();
      return true;
    } catch (const NoAnswer&) {
      return false;
    }
  }

  TempDir dir;
  AskedDaemon daemon;
  std::optional<Servers> servers;
  std::vector<std::string> troubles;
};

}  // namespace

TEST_CASE("a new address and a new socket are open before the former ones end") {
  Running running;
  const unsigned first = running.port();
  ControlClient of_first(running.dir.path() / "first.sock");
  const TcpClient waiting(first);
  REQUIRE(running.answers("first.sock"));
  REQUIRE(running.move(running.config("second.sock", "127.0.0.2:0")).empty());
  CHECK(running.troubles.empty());
  CHECK(running.port() != first);
  CHECK(running.answers("second.sock"));
  CHECK_FALSE(std::filesystem::exists(running.dir.path() / "first.sock"));
  // Who was connected is answered, until all are.
  CHECK_NOTHROW(of_first.status());
  CHECK(waiting.send("GET /healthz HTTP/1.1\r\n\r\n"));
  running.end_former();
  CHECK_THROWS_AS(
      [&] {
        for (;;) of_first.status();
      }(),
      NoAnswer);
}

TEST_CASE("a port that is taken: nothing has moved, and the place in the configuration is named") {
  Running running;
  const Running other;
  const unsigned first = running.port();
  const std::string taken = "127.0.0.1:" + std::to_string(const_cast<Running&>(other).port());
  CHECK(running.move(running.config("second.sock", taken)) ==
        "config.yaml:1:9: listen: cannot listen on " + taken + ": Address already in use");
  CHECK(running.port() == first);
  CHECK(code_of(asked(first, "/healthz")) == 200);
  CHECK(running.answers("first.sock"));
  CHECK_FALSE(std::filesystem::exists(running.dir.path() / "second.sock"));
}

TEST_CASE("a path that is taken: nothing has moved, and the place in the configuration is named") {
  Running running;
  running.dir.file("precious");
  const unsigned first = running.port();
  const std::string why = running.move(running.config("precious", "127.0.0.2:0"));
  CHECK(why.starts_with("config.yaml:2:10: control: " + (running.dir.path() / "precious").string() +
                        " is a regular file"));
  CHECK(running.port() == first);
  CHECK(code_of(asked(first, "/healthz")) == 200);
  CHECK(running.answers("first.sock"));
  CHECK(std::filesystem::is_regular_file(running.dir.path() / "precious"));
}

TEST_CASE("the same port on other addresses is a move like any other, there and back") {
  Running running;
  const std::string port = std::to_string(running.port());
  for (const char* host : {"0.0.0.0:", "[::]:", "127.0.0.1:"}) {
    CAPTURE(host);
    CHECK(running.move(running.config("first.sock", host + port)).empty());
    running.end_former();
    CHECK(std::to_string(running.port()) == port);
    bool answered = false;
    for (const auto begin = Clock::now(); !answered && Clock::now() - begin < 10s;) {
      try {
        answered = code_of(asked(running.port(), "/healthz")) == 200;
      } catch (const std::system_error&) {  // the former one is closing
      }
    }
    CHECK(answered);
  }
}

TEST_CASE("without an address the page goes, and with one it comes") {
  Running running;
  const unsigned first = running.port();
  CHECK(running.move(running.config("first.sock", "")).empty());
  running.end_former();
  bool gone = false;
  for (const auto begin = Clock::now(); !gone && Clock::now() - begin < 10s;) {
    try {
      asked(first, "/healthz");
    } catch (const std::system_error&) {
      gone = true;
    }
  }
  CHECK(gone);
  CHECK(running.answers("first.sock"));
  CHECK(running.move(running.config("first.sock", "127.0.0.1:0")).empty());
  CHECK(code_of(asked(running.port(), "/healthz")) == 200);
}

TEST_CASE("what could not be opened costs no reload that does not name another, and is tried again by it") {
  AskedDaemon daemon;
  const TempDir dir;
  dir.file("precious");
  const TelemetryConfig config{
      .listen = "", .control = dir.path() / "precious", .listen_where = {}, .control_where = {}};
  Servers servers(daemon.loop, daemon.log, daemon.requests);
  CHECK(servers.open(config).size() == 1);
  CHECK(servers.take(servers.prepare(config)).size() == 1);
  dir.remove("precious");
  CHECK(servers.take(servers.prepare(config)).empty());
  CHECK_NOTHROW(connect_unix(config.control));
  daemon.requests.close();
}

TEST_CASE("a call that nobody answers does not keep a server that has moved") {
  Running running;
  running.daemon.silent = true;
  std::string why;
  std::thread caller([&] {
    try {
      ControlClient(running.dir.path() / "first.sock").status();
    } catch (const NoAnswer& error) {
      why = error.what();
    }
  });
  while (running.daemon.asked == 0) std::this_thread::yield();
  CHECK(running.move(running.config("second.sock", "")).empty());
  const auto begin = Clock::now();
  running.end_former();
  caller.join();
  CHECK(Clock::now() - begin < 5s);
  CHECK(why.find("plughost is stopping, or listens elsewhere now") != std::string::npos);
}

TEST_CASE("the loop does not wait for a server's end, for which those who follow are given 200 ms") {
  Running running;
  running.daemon.log.info("something happens");
  auto quickest = Clock::duration::max();
  for (const auto& [from, to] :
       {std::pair("first.sock", "second.sock"), std::pair("second.sock", "first.sock"),
        std::pair("first.sock", "second.sock")}) {
    std::atomic<bool> follows = false;
    std::thread follower([&, socket = running.dir.path() / from] {
      try {
        ControlClient(socket).events(1, ControlClient::Follow::kYes,
                                     [&](const Json&) { return follows = true; });
      } catch (const NoAnswer&) {
      }
    });
    while (!follows) std::this_thread::yield();
    CHECK(running.move(running.config(to, "127.0.0.1:0")).empty());
    const auto begin = Clock::now();
    running.end_former();
    quickest = std::min(quickest, Clock::now() - begin);
    follower.join();
  }
  CHECK(quickest < 150ms);
}

TEST_CASE("a control server ends although calls come all the time that nobody answers") {
  for (int i = 0; i < 10; ++i) {
    AskedDaemon daemon;
    daemon.silent = true;
    const TempDir dir;
    const auto socket = dir.path() / "s";
    auto server = std::make_unique<ControlServer>(daemon.loop, daemon.log, daemon.requests, socket);
    daemon.start();
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 4; ++caller) {
      callers.emplace_back([&] {
        try {
          for (ControlClient client(socket);;) client.status();
        } catch (const NoAnswer&) {
        }
      });
    }
    while (daemon.asked == 0) std::this_thread::yield();
    daemon.in_loop([&] { server->stop_listening(); });
    server.reset();
    for (std::thread& caller : callers) caller.join();
  }
}

TEST_CASE("33 who ask at once are one too many, and so are 33 reloads; each is told so, or answered") {
  for (const bool reload : {false, true}) {
    CAPTURE(reload);
    AskedDaemon daemon;
    daemon.silent = true;
    const TempDir dir;
    auto server = std::make_unique<ControlServer>(daemon.loop, daemon.log, daemon.requests, dir.path() / "s");
    daemon.start();
    const auto ask = [&] {
      ControlClient client(dir.path() / "s");
      return reload ? client.reload("") : client.status();
    };
    std::atomic<unsigned> refused = 0;
    std::atomic<unsigned> ended = 0;
    std::vector<std::thread> callers;
    for (unsigned i = 0; i < ControlServer::kMostCalls + 1; ++i) {
      callers.emplace_back([&] {
        try {
          ask();
        } catch (const NoAnswer& error) {
          const std::string what = reload ? "32 reloads" : "32 questions for the status";
          if (std::string(error.what()).find(what + " wait for an answer already: try again") !=
              std::string::npos)
            ++refused;
        }
        ++ended;
      });
    }
    while (ended == 0) std::this_thread::yield();
    CHECK(refused == 1);
    // The other kind has places of its own: its call waits, and is not refused.
    const unsigned reloads = daemon.reloads;
    const unsigned statuses = daemon.asked;
    std::thread other([&] {
      try {
        ControlClient client(dir.path() / "s");
        reload ? client.status() : client.reload("");
      } catch (const NoAnswer&) {
      }
    });
    while (daemon.reloads == reloads && daemon.asked == statuses) std::this_thread::yield();
    daemon.in_loop([&] { server->stop_listening(); });
    server.reset();  // who waits is told so
    callers.push_back(std::move(other));
    for (std::thread& caller : callers) caller.join();
    CHECK(ended == ControlServer::kMostCalls + 1);
  }
}

TEST_CASE("those who have been answered leave their places to others") {
  AskedDaemon daemon;
  const TempDir dir;
  ControlServer server(daemon.loop, daemon.log, daemon.requests, dir.path() / "s");
  daemon.start();
  ControlClient client(dir.path() / "s");
  for (unsigned i = 0; i < 3 * ControlServer::kMostCalls; ++i) {
    CHECK_NOTHROW(client.status());
    CHECK_NOTHROW(client.reload(""));
  }
  daemon.in_loop([&] { server.stop_listening(); });
  daemon.stop();
}

TEST_CASE("16 may follow, one more is told so, and one that ends leaves its place") {
  AskedDaemon daemon;
  const TempDir dir;
  auto server = std::make_unique<ControlServer>(daemon.loop, daemon.log, daemon.requests, dir.path() / "s");
  daemon.start();
  std::atomic<unsigned> following = 0;
  std::atomic<bool> one_ends = false;
  std::vector<std::thread> followers;
  const auto follow = [&](bool ends) {
    bool first = true;
    try {
      ControlClient(dir.path() / "s").events(1, ControlClient::Follow::kYes, [&](const Json&) {
        if (std::exchange(first, false)) ++following;
        return !(ends && one_ends);
      });
    } catch (const NoAnswer&) {
    }
  };
  daemon.log.info("something happens");
  for (unsigned i = 0; i < ControlServer::kMostStreams; ++i) followers.emplace_back(follow, i == 0);
  while (following < ControlServer::kMostStreams) std::this_thread::yield();
  CHECK_THROWS_WITH_AS(ControlClient(dir.path() / "s").watch_status([](const Json&) { return false; }),
                       doctest::Contains("16 callers follow the status or the events already"), NoAnswer);
  one_ends = true;
  daemon.log.info("something else happens");
  followers.front().join();
  bool room = false;
  for (const auto begin = Clock::now(); !room && Clock::now() - begin < 10s;) {
    try {
      ControlClient(dir.path() / "s").watch_status([](const Json&) { return false; });
      room = true;
    } catch (const NoAnswer&) {
    }
  }
  CHECK(room);
  daemon.in_loop([&] { server->stop_listening(); });
  server.reset();
  for (std::size_t i = 1; i < followers.size(); ++i) followers[i].join();
}

TEST_CASE(
    "64 connections to the control socket are the most, but root gets another one, and those that end make "
    "room") {
  AskedDaemon daemon;
  const TempDir dir;
  ControlServer server(daemon.loop, daemon.log, daemon.requests, dir.path() / "s");
  daemon.start();
  std::vector<UniqueFd> idle;
  for (unsigned i = 0; i < ControlServer::kMostConnections; ++i)
    idle.push_back(connect_unix(dir.path() / "s"));
  const auto warned = [&] { return daemon.log.warnings().count() == 1; };
  CHECK_FALSE(warned());
  ControlClient last(dir.path() / "s");
  if (::geteuid() == 0)
    CHECK_NOTHROW(last.status());
  else
    CHECK_THROWS_AS(last.status(), NoAnswer);
  CHECK(warned());
  idle.clear();
  bool room = false;
  for (const auto begin = Clock::now(); !room && Clock::now() - begin < 10s;) {
    try {
      ControlClient(dir.path() / "s").status();
      room = true;
    } catch (const NoAnswer&) {
    }
  }
  CHECK(room);
  CHECK(warned());
  daemon.in_loop([&] { server.stop_listening(); });
  daemon.stop();
}
