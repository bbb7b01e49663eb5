#include <doctest/doctest.h>

#include "pluginregistration/v1/pluginregistration.grpc.pb.h"
#include "unit/standin/test_plugin.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

// A plugin's socket in plugins_registry. If `plugin` is given, the plugin is served on it too.
class RegistrySocket final : public pluginregistration::Registration::CallbackService {
 public:
  RegistrySocket(const std::filesystem::path& path, pluginregistration::PluginInfo answer,
                 grpc::Service* plugin = nullptr)
      : answer_(std::move(answer)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + path.string(), grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    if (plugin) builder.RegisterService(plugin);
    server_ = builder.BuildAndStart();
  }
  ~RegistrySocket() override { server_->Shutdown(std::chrono::system_clock::now()); }

  // Returns the error of the kubelet's notification, "" for success, or "nothing" if no notification came.
  std::string notified() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kSoon, [this] { return told_; });
    return told_ ? error_ : "nothing";
  }

 private:
  grpc::ServerUnaryReactor* GetInfo(grpc::CallbackServerContext* context,
                                    const pluginregistration::InfoRequest*,
                                    pluginregistration::PluginInfo* answer) override {
    *answer = answer_;
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  grpc::ServerUnaryReactor* NotifyRegistrationStatus(
      grpc::CallbackServerContext* context, const pluginregistration::RegistrationStatus* status,
      pluginregistration::RegistrationStatusResponse*) override {
    {
      const std::lock_guard lock(mutex_);
      told_ = true;
      error_ = status->error();
      changed_.notify_all();
    }
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  const pluginregistration::PluginInfo answer_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool told_ = false;
  std::string error_;
  std::unique_ptr<grpc::Server> server_;
};

pluginregistration::PluginInfo info(const std::string& type, const std::string& version,
                                    const std::string& endpoint) {
  pluginregistration::PluginInfo info;
  info.set_type(type);
  info.set_name(kResource);
  info.set_endpoint(endpoint);
  info.add_supported_versions(version);
  return info;
}

struct Registry {
  Registry() {
    directory.directory("registry");
    directory.directory("plugins");
  }
  StandInKubelet::Options options() const {
    return {.directory = directory.at("plugins"), .plugins_registry = directory.at("registry")};
  }
  TempDir directory;
};

bool wait_for_devices(const StandInKubelet& kubelet, std::size_t allocatable) {
  return kubelet.wait_for(
      [=](const KubeletState& state) { return state.of(kResource).allocatable == allocatable; }, kSoon);
}

}  // namespace

TEST_CASE("a socket that appears in plugins_registry is queried, registered and notified") {
  const Registry registry;
  TestPlugin plugin(registry.directory.at("thing.sock"));
  plugin.list(healthy_devices(2));
  const StandInKubelet kubelet(registry.options());
  RegistrySocket socket(registry.directory.at("registry/thing.sock"),
                        info("DevicePlugin", "v1beta1", plugin.socket()));
  CHECK(socket.notified() == "");
  CHECK(wait_for_devices(kubelet, 2));
}

TEST_CASE("a socket from before the kubelet's start is found at each start") {
  const Registry registry;
  TestPlugin plugin(registry.directory.at("thing.sock"));
  plugin.list(healthy_devices(2));
  RegistrySocket socket(registry.directory.at("registry/thing.sock"),
                        info("DevicePlugin", "v1beta1", plugin.socket()));
  StandInKubelet kubelet(registry.options());
  REQUIRE(wait_for_devices(kubelet, 2));
  kubelet.restart();
  CHECK(wait_for_devices(kubelet, 2));
}

TEST_CASE("if the plugin names no endpoint, the kubelet connects to its socket in plugins_registry") {
  const Registry registry;
  const StandInKubelet kubelet(registry.options());
  TestPlugin plugin(registry.directory.at("unused.sock"));
  plugin.list(healthy_devices(3));
  RegistrySocket socket(registry.directory.at("registry/thing.sock"), info("DevicePlugin", "v1beta1", ""),
                        &plugin);
  CHECK(socket.notified() == "");
  CHECK(wait_for_devices(kubelet, 3));
}

TEST_CASE("a wrong type or version is an error for the plugin") {
  const Registry registry;
  const StandInKubelet kubelet(registry.options());
  RegistrySocket driver(registry.directory.at("registry/driver.sock"), info("CSIPlugin", "v1beta1", ""));
  CHECK(driver.notified() == "no handler registered for plugin type: CSIPlugin at socket");
  RegistrySocket old(registry.directory.at("registry/old.sock"), info("DevicePlugin", "v1alpha", ""));
  CHECK(old.notified() == "manager version, v1beta1, is not among plugin supported versions");
  CHECK(kubelet.state().of(kResource).registrations.empty());
}

TEST_CASE("when a plugin's socket in plugins_registry is removed, the kubelet disconnects the plugin") {
  const Registry registry;
  TestPlugin plugin(registry.directory.at("thing.sock"));
  plugin.list(healthy_devices(2));
  const StandInKubelet kubelet(registry.options());
  RegistrySocket socket(registry.directory.at("registry/thing.sock"),
                        info("DevicePlugin", "v1beta1", plugin.socket()));
  REQUIRE(socket.notified() == "");
  REQUIRE(wait_for_devices(kubelet, 2));
  registry.directory.remove("registry/thing.sock");
  CHECK(wait_for_devices(kubelet, 0));
  CHECK(plugin.wait_until_cancelled(1));
}
