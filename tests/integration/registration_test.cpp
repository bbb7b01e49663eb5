// Checks registration: cases 1 to 5, 19, 20, 28 and 29 of the conformance list.

#include <doctest/doctest.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <atomic>
#include <csignal>

#include "base/system/unix_socket.hpp"
#include "deviceplugin/v1beta1/deviceplugin.grpc.pb.h"
#include "integration/node.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

// A kubelet that dials back and accepts, but opens no stream, as when the end of a former stream of that name
// removes the new client.
class StreamlessKubelet final : public v1beta1::Registration::Service {
 public:
  explicit StreamlessKubelet(std::filesystem::path directory) : directory_(std::move(directory)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + (directory_ / "kubelet.sock").string(),
                             grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~StreamlessKubelet() override { server_->Shutdown(std::chrono::system_clock::now()); }

  grpc::Status Register(grpc::ServerContext*, const v1beta1::RegisterRequest* request,
                        v1beta1::Empty*) override {
    const auto plugin = v1beta1::DevicePlugin::NewStub(grpc::CreateInsecureChannelFromFd(
        "localhost", connect_unix(directory_ / request->endpoint()).release()));
    grpc::ClientContext context;
    v1beta1::DevicePluginOptions options;
    const grpc::Status status = plugin->GetDevicePluginOptions(&context, {}, &options);
    ++asked_;
    return status;
  }

  int asked() const { return asked_; }

 private:
  const std::filesystem::path directory_;
  std::atomic<int> asked_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// A kubelet that only records the first Register request.
class RegisterRecorder final : public v1beta1::Registration::Service {
 public:
  explicit RegisterRecorder(const std::string& socket) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~RegisterRecorder() override { server_->Shutdown(std::chrono::system_clock::now()); }

  grpc::Status Register(grpc::ServerContext* context, const v1beta1::RegisterRequest* request,
                        v1beta1::Empty*) override {
    const std::lock_guard lock(mutex_);
    if (!seen_) {
      time_left_ = context->deadline() - std::chrono::system_clock::now();
      request_ = *request;
    }
    seen_ = true;
    return grpc::Status::OK;
  }

  bool seen() const {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  std::chrono::system_clock::duration time_left() const { return time_left_; }
  const v1beta1::RegisterRequest& request() const { return request_; }

 private:
  mutable std::mutex mutex_;
  bool seen_ = false;
  std::chrono::system_clock::duration time_left_{};
  v1beta1::RegisterRequest request_;
  std::unique_ptr<grpc::Server> server_;
};

std::vector<ResourceState::Registration> registrations(Node& node, const std::string& resource) {
  return node.of(resource).registrations;
}

}  // namespace

TEST_CASE("7.1 every socket accepts connections before its Register is sent") {
  std::atomic<int> accepted = 0;
  std::atomic<int> refused = 0;
  Node node;
  node.configure(counted("example.com/a", 2) + counted("example.com/b", 2));
  node.start_kubelet({}, [&](const KubeletEvent& event) {
    if (event.type != KubeletEvent::Type::kRegistering) return;
    try {
      connect_unix(node.plugins() / event.text);
      ++accepted;
    } catch (const std::system_error&) {
      ++refused;
    }
  });
  node.start_daemon();
  REQUIRE(node.attached({"example.com/a", "example.com/b"}));
  CHECK(accepted == 2);
  CHECK(refused == 0);
}

TEST_CASE("7.2 options are answered while Register is pending") {
  Node node;
  node.configure(counted("example.com/a", 2));
  node.start_kubelet({.answer_held = {"example.com/a"}});
  node.start_daemon();
  REQUIRE(node.attached({"example.com/a"}));
  CHECK(node.of("example.com/a").plugin_options.has_value());
  CHECK_FALSE(node.of("example.com/a").registrations.back().answered);
  node.kubelet().set_faults({});
}

TEST_CASE("7.3 Register's deadline is above 10 s") {
  Node node;
  node.configure(counted("example.com/a", 2));
  const RegisterRecorder kubelet(node.plugins() / "kubelet.sock");
  node.start_daemon();
  REQUIRE(eventually([&] { return kubelet.seen(); }));
  CHECK(kubelet.time_left() > 10s);
  CHECK(kubelet.time_left() < 60s);
}

TEST_CASE("7.4 the version is v1beta1 and the endpoint is relative") {
  Node node;
  node.configure(counted("example.com/a", 2));
  const RegisterRecorder kubelet(node.plugins() / "kubelet.sock");
  node.start_daemon();
  REQUIRE(eventually([&] { return kubelet.seen(); }));
  CHECK(kubelet.request().version() == "v1beta1");
  CHECK(kubelet.request().resource_name() == "example.com/a");
  CHECK(kubelet.request().endpoint().find('/') == std::string::npos);
  CHECK(std::filesystem::is_socket(node.plugins() / kubelet.request().endpoint()));
}

TEST_CASE("7.5 the options in Register equal those of GetDevicePluginOptions") {
  Node node;
  node.configure(counted("example.com/plain", 2) +
                 counted("example.com/packed", 2, "replicas: 2, allocationPolicy: packed"));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({"example.com/plain", "example.com/packed"}));
  for (const std::string name : {"example.com/plain", "example.com/packed"}) {
    CAPTURE(name);
    const ResourceState resource = node.of(name);
    CHECK(resource.registrations.back().options == resource.plugin_options.value());
    CHECK(resource.plugin_options->preferred_allocation_available == (name == "example.com/packed"));
  }
}

TEST_CASE(
    "7.19 without a kubelet at the start, plughost waits, and registers within 1 s of the kubelet's start") {
  Node node(each_kubelet());
  bool directory = true;
  SUBCASE("the kubelet's directory exists") {}
  SUBCASE("the kubelet's directory is missing, too") { directory = false; }
  if (!directory) {
    std::filesystem::remove(node.plugins());
    std::filesystem::remove(node.files().at("registry"));
  }
  node.configure(counted("example.com/a", 2) + counted("example.com/b", 3));
  node.start_daemon();
  REQUIRE(node.daemon().wait_for_line({"plughost"}, kLong));
  REQUIRE(node.daemon().wait_for_line({"2 resources"}, kLong));
  node.start_kubelet();
  CHECK(node.attached({"example.com/a", "example.com/b"}, limit(1s)));
  CHECK(node.daemon().running());
}

TEST_CASE("7.20 a stale kubelet.sock is retried at intervals of at most 5 s, and plughost does not exit") {
  Node node;
  node.configure(counted("example.com/a", 2));

  SUBCASE("a former kubelet has left the socket, and a new kubelet starts") {
    node.start_kubelet();
    node.kubelet().stop();
    node.start_daemon();
    REQUIRE(node.daemon().wait_for_line({"does not answer", "refused"}, kLong));
    node.kubelet().restart();
    CHECK(node.attached({"example.com/a"}, limit(1s)));
  }
  SUBCASE("no process listens on the socket yet, and no event reports when one does") {
    const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    const std::string path = node.plugins() / "kubelet.sock";
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    node.start_daemon();
    REQUIRE(node.daemon().wait_for_line({"does not answer", "refused"}, kLong));
    REQUIRE(::listen(socket.get(), 8) == 0);
    CHECK(
        eventually([&] { return UniqueFd(::accept(socket.get(), nullptr, nullptr)).get() >= 0; }, limit(5s)));
  }
  CHECK(node.daemon().running());
  CHECK(node.daemon().comes_to_lines("does not answer", 1));
}

TEST_CASE(
    "7.28 a refused Register is retried with a back-off from 0.1 to 10 s, and affects no other resource") {
  Node node;
  node.configure(counted("example.com/refused", 2) + counted("example.com/taken", 2));
  node.start_kubelet({.refused = {{"example.com/refused", "no such thing here"}}});
  node.start_daemon();
  REQUIRE(node.attached({"example.com/taken"}));
  REQUIRE(node.daemon().wait_for_line({"not attached", "example.com/refused", "no such thing here"}, kLong));
  REQUIRE(node.wait_for(
      [](const KubeletState& state) { return state.of("example.com/refused").registrations.size() >= 6; }));

  const auto attempts = registrations(node, "example.com/refused");
  for (std::size_t i = 1; i < attempts.size(); ++i) {
    const std::chrono::milliseconds least = std::min<std::chrono::milliseconds>(100ms * (1 << (i - 1)), 10s);
    CAPTURE(i);
    CHECK(attempts[i].at - attempts[i - 1].at >= least - 5ms);
    CHECK(attempts[i].at - attempts[i - 1].at <= limit(least) + 500ms);
  }
  CHECK(registrations(node, "example.com/taken").size() == 1);
  CHECK(node.kubelet().allocate("pod", "c", "example.com/taken", 1).admitted());
  CHECK(node.daemon().comes_to_lines("not attached", 1));

  node.kubelet().set_faults({});
  CHECK(node.attached({"example.com/refused"}, 10s + kLong));
}

TEST_CASE("7.29 while a kubelet hangs in one Register, other resources are served and signals are handled") {
  Node node;
  node.files().file("gophers/one");
  node.configure(counted("example.com/stuck", 2) + listed("example.com/free", node.path("gophers")));
  node.start_kubelet({.dial_held = {"example.com/stuck"}});
  node.start_daemon();
  REQUIRE(node.attached({"example.com/free"}));
  REQUIRE(node.wait_for(
      [](const KubeletState& state) { return !state.of("example.com/stuck").registrations.empty(); }));

  node.files().file("gophers/two");
  CHECK(node.healthy("example.com/free", "two"));
  CHECK(node.kubelet().allocate("pod", "c", "example.com/free", 1).admitted());
  node.configure(counted("example.com/stuck", 2) + listed("example.com/free", node.path("gophers")) +
                 counted("example.com/new", 1));
  CHECK(node.reload());
  CHECK(node.attached({"example.com/new"}));
  CHECK(registrations(node, "example.com/stuck").size() == 1);
  node.daemon().signal(SIGTERM);
  CHECK(node.daemon().wait_for_exit(limit(1s)) == 0);
}

TEST_CASE("7.29 while a kubelet is stopped by SIGSTOP, hotplug, SIGHUP and SIGTERM are handled") {
  Node node;
  node.files().directory("gophers");
  node.configure(listed("example.com/gopher", node.path("gophers")));
  std::filesystem::create_directories(node.plugins());
  Process kubelet({"--plugin-directory", node.plugins().string(), "--stay"}, {}, {}, kStandIn);
  REQUIRE(kubelet.wait_for_line({"listening"}, kLong));
  node.start_daemon();
  REQUIRE(kubelet.wait_for_line({"example.com/gopher", "0 devices"}, kLong));

  kubelet.signal(SIGSTOP);
  node.files().file("gophers/one");
  node.configure(listed("example.com/gopher", node.path("gophers")) + counted("example.com/new", 1));
  CHECK(node.reload());
  kubelet.signal(SIGCONT);
  CHECK(kubelet.wait_for_line({"example.com/gopher", "1 device, 1 healthy"}, kLong));
  CHECK(kubelet.wait_for_line({"example.com/new", "1 device, 1 healthy"}, kLong));

  kubelet.signal(SIGSTOP);
  node.daemon().signal(SIGTERM);
  CHECK(node.daemon().wait_for_exit(limit(1s)) == 0);
  kubelet.signal(SIGCONT);
}

TEST_CASE("plughost registers again with a kubelet whose socket has changed without an event") {
  Node node;
  node.configure(counted("example.com/a", 2));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({"example.com/a"}));
  std::filesystem::permissions(node.plugins() / "kubelet.sock", std::filesystem::perms::owner_all);
  REQUIRE(node.kubelet().cancel_stream("example.com/a"));
  // This comes before the check of everything, which runs once a minute.
  CHECK(node.wait_for(
      [](const KubeletState& state) { return state.of("example.com/a").registrations.size() == 2; }));
  CHECK(node.attached({"example.com/a"}));
}

