// Checks the daemon's start, end and messages to its service manager: cases 42 to 44 of the conformance list,
// and sd_notify(3).

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <csignal>

#include "integration/node.hpp"
#include "integration/resource_names.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

void start_with_both(Node& node) {
  node.files().file("gophers/one");
  node.configure(counted(kA, 4, "env: {IDS: \"{id}\"}") + listed(kGopher, node.path("gophers")));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({kA, kGopher}));
}

// The service manager's end of NOTIFY_SOCKET.
class ServiceManager {
 public:
  explicit ServiceManager(const std::filesystem::path& path)
      : fd_(check(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), "socket")) {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    path.string().copy(address.sun_path, sizeof address.sun_path - 1);
    check(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), "bind");
  }

  // Waits for the next message other than STATUS and WATCHDOG. Returns true if it begins with this text.
  bool next_is(const std::string& beginning) {
    std::string message;
    const bool came = eventually([&] {
      char buffer[1024];
      const ssize_t length = ::recv(fd_.get(), buffer, sizeof buffer, 0);
      if (length < 0) return false;
      message.assign(buffer, static_cast<std::size_t>(length));
      if (message.starts_with("WATCHDOG=1")) ++watchdogs_;
      return !message.starts_with("STATUS=") && !message.starts_with("WATCHDOG=1");
    });
    return came && message.starts_with(beginning);
  }
  int watchdogs() const { return watchdogs_; }

 private:
  UniqueFd fd_;
  int watchdogs_ = 0;
};

}  // namespace

TEST_CASE(
    "7.42 after SIGKILL and a restart, streams open within 2 s, the ids stay, and pods keep their devices") {
  Node node(each_kubelet());
  start_with_both(node);
  const Admission pod = node.kubelet().allocate("pod", "c", kA, 3);
  REQUIRE(pod.admitted());
  const auto ids = ids_of(node.of(kA));
  const auto devices = *node.of(kA).devices;
  for (std::size_t i = 2; i <= 4; ++i) {
    node.daemon().signal(SIGKILL);
    REQUIRE(node.daemon().wait_for_exit(kLong) == 128 + SIGKILL);
    node.start_daemon();
    CHECK(node.wait_for(
        [&](const KubeletState& state) {
          return state.of(kA).streams_ever == i && state.of(kA).attached && state.of(kA).first_list &&
                 state.of(kGopher).attached && state.of(kGopher).first_list;
        },
        limit(2s)));
    CHECK(*node.of(kA).devices == devices);
    CHECK(node.of(kA).allocatable == 4);
    CHECK(node.kubelet().pods().size() == 1);
    CHECK(node.kubelet().allocate("pod", "c", kA, 3).ids.size() == 3);
    CHECK(node.socket_files().size() == 2);  // those of the killed daemon were removed
  }
  CHECK_FALSE(node.kubelet().allocate("another", "c", kA, 2).admitted());
  CHECK(node.kubelet().allocate("another", "c", kA, 1).admitted());
}

TEST_CASE(
    "a kubelet that stops a killed daemon's endpoints 200 ms late leaves its successor's devices "
    "allocatable") {
  Node node;
  start_with_both(node);
  node.kubelet().set_faults({.stopped_late = 200ms});
  node.daemon().signal(SIGKILL);
  REQUIRE(node.daemon().wait_for_exit(kLong) == 128 + SIGKILL);
  node.start_daemon();
  REQUIRE(node.wait_for([](const KubeletState& state) { return state.of(kA).streams_ever == 2; }));
  CHECK(node.attached({kA, kGopher}));
  // Only a wait of 200 ms shows that the kubelet has stopped the endpoints.
  CHECK_FALSE(
      node.wait_for([](const KubeletState& state) { return state.of(kA).allocatable != 4; }, kWatched));
  CHECK(node.of(kGopher).allocatable == 1);
  CHECK(node.kubelet().allocate("pod", "c", kA, 1).admitted());
}

