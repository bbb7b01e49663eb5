#pragma once
// The kubelet's pod resources, on a socket: who holds what, and what there is.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "kubelet/device_book.hpp"
#include "kubelet/registration_server.hpp"

namespace plughost {

// Loop thread only. The socket's file outlives it, as a killed kubelet's does.
class PodResourcesServer {
 public:
  // Takes the place of whatever is at the path, and makes its directory. Throws std::system_error.
  PodResourcesServer(EventLoop& loop, const std::filesystem::path& socket);
  ~PodResourcesServer();
  PodResourcesServer& operator=(PodResourcesServer&&) = delete;

  // What List answers from now on: one entry per device and NUMA node, as the kubelet's.
  void show(const std::vector<DeviceBook::Holding>& holdings);
  // Of that resource GetAllocatableResources answers the Healthy ones from now on.
  void show(const std::string& resource, const DeviceList& devices);

 private:
  class Service;
  std::unique_ptr<Service> service_;
  std::unique_ptr<KubeletSocket> socket_;
};

}  // namespace plughost
