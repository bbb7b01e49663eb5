// Checks stops and starts of the kubelet, and other events around its socket: cases 18 and 21 to 27 of the
// conformance list.

#include <doctest/doctest.h>
#include <fcntl.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "deviceplugin/v1beta1/deviceplugin.grpc.pb.h"
#include "integration/node.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

const Node::Names kThree{"example.com/a", "example.com/b", "example.com/gopher"};

void start_with_three(Node& node) {
  node.files().file("gophers/one");
  node.configure(counted("example.com/a", 2) + counted("example.com/b", 3) +
                 listed("example.com/gopher", node.path("gophers")));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached(kThree));
}

// Removes the directory, with retries, because the daemon may create a socket while the directory is emptied.
void remove_whole(const std::filesystem::path& directory) {
  REQUIRE(eventually([&] {
    std::error_code error;
    std::filesystem::remove_all(directory, error);
    return !error;
  }));
}

// Connects as a process other than the kubelet: the caller of connect(2) owns the connection.
UniqueFd connect_as_another(const std::filesystem::path& socket) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  socket.native().copy(address.sun_path, sizeof address.sun_path - 1);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  REQUIRE(::fcntl(fd.get(), F_SETFL, O_NONBLOCK) == 0);
  return fd;
}

std::size_t registrations_of_this_kubelet(Node& node, const std::string& resource) {
  const auto& all = node.of(resource).registrations;
  return static_cast<std::size_t>(
      std::ranges::count(all, node.kubelet().state().incarnation, &ResourceState::Registration::incarnation));
}

}  // namespace

TEST_CASE("7.18 after a kubelet restart with a new kubelet.sock, all resources stream again within 1 s") {
  Node node(each_kubelet());
  start_with_three(node);
  for (int i = 0; i < 3; ++i) {
    CAPTURE(i);
    node.kubelet().restart();
    REQUIRE(node.attached(kThree, limit(1s)));
    for (const std::string& name : kThree) CHECK(registrations_of_this_kubelet(node, name) == 1);
  }
  CHECK(node.kubelet().allocate("pod", "c", "example.com/b", 3).admitted());
}

TEST_CASE("7.18 after a kubelet was away for a while, all resources stream again within 1 s of its return") {
  Node node(each_kubelet());
  start_with_three(node);
  node.kubelet().stop();
  std::filesystem::remove(node.plugins() / "kubelet.sock");
  if (node.sockets() == node.plugins())
    REQUIRE(node.daemon().wait_for_line({"waiting for a new one"}, kLong));
  node.kubelet().restart();
  CHECK(node.attached(kThree, limit(1s)));
}

TEST_CASE("7.21 after the directory is removed and created again, all resources stream within 5 s") {
  Node node(each_kubelet());
  start_with_three(node);
  bool seen = true;
  SUBCASE("the daemon notices the removal first") {}
  SUBCASE("the directory is created again at once") { seen = false; }
  node.kubelet().stop();
  remove_whole(node.plugins());
  remove_whole(node.sockets());
  if (seen) REQUIRE(node.daemon().wait_for_line({"is gone"}, kLong));
  node.kubelet().restart();
  CHECK(node.attached(kThree, limit(5s)));
  CHECK(node.kubelet().allocate("pod", "c", "example.com/a", 1).admitted());
}

TEST_CASE("7.21 after the directory is renamed and replaced, all resources stream within 5 s") {
  Node node;
  start_with_three(node);
  node.kubelet().stop();
  std::filesystem::rename(node.plugins(), node.files().at("old"));
  node.kubelet().restart();
  CHECK(node.attached(kThree, limit(5s)));
}

TEST_CASE(
    "7.22 plughost's socket that is removed while the kubelet runs is bound again and streams within 2 s") {
  Node node(Node::Options{.registration = each_registration()});
  start_with_three(node);
  const std::string name = "example.com/a";
  const std::string socket = std::filesystem::path(node.of(name).registrations.back().endpoint).filename();
  std::filesystem::remove(node.sockets() / socket);
  // With plugins_registry, the kubelet ends the stream. With Register, it keeps the stream, and gets no new
  // registration.
  const std::size_t streams = node.sockets() == node.plugins() ? 1 : 2;
  CHECK(eventually(
      [&] {
        return node.reachable(name) && node.attached({name}, 0ms) && node.of(name).streams_ever >= streams;
      },
      limit(2s)));
  CHECK(eventually([&] { return node.kubelet().allocate("pod", "c", name, 1).admitted(); }));
  CHECK(node.of("example.com/b").streams_ever == 1);
  if (streams == 1) CHECK(node.of(name).registrations.size() == 1);
}

