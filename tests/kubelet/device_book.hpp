#pragma once
// The device manager's state: the devices, and the pods that hold them. No I/O; not thread-safe.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kubelet/kubelet_state.hpp"

namespace plughost {

class DeviceBook {
 public:
  using Clock = std::chrono::steady_clock;

  struct Resource {
    DeviceList devices = no_devices();
    EndpointOptions options;
    std::optional<Clock::time_point> stopped;  // time when the endpoint was disconnected

    std::size_t healthy() const;
    const ListedDevice* find(const std::string& id) const;
  };
  // A pod's record in the checkpoint.
  struct Holding {
    std::string pod;
    std::string container;
    std::string resource;
    std::map<std::int64_t, std::vector<std::string>> ids;
    std::string answer;  // a serialized ContainerAllocateResponse
    bool ended = false;  // the pod has ended; the checkpoint keeps it until the next Allocate

    std::vector<std::string> unique_ids() const;
  };
  // The start of an admission: an error, the ids that the container already holds, or the ids that can be
  // allocated.
  struct Choice {
    std::string error;
    const Holding* held = nullptr;
    std::vector<std::string> available;
  };

  DeviceBook() = default;
  // Restores a checkpoint: the resources have no devices, and their endpoints are stopped.
  DeviceBook(std::vector<Holding> holdings, const std::vector<std::string>& resources, Clock::time_point now);

  void connect(const std::string& resource, const EndpointOptions& options);
  // Sets Allocatable to 0. Ignores a resource that was never connected.
  void disconnect(const std::string& resource, Clock::time_point now);
  void replace_list(const std::string& resource, std::vector<ListedDevice> devices);
  // Removes the resources whose endpoint stopped before `moment`, and returns their names.
  std::vector<std::string> forget_stopped_before(Clock::time_point moment);
  std::optional<Clock::time_point> first_stop() const;

  Choice choose(const std::string& pod, const std::string& container, const std::string& resource,
                std::size_t count) const;
  void mark_allocated(const std::string& resource, const std::vector<std::string>& ids);
  // Resets the marks to the devices that pods hold. The kubelet omits this when Allocate returns no container
  // response.
  void forget_marks();
  const Holding& hold(const std::string& pod, const std::string& container, const std::string& resource,
                      const std::vector<std::string>& ids, std::string answer);
  // Ends the pod. Returns false if it does not exist.
  bool end(const std::string& pod);
  // Frees the devices of ended pods [ManagerImpl.UpdateAllocatedDevices].
  void forget_ended();

  const Resource* find(const std::string& resource) const;
  const std::map<std::string, Resource>& resources() const { return resources_; }
  const std::vector<Holding>& holdings() const { return holdings_; }
  std::set<std::string> pods() const;

 private:
  std::map<std::string, Resource> resources_;
  std::map<std::string, std::set<std::string>> allocated_;  // by resource, also after forgetting it
  std::vector<Holding> holdings_;
};

}  // namespace plughost
