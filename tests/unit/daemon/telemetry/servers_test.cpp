#include "daemon/telemetry/servers.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system/unix_socket.hpp"
#include "daemon/telemetry/control_client.hpp"
#include "unit/daemon/telemetry/served.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;

// The telemetry servers of a daemon whose loop runs.
struct Running {
  Running() {
    daemon.start();
    daemon.in_loop([this] {
      servers.emplace(daemon.loop, daemon.log, daemon.requests);
      errors = servers->open(config("first.sock", "127.0.0.1:0"));
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
  // Moves the servers. Returns the error; empty if the servers have moved.
  std::string move(const TelemetryConfig& to) {
    std::string why;
    daemon.in_loop([&] {
      try {
        Servers::Opened opened = servers->prepare(to);
        errors = servers->use(std::move(opened));
      } catch (const std::runtime_error& exception) {
        why = exception.what();
      }
    });
    return why;
  }
  void end_former() {
    daemon.in_loop([this] { servers->end_former(); });
  }
  // Returns the page's newest port, which is read from the log.
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
  std::vector<std::string> errors;
};

// A control server without the other servers.
struct Controlled {
  explicit Controlled(const std::function<void(AskedDaemon&)>& prepare = [](AskedDaemon&) {}) {
    prepare(daemon);
    server = std::make_unique<ControlServer>(daemon.loop, daemon.log, daemon.requests, path);
    daemon.start();
  }
  ~Controlled() { end(); }
  void end() {
    if (!server) return;
    daemon.in_loop([this] { server->stop_listening(); });
    server.reset();
  }

  AskedDaemon daemon;
  TempDir dir;
  const std::filesystem::path path = dir.path() / "s";
  std::unique_ptr<ControlServer> server;
  const ControlClient client{path};
};

// Runs `act` as `user` in a child process, and returns its result.
int in_child_as(uid_t user, const std::function<int()>& act) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::setresuid(user, user, user) == 0 ? act() : 3);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 4;
}

}  // namespace

TEST_CASE("the servers at a new address and a new socket are open before the former servers end") {
  Running running;
  const unsigned first = running.port();
  Client of_first(running.dir.path() / "first.sock");
  const Client waiting(first);
  REQUIRE(running.answers("first.sock"));
  REQUIRE(running.move(running.config("second.sock", "127.0.0.2:0")).empty());
  CHECK(running.errors.empty());
  CHECK(running.port() != first);
  CHECK(running.answers("second.sock"));
  CHECK_FALSE(std::filesystem::exists(running.dir.path() / "first.sock"));
  // Clients of the former servers are answered as long as they are connected.
  CHECK(of_first.send("GET /status.json HTTP/1.1\r\n\r\n"));
  CHECK(code_of(of_first.read_until("").value_or("")) == 200);
  CHECK(waiting.send("GET /healthz HTTP/1.1\r\n\r\n"));
  running.end_former();
}

