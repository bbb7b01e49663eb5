#pragma once
// The kubelet's pod resources API on a socket: the holders, and the allocatable devices.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "kubelet/device_book.hpp"
#include "kubelet/registration_server.hpp"

namespace plughost {

// Loop thread only. The socket's file stays at the end, as a killed kubelet's does.
class PodResourcesServer {
 public:
  // Replaces whatever is at the path, and creates its directory. Throws std::system_error.
  PodResourcesServer(EventLoop& loop, const std::filesystem::path& socket);
  ~PodResourcesServer();
  PodResourcesServer& operator=(PodResourcesServer&&) = delete;

  // Sets the answer of List: one entry per device and NUMA node, as the kubelet's.
  void show(const std::vector<DeviceBook::Holding>& holdings);
  // Sets the resource's devices for GetAllocatableResources, which returns the Healthy ones.
  void show(const std::string& resource, const DeviceList& devices);

 private:
  class Service;
  std::unique_ptr<Service> service_;
  std::unique_ptr<KubeletSocket> socket_;
};

}  // namespace plughost
