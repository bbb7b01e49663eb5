#pragma once
// A device plugin for tests: one endpoint on a socket in the kubelet's directory.

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "deviceplugin/v1beta1/deviceplugin.grpc.pb.h"
#include "kubelet/standin_kubelet.hpp"

namespace plughost::test {

inline constexpr std::chrono::seconds kSoon{10};

// Thread-safe.
class TestPlugin final : public v1beta1::DevicePlugin::CallbackService {
 public:
  using Preferred =
      std::function<std::vector<std::string>(const v1beta1::ContainerPreferredAllocationRequest&)>;

  // The plugin's answers to the kubelet's calls.
  struct Behaviour {
    EndpointOptions options;
    std::size_t responses = 1;    // to Allocate, one per container
    std::string allocate_error;   // empty: Allocate succeeds
    std::string pre_start_error;  // empty: PreStartContainer succeeds
    Preferred preferred;          // empty: the first available ids
    bool hold_options = false;    // GetDevicePluginOptions, until the next behave()
  };

  explicit TestPlugin(std::filesystem::path socket) : socket_(std::move(socket)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket_.string(), grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~TestPlugin() override {
    behave({});
    end_streams();
    server_->Shutdown(std::chrono::system_clock::now());
  }

  void behave(Behaviour behaviour) {
    const std::lock_guard lock(mutex_);
    behaviour_ = std::move(behaviour);
    if (held_options_ && !behaviour_.hold_options)
      std::exchange(held_options_, nullptr)->Finish(grpc::Status::OK);
  }

  const std::filesystem::path& socket() const { return socket_; }

  void list(const std::vector<ListedDevice>& devices) {
    const std::lock_guard lock(mutex_);
    list_.clear_devices();
    for (const ListedDevice& device : devices) {
      v1beta1::Device& to = *list_.add_devices();
      to.set_id(device.id);
      to.set_health(device.healthy ? "Healthy" : "Unhealthy");
      for (const auto node : device.numa_nodes) to.mutable_topology()->add_nodes()->set_id(node);
    }
    ++version_;
    for (Stream* stream : streams_) stream->send_newest();
  }
  // Ends the ListAndWatch streams, as a plugin does when it shuts down.
  void end_streams() {
    const std::lock_guard lock(mutex_);
    for (Stream* stream : streams_) stream->end();
  }

  bool wait_until_options_are_asked() {
    return wait([this] { return options_asked_ > 0; });
  }
  bool wait_until_streaming() {
    return wait([this] { return !streams_.empty(); });
  }
  bool wait_until_cancelled(int streams) {
    return wait([&] { return cancelled_ >= streams; });
  }
  int cancelled() const {
    const std::lock_guard lock(mutex_);
    return cancelled_;
  }
  std::vector<std::string> started() const {
    const std::lock_guard lock(mutex_);
    return started_;
  }
  int allocations() const {
    const std::lock_guard lock(mutex_);
    return allocations_;
  }

 private:
  class Stream final : public grpc::ServerWriteReactor<v1beta1::ListAndWatchResponse> {
   public:
    explicit Stream(TestPlugin& plugin) : plugin_(plugin) {
      const std::lock_guard lock(plugin_.mutex_);
      plugin_.streams_.insert(this);
      plugin_.changed_.notify_all();
      send_newest();
    }

    // The caller holds the plugin's lock.
    void send_newest() {
      if (writing_ || ended_ || sent_ == plugin_.version_) return;
      writing_ = true;
      sent_ = plugin_.version_;
      message_ = plugin_.list_;
      StartWrite(&message_);
    }
    void end() {
      if (!std::exchange(ended_, true)) Finish(grpc::Status::OK);
    }

   private:
    void OnWriteDone(bool ok) override {
      const std::lock_guard lock(plugin_.mutex_);
      writing_ = false;
      if (ok) send_newest();
    }
    void OnCancel() override {
      const std::lock_guard lock(plugin_.mutex_);
      if (!ended_) ++plugin_.cancelled_;
      end();
      plugin_.changed_.notify_all();
    }
    void OnDone() override {
      {
        const std::lock_guard lock(plugin_.mutex_);
        plugin_.streams_.erase(this);
      }
      delete this;
    }

    TestPlugin& plugin_;
    v1beta1::ListAndWatchResponse message_;
    std::uint64_t sent_ = 0;
    bool writing_ = false;
    bool ended_ = false;
  };

  static grpc::Status outcome(const std::string& error) {
    return error.empty() ? grpc::Status::OK : grpc::Status(grpc::StatusCode::UNKNOWN, error);
  }
  Behaviour behaviour() const {
    const std::lock_guard lock(mutex_);
    return behaviour_;
  }
  bool wait(const std::function<bool()>& condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kSoon, condition);
  }

  grpc::ServerUnaryReactor* GetDevicePluginOptions(grpc::CallbackServerContext* context,
                                                   const v1beta1::Empty*,
                                                   v1beta1::DevicePluginOptions* answer) override {
    const std::lock_guard lock(mutex_);
    answer->set_pre_start_required(behaviour_.options.pre_start_required);
    answer->set_get_preferred_allocation_available(behaviour_.options.preferred_allocation_available);
    auto* reactor = context->DefaultReactor();
    ++options_asked_;
    changed_.notify_all();
    if (behaviour_.hold_options) {
      held_options_ = reactor;
    } else {
      reactor->Finish(grpc::Status::OK);
    }
    return reactor;
  }