TEST_CASE("7.23 changes of other files in the directory lead to no registration") {
  Node node(Node::Options{.registration = each_registration()});
  start_with_three(node);
  for (const auto& directory : {node.plugins(), node.sockets()}) {
    const auto file = directory.lexically_relative(node.files().path());
    for (int i = 0; i < 20; ++i) {  // as the kubelet writes its checkpoint
      node.files().file(file / ".kubelet_internal_checkpoint-1", "{}");
      std::filesystem::rename(directory / ".kubelet_internal_checkpoint-1", directory / "some_checkpoint");
    }
    node.files().file(file / "plughost-of-somebody-else", "");
    node.files().remove(file / "plughost-of-somebody-else");
  }
  CHECK_FALSE(node.wait_for(
      [](const KubeletState& state) { return state.of("example.com/a").registrations.size() > 1; },
      kWatched));
  for (const std::string& name : kThree) {
    CHECK(node.of(name).streams_ever == 1);
    CHECK(node.of(name).lists == 1);
  }
}

TEST_CASE("7.24 a late event of the attached kubelet leads to no registration") {
  Node node;
  start_with_three(node);
  const std::filesystem::path socket = node.plugins() / "kubelet.sock";

  SUBCASE("the daemon is stopped during a kubelet restart, and receives all events at once") {
    node.daemon().signal(SIGSTOP);
    node.kubelet().restart();
    node.daemon().signal(SIGCONT);
    REQUIRE(node.attached(kThree));
  }
  SUBCASE("the kubelet's socket is changed and renamed, and its stream stays open") {
    REQUIRE(::chmod(socket.c_str(), 0777) == 0);
    std::filesystem::rename(socket, node.plugins() / "moved");
    std::filesystem::rename(node.plugins() / "moved", socket);
  }
  const std::size_t one = 1;
  CHECK_FALSE(node.wait_for(
      [&](const KubeletState& state) {
        return std::ranges::any_of(kThree, [&](const std::string& name) {
          return std::ranges::count(state.of(name).registrations, state.incarnation,
                                    &ResourceState::Registration::incarnation) > 1;
        });
      },
      2 * kWatched));
  for (const std::string& name : kThree) CHECK(registrations_of_this_kubelet(node, name) == one);
  CHECK(node.attached(kThree, 0ms));
}

TEST_CASE("7.25 after the kubelet cancels a stream, a new stream opens within 1 s") {
  Node node(each_kubelet());
  start_with_three(node);
  for (std::size_t i = 1; i <= 3; ++i) {
    CAPTURE(i);
    REQUIRE(node.kubelet().cancel_stream("example.com/a"));
    CHECK(node.wait_for(
        [&](const KubeletState& state) {
          const ResourceState& resource = state.of("example.com/a");
          return resource.streams_ever == i + 1 && resource.attached && resource.first_list;
        },
        limit(1s)));
  }
  CHECK(node.of("example.com/b").streams_ever == 1);
}

TEST_CASE(
    "7.25 after the kubelet cancels a stream, a new stream opens even if a second process reads the list") {
  const std::string name = "example.com/a";
  Node node(Node::Options{.registration = each_registration()});
  start_with_three(node);
  const std::filesystem::path endpoint = node.of(name).registrations.back().endpoint;
  const auto plugin = v1beta1::DevicePlugin::NewStub(grpc::CreateInsecureChannelFromFd(
      "localhost", connect_as_another(node.sockets() / endpoint.filename()).release()));
  grpc::ClientContext context;
  const auto reader = plugin->ListAndWatch(&context, {});
  v1beta1::ListAndWatchResponse list;
  REQUIRE(reader->Read(&list));
  CHECK(list.devices_size() == 2);

  REQUIRE(node.kubelet().cancel_stream(name));
  CHECK(node.wait_for(
      [&](const KubeletState& state) {
        const ResourceState& resource = state.of(name);
        return resource.streams_ever == 2 && resource.attached && resource.first_list;
      },
      limit(node.sockets() == node.plugins() ? 1s : 2s)));

  context.TryCancel();
  reader->Finish();
  CHECK_FALSE(node.wait_for(
      [&](const KubeletState& state) { return state.of(name).registrations.size() > 2; }, kWatched));
}