TEST_CASE("if the new port is in use, no server moves, and the error has the configuration's line") {
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

TEST_CASE("if the new socket's path is in use, no server moves, and the error has the configuration's line") {
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

TEST_CASE("a successor learns what it must know, and the end of its connection is reported once") {
  Inheritance told;
  told.resources = {{"a.b/c", "a.b/c"}};
  Controlled controlled(
      [&](AskedDaemon& daemon) { daemon.handed_over = told.json(Inheritance::Clock::now()); });
  {
    const Predecessor predecessor = controlled.client.begin_hand_over();
    CHECK(predecessor.inheritance == told);
    CHECK(controlled.daemon.successor == ::getpid());
    CHECK(predecessor.end()["resources"]["a.b/c"].text() == "a.b/c");
    CHECK(controlled.daemon.lost == 0);
  }
  CHECK(eventually([&] { return controlled.daemon.lost == 1; }));
  CHECK_NOTHROW(controlled.client.status());
  CHECK(controlled.daemon.lost == 1);
}

TEST_CASE("a successor that is refused learns why, and its connection counts for nothing") {
  Controlled controlled([](AskedDaemon& daemon) { daemon.handed_over = Json{{"error", "on trial"}}; });
  CHECK_THROWS_WITH(controlled.client.begin_hand_over(), "the running plughost does not hand over: on trial");
  CHECK(controlled.client.carry_out(HandOverOrder{})["error"].text() == "on trial");
  controlled.end();
  CHECK(controlled.daemon.lost == 0);
}

TEST_CASE("only the daemon's own user and root may replace it") {
  if (::geteuid() != 0) return;
  Controlled controlled;
  std::filesystem::permissions(controlled.dir.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(controlled.path, std::filesystem::perms(0666));
  const auto refused = [&](const std::function<void()>& request) {
    return in_child_as(65534, [&] {
      try {
        request();
      } catch (const std::runtime_error& error) {
        return std::string_view(error.what()).find("only root may replace") == std::string_view::npos ? 2 : 0;
      }
      return 1;
    });
  };
  CHECK(refused([&] { controlled.client.begin_hand_over(); }) == 0);
  CHECK(refused([&] { controlled.client.carry_out(HandOverOrder{HandOverStep::kUpgrade}); }) == 0);
  CHECK(refused([&] { controlled.client.carry_out(HandOverOrder{HandOverStep::kEnd}); }) == 0);
  CHECK(controlled.daemon.successor == 0);
}

TEST_CASE("servers that leave make room for those of another process, and answer who is connected") {
  Running running;
  const std::string address = "127.0.0.1:" + std::to_string(running.port());
  Client connected(running.dir.path() / "first.sock");
  REQUIRE(running.answers("first.sock"));
  running.daemon.in_loop([&] { running.servers->leave(); });
  CHECK_NOTHROW(HttpServer::on_address(address));
  CHECK_FALSE(std::filesystem::exists(running.dir.path() / "first.sock"));
  CHECK(connected.send("GET /status.json HTTP/1.1\r\n\r\n"));
  CHECK(code_of(connected.read_until("").value_or("")) == 200);
}

TEST_CASE("the page can move to a different address with the same port") {
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
      } catch (const std::system_error&) {  // the former server is closing
      }
    }
    CHECK(answered);
  }
}

