#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstring>
#include <future>

#include "base/system/unique_fd.hpp"
#include "unit/standin/test_plugin.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

const ResourceState::Registration& first_registration(const KubeletState& state) {
  return state.of(kResource).registrations.at(0);
}

// Connects to the kubelet's socket, and returns 0 or the error's number.
int connect_to_kubelet(const std::filesystem::path& directory) {
  const UniqueFd fd{check(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket")};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, (directory / "kubelet.sock").c_str(), sizeof address.sun_path - 1);
  return ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
}

StandInKubelet::Options older(const std::filesystem::path& directory) {
  return {.directory = directory,
          .plugins_registry = {},
          .clearing = StandInKubelet::Clearing::kEverything,
          .registering = StandInKubelet::Registering::kAnswersFirst,
          .faults = {}};
}

}  // namespace

TEST_CASE("the kubelet reads the plugin's options before it answers Register") {
  const TempDir directory;
  StandInKubelet kubelet({.directory = directory.path()});
  TestPlugin plugin(directory.at("thing.sock"));
  plugin.behave({.options = {.pre_start_required = true}, .hold_options = true});
  auto answer = std::async([&] { return register_at(directory.path(), kResource, "thing.sock"); });
  REQUIRE(plugin.wait_until_options_are_asked());
  CHECK_FALSE(first_registration(kubelet.state()).answered);
  plugin.behave({.options = {.pre_start_required = true}});
  CHECK(answer.get().ok());
  CHECK(first_registration(kubelet.state()).answered);
}

TEST_CASE("while the kubelet's dial of the plugin is held, Register is answered only by an older kubelet") {
  const TempDir directory;
  const StandInKubelet::Faults held{.dial_held = {kResource}};
  SUBCASE("a 1.36 kubelet does not answer") {
    StandInKubelet kubelet({.directory = directory.path(), .faults = held});
    const auto status = register_at(directory.path(), kResource, "thing.sock", {}, 100ms);
    CHECK(status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED);
  }
  SUBCASE("an older kubelet answers, and attaches the plugin later") {
    auto options = older(directory.path());
    options.faults = held;
    StandInKubelet kubelet(options);
    TestPlugin plugin(directory.at("thing.sock"));
    CHECK(register_at(directory.path(), kResource, "thing.sock").ok());
    CHECK_FALSE(kubelet.state().of(kResource).attached);
    kubelet.set_faults({});
    CHECK(kubelet.wait_for([](const KubeletState& state) { return state.of(kResource).attached; }, kSoon));
  }
}

TEST_CASE("a 1.36 kubelet uses GetDevicePluginOptions, an older one Register's options") {
  const TempDir directory;
  const EndpointOptions in_register{.pre_start_required = true};
  const EndpointOptions asked{.preferred_allocation_available = true};
  SUBCASE("with a 1.36 kubelet") {
    StandInKubelet kubelet({.directory = directory.path()});
    TestPlugin plugin(directory.at("thing.sock"));
    plugin.behave({.options = asked});
    REQUIRE(register_at(directory.path(), kResource, "thing.sock", in_register).ok());
    CHECK(kubelet.state().of(kResource).plugin_options == asked);
    CHECK(first_registration(kubelet.state()).options == in_register);
  }
  SUBCASE("with an older kubelet") {
    StandInKubelet kubelet(older(directory.path()));
    TestPlugin plugin(directory.at("thing.sock"));
    plugin.behave({.options = asked});
    plugin.list(healthy_devices(1));
    REQUIRE(register_at(directory.path(), kResource, "thing.sock", in_register).ok());
    REQUIRE(kubelet.wait_for([](const KubeletState& state) { return state.of(kResource).lists > 0; }, kSoon));
    CHECK_FALSE(kubelet.state().of(kResource).plugin_options.has_value());
    REQUIRE(kubelet.allocate("pod", "main", kResource, 1).admitted());
    CHECK(kubelet.start_container("pod") == "");
    CHECK(plugin.started() == std::vector<std::string>{"d0"});
  }
}

TEST_CASE("Register fails as Unknown for a wrong version, or else for an invalid resource name") {
  const TempDir directory;
  const StandInKubelet kubelet({.directory = directory.path()});
  const auto version = register_at(directory.path(), "no name", "thing.sock", {}, kSoon, "v1");
  CHECK(version.error_code() == grpc::StatusCode::UNKNOWN);
  CHECK(version.error_message() ==
        R"(requested API version "v1" is not supported by kubelet. Supported version is ["v1beta1"])");
  for (const std::string name : {"thing", "a/b/c", "x.kubernetes.io/thing", "requests.example/thing"}) {
    CAPTURE(name);
    const auto refused = register_at(directory.path(), name, "thing.sock");
    CHECK(refused.error_code() == grpc::StatusCode::UNKNOWN);
    CHECK(refused.error_message().starts_with("the ResourceName \"" + name + "\" is invalid"));
    CHECK(kubelet.state().of(name).registrations.at(0).error == refused.error_message());
  }
}

TEST_CASE("a socket without a server is dialled for a while, and then refused") {
  const TempDir directory;
  const StandInKubelet kubelet({.directory = directory.path(), .dial_timeout = 50ms});
  const auto status = register_at(directory.path(), kResource, "nobody.sock");
  CHECK(status.error_code() == grpc::StatusCode::UNKNOWN);
  CHECK(status.error_message() == "failed to dial device plugin: context deadline exceeded");
}

TEST_CASE("a fault refuses Register for the named resource only, or delays the response") {
  const TempDir directory;
  StandInKubelet kubelet({.directory = directory.path()});
  TestPlugin plugin(directory.at("thing.sock"));
  kubelet.set_faults({.refused = {{kResource, "not today"}}});
  CHECK(register_at(directory.path(), kResource, "thing.sock").error_message() == "not today");
  CHECK(register_at(directory.path(), "vendor.example/other", "thing.sock").ok());

  kubelet.set_faults({.answer_held = {kResource}});
  auto answer = std::async([&] { return register_at(directory.path(), kResource, "thing.sock"); });
  REQUIRE(kubelet.wait_for([](const KubeletState& state) { return state.of(kResource).attached; }, kSoon));
  CHECK_FALSE(kubelet.state().of(kResource).registrations.at(1).answered);
  kubelet.set_faults({});
  CHECK(answer.get().ok());
}

TEST_CASE("a kubelet with the fault of sending garbage answers no Register until the fault ends") {
  const TempDir directory;
  StandInKubelet kubelet({.directory = directory.path(), .faults = {.answers_garbage = true}});
  const TestPlugin plugin(directory.at("thing.sock"));
  CHECK_FALSE(register_at(directory.path(), kResource, "thing.sock").ok());
  CHECK(kubelet.state().of(kResource).registrations.empty());
  kubelet.set_faults({});
  CHECK(register_at(directory.path(), kResource, "thing.sock").ok());
}

TEST_CASE("a stopped kubelet leaves a stale socket, until its next start listens again") {
  const TempDir directory;
  StandInKubelet kubelet({.directory = directory.path()});
  CHECK(connect_to_kubelet(directory.path()) == 0);
  kubelet.stop();
  CHECK(std::filesystem::is_socket(directory.at("kubelet.sock")));
  CHECK(connect_to_kubelet(directory.path()) == ECONNREFUSED);
  kubelet.restart();
  CHECK(connect_to_kubelet(directory.path()) == 0);
  CHECK(kubelet.state().incarnation == 2);
}

TEST_CASE("a restart removes the plugins' sockets and cancels their streams") {
  const TempDir directory;
  AttachedPlugin attached(directory.path(), 1);
  REQUIRE(attached.listed);
  attached.kubelet.restart();
  CHECK(attached.plugin.wait_until_cancelled(1));
  CHECK_FALSE(std::filesystem::exists(attached.plugin.socket()));
  CHECK_FALSE(attached.now().attached);
}

TEST_CASE("if the kubelet stops while it holds its dial of a plugin, Register fails as Unavailable") {
  const TempDir directory;
  StandInKubelet kubelet({.directory = directory.path(), .faults = {.dial_held = {kResource}}});
  auto answer = std::async([&] { return register_at(directory.path(), kResource, "thing.sock"); });
  REQUIRE(kubelet.wait_for(
      [](const KubeletState& state) { return !state.of(kResource).registrations.empty(); }, kSoon));
  kubelet.stop();
  CHECK(answer.get().error_code() == grpc::StatusCode::UNAVAILABLE);
}

TEST_CASE("64 resources register at once") {
  const TempDir directory;
  const StandInKubelet kubelet({.directory = directory.path()});
  TestPlugin plugin(directory.at("thing.sock"));
  plugin.list(healthy_devices(2));
  std::vector<std::future<grpc::Status>> answers;
  for (int i = 0; i < 64; ++i) {
    answers.push_back(std::async(std::launch::async, [&, i] {
      return register_at(directory.path(), kResource + std::to_string(i), "thing.sock");
    }));
  }
  for (auto& answer : answers) CHECK(answer.get().ok());
  CHECK(kubelet.wait_for(
      [](const KubeletState& state) {
        return state.resources.size() == 64 && std::ranges::all_of(state.resources, [](const auto& resource) {
                 return resource.second.allocatable == 2;
               });
      },
      kSoon));
}