TEST_CASE("7.26 whatever happens, plughost never registers while a stream to this kubelet lives") {
  Node node(each_kubelet());
  start_with_three(node);
  for (int round = 0; round < 5; ++round) {
    CAPTURE(round);
    node.kubelet().cancel_stream("example.com/a");
    node.files().file("gophers/file-" + std::to_string(round));
    node.configure(counted("example.com/a", 3 + round) + listed("example.com/gopher", node.path("gophers")) +
                   (round % 2 == 0 ? counted("example.com/b", 3) : ""));
    REQUIRE(node.reload());
    if (round == 2) node.kubelet().restart();
    if (round == 3) node.start_daemon();
    for (const std::string& socket : node.socket_files()) std::filesystem::remove(node.sockets() / socket);
    REQUIRE(node.count("example.com/a", static_cast<std::size_t>(3 + round)));
    REQUIRE(node.healthy("example.com/gopher", "file-" + std::to_string(round)));
  }
  CHECK(node.attached(kThree));  // Node's destructor checks every registration
}

TEST_CASE(
    "7.26 each resource registers once if a call to the old socket reaches a new kubelet before its event") {
  Node node;
  start_with_three(node);
  for (int round = 0; round < 10; ++round) {
    CAPTURE(round);
    const std::size_t from = node.daemon().mark();
    node.kubelet().stop();
    REQUIRE(node.daemon().wait_for_line({"does not answer"}, kLong, from));
    // When the daemon continues, the next attempt is due, and the new kubelet's event waits behind it.
    node.daemon().signal(SIGSTOP);
    node.kubelet().restart();
    paced(2, 200ms, [](int) {});
    node.daemon().signal(SIGCONT);
    REQUIRE(node.attached(kThree));
    for (const std::string& name : kThree) CHECK(registrations_of_this_kubelet(node, name) == 1);
  }
}

TEST_CASE("7.27 after ten kubelet restarts in a row, all resources stream within 2 s of the last restart") {
  Node node(each_kubelet());
  start_with_three(node);
  paced(10, 3s, [&](int) { node.kubelet().restart(); });
  CHECK(node.attached(kThree, limit(2s)));
  CHECK_FALSE(node.wait_for(
      [](const KubeletState& state) {
        return std::ranges::any_of(kThree, [&](const std::string& name) { return !state.of(name).attached; });
      },
      kWatched));
  for (const std::string& name : kThree) CHECK(registrations_of_this_kubelet(node, name) <= 2);
  CHECK(node.kubelet().allocate("pod", "c", "example.com/b", 3).admitted());
}

TEST_CASE("a kubelet that has its device-plugin directory below its root directory is found there") {
  need_mounts();
  Node node;
  node.files().file("config.yaml", "kubelet: {podResources: " + node.path(Node::kPodResources) +
                                       "}\ncontrol: " + node.control() + "\nresources:\n" +
                                       counted("example.com/a", 3));
  // The daemon's own /var/lib/kubelet has no kubelet.
  const auto apart = mounted("mount -t tmpfs none /var/lib; mkdir -p /var/lib/kubelet/device-plugins");
  SUBCASE("at the start") {
    node.start_kubelet();
    node.start_daemon({}, apart);
  }
  SUBCASE("later, and again after a reload") {
    node.start_daemon({}, apart);
    REQUIRE(
        node.daemon().wait_for_line({"waiting for the kubelet", "/var/lib/kubelet/device-plugins"}, kLong));
    node.start_kubelet();
    REQUIRE(node.daemon().wait_for_line({"kubelet found", "directory=" + node.plugins().string()}, kLong));
    REQUIRE(node.attached({"example.com/a"}));
    node.kubelet().stop();
    REQUIRE(node.reload());
    CHECK(has(run_plughost({"status", "--control", node.control()}), node.plugins().string()));
    node.kubelet().restart();
  }
  CHECK(node.attached({"example.com/a"}));
  CHECK(node.kubelet().allocate("pod", "main", "example.com/a", 3).admitted());
}