TEST_CASE(
    "the page ends when its address is removed from the configuration, and returns with a new address") {
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

TEST_CASE(
    "if a server could not be opened, a reload with the same address succeeds, and tries to open it again") {
  AskedDaemon daemon;
  const TempDir dir;
  dir.file("precious");
  const TelemetryConfig config{
      .listen = "", .control = dir.path() / "precious", .listen_where = {}, .control_where = {}};
  Servers servers(daemon.loop, daemon.log, daemon.requests);
  CHECK(servers.open(config).size() == 1);
  CHECK(servers.use(servers.prepare(config)).size() == 1);
  dir.remove("precious");
  CHECK(servers.use(servers.prepare(config)).empty());
  CHECK_NOTHROW(connect_unix(config.control));
  daemon.requests.close();
}

TEST_CASE("an unanswered request does not keep the former server alive after a move") {
  Running running;
  running.daemon.silent = true;
  std::string why;
  std::thread caller([&] {
    try {
      ControlClient(running.dir.path() / "first.sock").status();
    } catch (const NoAnswer& exception) {
      why = exception.what();
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

TEST_CASE("clients that follow events stay with the former server until it ends, and do not delay the loop") {
  Running running;
  running.daemon.log.info("something happens");
  for (const auto& [from, to] :
       {std::pair("first.sock", "second.sock"), std::pair("second.sock", "first.sock"),
        std::pair("first.sock", "second.sock")}) {
    std::atomic<bool> follows = false;
    std::string why;
    std::thread follower([&, socket = running.dir.path() / from] {
      try {
        ControlClient(socket).events(1, ControlClient::Follow::kYes,
                                     [&](const Json&) { return follows = true; });
      } catch (const NoAnswer& exception) {
        why = exception.what();
      }
    });
    while (!follows) std::this_thread::yield();
    CHECK(running.move(running.config(to, "127.0.0.1:0")).empty());
    running.end_former();
    follower.join();
    CHECK(why == "plughost has stopped");
  }
}

TEST_CASE("a control server ends although requests arrive all the time and are not answered") {
  for (int i = 0; i < 10; ++i) {
    Controlled controlled;
    controlled.daemon.silent = true;
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 4; ++caller) {
      callers.emplace_back([&] {
        try {
          for (;;) controlled.client.status();
        } catch (const NoAnswer&) {
        }
      });
    }
    while (controlled.daemon.asked == 0) std::this_thread::yield();
    controlled.end();
    for (std::thread& caller : callers) caller.join();
  }
}

TEST_CASE("the server accepts orders by POST in the form that plughost's client sends") {
  Controlled controlled;
  const ReloadOrder reload{.level = LogLevel::kDebug, .confirm = 90s};
  CHECK(controlled.client.carry_out(reload)["errors"].array().empty());
  CHECK(controlled.daemon.reloaded == reload);
  const DrainOrder drain{.resource = "a.b/c",
                         .device = "d",
                         .terms = DrainOrder::Terms{.reason = "fan", .duration = std::nullopt}};
  CHECK(controlled.client.carry_out(drain)["error"].text().empty());
  CHECK(controlled.daemon.drained == drain);
  CHECK(controlled.client.carry_out(KeepOrder())["error"].text() == "nothing is on trial");
}

TEST_CASE(
    "the response codes of refused and invalid orders differ from that of an order that was carried out") {
  Controlled controlled;
  CHECK(code_of(asked(controlled.path, "/reload", "POST")) == 200);
  CHECK(code_of(asked(controlled.path, "/reload", "POST", "confirm: 5m")) == 200);
  CHECK(controlled.daemon.reloaded.confirm == 5min);
  const unsigned reloads = controlled.daemon.reloads;
  const std::string unknown = asked(controlled.path, "/reload", "POST", "level: debug");
  CHECK(code_of(unknown) == 400);
  CHECK(body_of(unknown).starts_with("/reload:1:1: "));
  CHECK(code_of(asked(controlled.path, "/reload")) == 404);
  CHECK(code_of(asked(controlled.path, "/restart", "POST")) == 404);
  CHECK(controlled.daemon.reloads == reloads);
  CHECK(code_of(asked(controlled.path, "/keep", "POST")) == 422);
  CHECK(code_of(asked(controlled.path, "/", "DELETE")) == 405);
  controlled.daemon.wrong = {"config.yaml:1:1: no"};
  const std::string refused = asked(controlled.path, "/reload", "POST");
  CHECK(code_of(refused) == 422);
  CHECK(Json::parse(body_of(refused))["errors"].array().front().text() == "config.yaml:1:1: no");
}

TEST_CASE("the control socket serves the page, the probes and the events, as a network address does") {
  Controlled controlled;
  for (const char* path : {"/", "/healthz", "/readyz", "/metrics", "/status.json", "/events.json"}) {
    CAPTURE(path);
    CHECK(code_of(asked(controlled.path, path)) == 200);
  }
}

TEST_CASE("a client receives the last N events, and new events if it follows them") {
  Controlled controlled;
  for (const char* words : {"one", "two", "three"}) controlled.daemon.log.info(words);
  const auto told = [&](unsigned limit) {
    std::string text;
    controlled.client.events(limit, ControlClient::Follow::kNo, [&](const Json& event) {
      text += event["message"].text() + ' ';
      return true;
    });
    return text;
  };
  CHECK(told(2) == "two three ");
  CHECK(told(0) == "one two three ");
  CHECK(told(1000) == "one two three ");
  std::string followed;
  controlled.client.events(2, ControlClient::Follow::kYes, [&](const Json& event) {
    followed += event["message"].text() + ' ';
    if (event["message"].text() == "three") controlled.daemon.log.info("four");
    return event["message"].text() != "four";
  });
  CHECK(followed == "two three four ");
}

TEST_CASE("a follower receives the whole status even if it is sent in many pieces") {
  Controlled controlled([](AskedDaemon& daemon) { daemon.status.version = std::string(3'000'000, 'x'); });
  std::size_t size = 0;
  controlled.client.watch_status([&](const Json& status) {
    size = status["version"].text().size();
    return false;
  });
  CHECK(size == 3'000'000);
}

TEST_CASE("16 clients may follow, the next one is refused, and a client that ends makes room") {
  Controlled controlled;
  std::atomic<unsigned> following = 0;
  std::atomic<bool> one_ends = false;
  std::vector<std::thread> followers;
  const auto follow = [&](bool ends) {
    bool first = true;
    try {
      controlled.client.events(1, ControlClient::Follow::kYes, [&](const Json&) {
        if (std::exchange(first, false)) ++following;
        return !(ends && one_ends);
      });
    } catch (const NoAnswer&) {
    }
  };
  const auto no = [](const Json&) { return false; };
  controlled.daemon.log.info("something happens");
  for (unsigned i = 0; i < HttpServer::kMostStreams; ++i) followers.emplace_back(follow, i == 0);
  while (following < HttpServer::kMostStreams) std::this_thread::yield();
  CHECK_THROWS_WITH_AS(controlled.client.watch_status(no),
                       doctest::Contains("16 follow the status or the events already"), NoAnswer);
  one_ends = true;
  controlled.daemon.log.info("something else happens");
  followers.front().join();
  bool room = false;
  for (const auto begin = Clock::now(); !room && Clock::now() - begin < 10s;) {
    try {
      controlled.client.watch_status(no);
      room = true;
    } catch (const NoAnswer&) {
    }
  }
  CHECK(room);
  controlled.end();
  for (std::size_t i = 1; i < followers.size(); ++i) followers[i].join();
}

TEST_CASE("64 idle connections do not prevent other clients' requests") {
  Controlled controlled;
  std::vector<UniqueFd> idle;
  for (unsigned i = 0; i < HttpServer::kMostConnections; ++i) idle.push_back(connect_unix(controlled.path));
  for (unsigned i = 0; i < HttpServer::kMostConnections; ++i) CHECK_NOTHROW(controlled.client.status());
}

// Needs root, to run a client as a user other than root.
TEST_CASE("a user other than root cannot drain a device, and that user's connections do not replace root's") {
  if (::geteuid() != 0) return;
  Controlled controlled;
  controlled.daemon.silent = true;
  REQUIRE(::chmod(controlled.path.c_str(), 0666) == 0);
  std::filesystem::permissions(controlled.dir.path(), std::filesystem::perms(0755));
  Client waiting(controlled.path);  // root's connection
  waiting.send("GET /status.json HTTP/1.1\r\n\r\n");
  while (controlled.daemon.asked == 0) std::this_thread::yield();
  const int ended = in_child_as(65534, [&] {
    const std::string drain = asked(controlled.path, "/drain", "POST", "{resource: a.b/c, device: d}");
    if (code_of(drain) != 403) return 1;
    std::vector<std::unique_ptr<Client>> others;
    for (unsigned i = 0; i < 2 * HttpServer::kMostConnections; ++i) {
      others.push_back(std::make_unique<Client>(controlled.path));
      others.back()->send("GET /status.json HTTP/1.1\r\n\r\n");
    }
    return code_of(asked(controlled.path, "/healthz")) == 200 ? 0 : 2;
  });
  CHECK(ended == 0);
  CHECK_FALSE(waiting.ended(0ms));
  CHECK(controlled.daemon.drained.device.empty());
}
