#pragma once
// The kubelet's pod resources API on a socket: the holders, and the allocatable devices.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "kubelet/device_book.hpp"
#include "kubelet/registration_server.hpp"

namespace plughost {

// Loop thread only. The destructor leaves the socket's file, as a killed kubelet does.
class PodResourcesServer {
 public:
  // Replaces any file at the path, and creates the path's directory. Throws std::system_error.
  PodResourcesServer(EventLoop& loop, const std::filesystem::path& socket);
  ~PodResourcesServer();
  PodResourcesServer& operator=(PodResourcesServer&&) = delete;

  // Sets the response of List: one entry per device and NUMA node, as the kubelet sends it.
  void show(const std::vector<DeviceBook::Holding>& holdings);
  // Sets the resource's devices for GetAllocatableResources, which returns the Healthy ones.
  void show(const std::string& resource, const DeviceList& devices);

 private:
  class Service;
  std::unique_ptr<Service> service_;
  std::unique_ptr<KubeletSocket> socket_;
};

}  // namespace plughost