TEST_CASE("plughost registers again with a kubelet that accepts Register and opens no stream") {
  const std::string silent = "example.com/silent";
  Node node({.registering = StandInKubelet::Registering::kAnswersFirst});
  node.configure(counted(silent, 2));
  node.start_kubelet({.dial_held = {silent}});
  node.start_daemon();
  REQUIRE(node.daemon().wait_for_line({"not attached", silent, "opened no stream"}, kLong));
  node.kubelet().set_faults({});
  CHECK(node.attached({silent}));
}

TEST_CASE(
    "7.42 plughost registers again within a second with a kubelet that dials, accepts and opens no stream") {
  Node node;
  node.configure(counted("example.com/a", 2));
  const StreamlessKubelet kubelet(node.plugins());
  node.start_daemon();
  REQUIRE(eventually([&] { return kubelet.asked() == 1; }));
  CHECK(eventually([&] { return kubelet.asked() == 2; }, limit(1s)));
  CHECK(node.daemon().comes_to_lines("opened no stream", 1));
}

TEST_CASE(
    "a kubelet that does not read lists delays no other resource, and gets the newest list when it reads") {
  Node node;
  node.configure(counted("example.com/unread", 1) + counted("example.com/read", 1));
  node.start_kubelet({.unread = {"example.com/unread"}});
  node.start_daemon();
  REQUIRE(node.attached({"example.com/read"}));
  for (const int count : {2, 3, 4, 5}) {
    node.configure(counted("example.com/unread", count) + counted("example.com/read", count));
    REQUIRE(node.reload());
    CHECK(node.count("example.com/read", static_cast<std::size_t>(count)));
  }
  node.kubelet().set_faults({});
  CHECK(node.count("example.com/unread", 5));
  CHECK(node.of("example.com/unread").registrations.size() == 1);
}
