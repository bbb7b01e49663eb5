#include "kubelet/pod_resources_server.hpp"

#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>

#include <map>
#include <mutex>

#include "podresources/v1/podresources.grpc.pb.h"

namespace plughost {

class PodResourcesServer::Service final : public v1::PodResourcesLister::CallbackService {
 public:
  Service() {
    grpc::ServerBuilder builder;
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~Service() override { server_->Shutdown(std::chrono::system_clock::now()); }

  grpc::ServerUnaryReactor* List(grpc::CallbackServerContext* context, const v1::ListPodResourcesRequest*,
                                 v1::ListPodResourcesResponse* response) override {
    {
      const std::lock_guard lock(mutex_);
      *response = shown_;
    }
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  grpc::ServerUnaryReactor* GetAllocatableResources(grpc::CallbackServerContext* context,
                                                    const v1::AllocatableResourcesRequest*,
                                                    v1::AllocatableResourcesResponse* response) override {
    std::map<std::string, DeviceList> lists;
    {
      const std::lock_guard lock(mutex_);
      lists = lists_;
    }
    for (const auto& [resource, list] : lists) {
      for (const ListedDevice& device : *list) {
        if (!device.healthy) continue;
        v1::ContainerDevices& devices = *response->add_devices();
        devices.set_resource_name(resource);
        devices.add_device_ids(device.id);
      }
    }
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  void show(v1::ListPodResourcesResponse response) {
    const std::lock_guard lock(mutex_);
    shown_ = std::move(response);
  }
  void show(const std::string& resource, DeviceList devices) {
    const std::lock_guard lock(mutex_);
    lists_[resource] = std::move(devices);
  }

  grpc::Server& server() { return *server_; }

 private:
  std::mutex mutex_;
  v1::ListPodResourcesResponse shown_;
  std::map<std::string, DeviceList> lists_;
  std::unique_ptr<grpc::Server> server_;
};

PodResourcesServer::PodResourcesServer(EventLoop& loop, const std::filesystem::path& socket)
    : service_(std::make_unique<Service>()) {
  std::filesystem::create_directories(socket.parent_path());
  std::filesystem::remove(socket);
  socket_ = std::make_unique<KubeletSocket>(loop, socket, [this](UniqueFd connection) {
    grpc::AddInsecureChannelFromFd(&service_->server(), connection.release());
  });
}

PodResourcesServer::~PodResourcesServer() = default;

void PodResourcesServer::show(const std::vector<DeviceBook::Holding>& holdings) {
  v1::ListPodResourcesResponse response;
  for (const DeviceBook::Holding& holding : holdings) {
    v1::PodResources& pod = *response.add_pod_resources();
    pod.set_name(holding.pod);
    pod.set_namespace_("default");
    v1::ContainerResources& container = *pod.add_containers();
    container.set_name(holding.container);
    for (const auto& [node, ids] : holding.ids) {
      for (const std::string& id : ids) {
        v1::ContainerDevices& devices = *container.add_devices();
        devices.set_resource_name(holding.resource);
        devices.add_device_ids(id);
      }
    }
  }
  service_->show(std::move(response));
}

void PodResourcesServer::show(const std::string& resource, const DeviceList& devices) {
  service_->show(resource, devices);
}

}  // namespace plughost