  grpc::ServerWriteReactor<v1beta1::ListAndWatchResponse>* ListAndWatch(grpc::CallbackServerContext*,
                                                                        const v1beta1::Empty*) override {
    return new Stream(*this);
  }

  grpc::ServerUnaryReactor* GetPreferredAllocation(grpc::CallbackServerContext* context,
                                                   const v1beta1::PreferredAllocationRequest* request,
                                                   v1beta1::PreferredAllocationResponse* response) override {
    const Preferred preferred = behaviour().preferred;
    for (const auto& container : request->container_requests()) {
      auto& answer = *response->add_container_responses();
      if (preferred) {
        for (const std::string& id : preferred(container)) answer.add_deviceids(id);
        continue;
      }
      for (int i = 0; i < container.allocation_size(); ++i)
        answer.add_deviceids(container.available_deviceids(i));
    }
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  grpc::ServerUnaryReactor* Allocate(grpc::CallbackServerContext* context,
                                     const v1beta1::AllocateRequest* request,
                                     v1beta1::AllocateResponse* response) override {
    const std::lock_guard lock(mutex_);
    std::string ids;
    for (const std::string& id : request->container_requests(0).devices_ids())
      ids += (ids.empty() ? "" : ",") + id;
    for (std::size_t i = 0; i < behaviour_.responses; ++i) {
      auto& container = *response->add_container_responses();
      (*container.mutable_envs())["IDS"] = ids;
      (*container.mutable_envs())["RESPONSE"] = std::to_string(i);
      auto& device = *container.add_devices();
      device.set_host_path("/dev/null");
      device.set_container_path("/dev/it");
      device.set_permissions("rw");
      container.add_cdi_devices()->set_name("vendor.example/class=" + ids);
    }
    ++allocations_;
    auto* reactor = context->DefaultReactor();
    reactor->Finish(outcome(behaviour_.allocate_error));
    return reactor;
  }

  grpc::ServerUnaryReactor* PreStartContainer(grpc::CallbackServerContext* context,
                                              const v1beta1::PreStartContainerRequest* request,
                                              v1beta1::PreStartContainerResponse*) override {
    const std::lock_guard lock(mutex_);
    started_.assign(request->devices_ids().begin(), request->devices_ids().end());
    auto* reactor = context->DefaultReactor();
    reactor->Finish(outcome(behaviour_.pre_start_error));
    return reactor;
  }

  std::filesystem::path socket_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Behaviour behaviour_;
  v1beta1::ListAndWatchResponse list_;
  std::uint64_t version_ = 1;
  std::set<Stream*> streams_;
  grpc::ServerUnaryReactor* held_options_ = nullptr;
  int options_asked_ = 0;
  int cancelled_ = 0;
  int allocations_ = 0;
  std::vector<std::string> started_;
  std::unique_ptr<grpc::Server> server_;
};

// Registers the endpoint with the kubelet in the directory, and returns the kubelet's status.
inline grpc::Status register_at(const std::filesystem::path& directory, const std::string& resource,
                                const std::string& endpoint, const EndpointOptions& options = {},
                                std::chrono::milliseconds timeout = kSoon,
                                const std::string& version = "v1beta1") {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto stub = v1beta1::Registration::NewStub(grpc::CreateCustomChannel(
      "unix:" + (directory / "kubelet.sock").string(), grpc::InsecureChannelCredentials(), arguments));
  v1beta1::RegisterRequest request;
  request.set_version(version);
  request.set_endpoint(endpoint);
  request.set_resource_name(resource);
  request.mutable_options()->set_pre_start_required(options.pre_start_required);
  request.mutable_options()->set_get_preferred_allocation_available(options.preferred_allocation_available);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + timeout);
  v1beta1::Empty empty;
  return stub->Register(&context, request, &empty);
}

// Returns healthy devices with the ids "<prefix>0", "<prefix>1" and so on.
inline std::vector<ListedDevice> healthy_devices(std::size_t count, const std::string& prefix = "d") {
  std::vector<ListedDevice> devices;
  for (std::size_t i = 0; i < count; ++i) devices.push_back({prefix + std::to_string(i), true, {}});
  return devices;
}

inline const std::string kResource = "vendor.example/thing";

// A kubelet and its plugin, which has registered and has sent a list of devices.
struct AttachedPlugin {
  AttachedPlugin(const std::filesystem::path& directory, std::size_t devices,
                 StandInKubelet::Options kubelet_options = {}, const EndpointOptions& options = {})
      : kubelet(in_directory(directory, std::move(kubelet_options))), plugin(directory / "thing.sock") {
    plugin.behave({.options = options});
    plugin.list(healthy_devices(devices));
    registered = register_at(directory, kResource, "thing.sock", options);
    listed =
        kubelet.wait_for([&](const KubeletState& state) { return state.of(kResource).lists > 0; }, kSoon);
  }

  static StandInKubelet::Options in_directory(const std::filesystem::path& directory,
                                              StandInKubelet::Options options) {
    options.directory = directory;
    return options;
  }
  ResourceState now() const { return kubelet.state().of(kResource); }
  bool wait_for(const std::function<bool(const ResourceState&)>& condition) const {
    return kubelet.wait_for([&](const KubeletState& state) { return condition(state.of(kResource)); }, kSoon);
  }

  StandInKubelet kubelet;
  TestPlugin plugin;
  grpc::Status registered;
  bool listed = false;
};

}  // namespace plughost::test