TEST_CASE("7.43 SIGTERM removes plughost's own sockets, and no other file, within 1 s") {
  Node node(Node::Options{.registration = each_registration()});
  start_with_both(node);
  const auto directory = node.sockets().lexically_relative(node.files().path());
  node.files().file(directory / "somebody.sock");
  node.files().file(directory / "plughost-notes");
  const std::size_t from = node.daemon().mark();
  int number = SIGTERM;
  SUBCASE("SIGTERM") {}
  SUBCASE("SIGINT") { number = SIGINT; }
  node.daemon().signal(number);
  CHECK(node.daemon().wait_for_exit(limit(1s)) == 0);
  CHECK(node.daemon().wait_for_line({"stopping"}, 0ms, from));
  CHECK(node.socket_files() == std::vector<std::string>{"plughost-notes"});
  CHECK(std::filesystem::exists(node.sockets() / "somebody.sock"));
  CHECK(std::filesystem::is_socket(node.plugins() / "kubelet.sock"));
  CHECK(node.wait_for([](const KubeletState& state) {
    return state.of(kA).streams == 0 && state.of(kA).allocatable == 0 && state.of(kGopher).streams == 0;
  }));
}

TEST_CASE("SIGTERM ends the daemon within 1 s whatever the kubelet does") {
  Node node;
  node.configure(counted(kA, 1000) + counted("example.com/b", 2));
  SUBCASE("the kubelet hangs in Register") { node.start_kubelet({.dial_held = {kA, "example.com/b"}}); }
  SUBCASE("the kubelet does not answer Register") {
    node.start_kubelet({.answer_held = {kA, "example.com/b"}});
  }
  SUBCASE("the kubelet does not read lists") { node.start_kubelet({.unread = {kA, "example.com/b"}}); }
  node.start_daemon();
  REQUIRE(node.wait_for([](const KubeletState& state) {
    return !state.of(kA).registrations.empty() && !state.of("example.com/b").registrations.empty();
  }));
  node.daemon().signal(SIGTERM);
  CHECK(node.daemon().wait_for_exit(limit(1s)) == 0);
  CHECK(node.socket_files().empty());
}

TEST_CASE(
    "7.44 a second plughost refuses to start on a directory in use, and names the process that holds it") {
  Node node(Node::Options{.registration = each_registration()});
  start_with_both(node);
  const Finished second = run_plughost({"run", "--config", node.configuration()});
  CHECK(second.exit_code == 1);
  CHECK(second.output.find(node.sockets()) != std::string::npos);
  CHECK(second.output.find("process " + std::to_string(node.daemon().pid()) + " (plughost)") !=
        std::string::npos);
  CHECK(node.socket_files().size() == 2);
  CHECK(node.attached({kA, kGopher}, 0ms));
  CHECK(node.of(kA).streams_ever == 1);

  node.end_daemon();
  node.start_daemon();
  CHECK(node.wait_for([](const KubeletState& state) { return state.of(kA).streams_ever == 2; }));
}

TEST_CASE("the service manager receives READY, RELOADING with its time, READY again and STOPPING") {
  Node node;
  ServiceManager manager(node.files().at("notify"));
  node.configure(counted(kA, 1));
  node.start_daemon({"NOTIFY_SOCKET=" + node.path("notify"), "WATCHDOG_USEC=200000"});
  CHECK(manager.next_is("READY=1"));  // even without a kubelet
  node.daemon().signal(SIGHUP);
  CHECK(manager.next_is("RELOADING=1\nMONOTONIC_USEC="));
  CHECK(manager.next_is("READY=1"));
  node.files().file("config.yaml", "resources: none");
  node.daemon().signal(SIGHUP);
  CHECK(manager.next_is("RELOADING=1\nMONOTONIC_USEC="));
  CHECK(manager.next_is("READY=1"));
  node.daemon().signal(SIGTERM);
  CHECK(manager.next_is("STOPPING=1"));
  CHECK(manager.watchdogs() >= 1);
  CHECK(node.daemon().wait_for_exit(kLong) == 0);
}

TEST_CASE("an idle daemon uses hardly any processor time") {
  Node node;
  start_with_both(node);
  const auto before = node.daemon().processor_time();
  CHECK_FALSE(node.daemon().wait_for_line({"nothing happens"}, 2 * kWatched));
  CHECK(node.daemon().processor_time() - before <= (kSanitized ? 500ms : 50ms));
}
