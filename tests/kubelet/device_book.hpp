#pragma once
// The device manager's memory: which devices there are and which pod holds which. No I/O, not thread-safe.

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
    std::optional<Clock::time_point> stopped;  // when the endpoint was disconnected

    std::size_t healthy() const;
    const ListedDevice* find(const std::string& id) const;
  };
  // What the checkpoint keeps of a pod.
  struct Holding {
    std::string pod;
    std::string container;
    std::string resource;
    std::map<std::int64_t, std::vector<std::string>> ids;
    std::string answer;  // a serialised ContainerAllocateResponse
    bool ended = false;  // the pod: the checkpoint keeps it until the next Allocate

    std::vector<std::string> unique_ids() const;
  };
  // What an admission begins with: nothing but an error, what the container holds, or the ids to choose from.
  struct Choice {
    std::string error;
    const Holding* held = nullptr;
    std::vector<std::string> available;
  };

  DeviceBook() = default;
  // As read from a checkpoint: the resources have no devices and a stopped endpoint.
  DeviceBook(std::vector<Holding> holdings, const std::vector<std::string>& resources, Clock::time_point now);

  void connect(const std::string& resource, const EndpointOptions& options);
  // Allocatable is 0 from now on; a resource that was never connected is none.
  void disconnect(const std::string& resource, Clock::time_point now);
  void replace_list(const std::string& resource, std::vector<ListedDevice> devices);
  // Removes the resources whose endpoint stopped before that moment, and names them.
  std::vector<std::string> forget_stopped_before(Clock::time_point moment);
  std::optional<Clock::time_point> first_stop() const;

  Choice choose(const std::string& pod, const std::string& container, const std::string& resource,
                std::size_t count) const;
  void mark_allocated(const std::string& resource, const std::vector<std::string>& ids);
  // What is marked becomes what pods hold. The kubelet forgets to when a plugin sends no response at all.
  void forget_marks();
  const Holding& hold(const std::string& pod, const std::string& container, const std::string& resource,
                      const std::vector<std::string>& ids, std::string answer);
  // The pod has ended. Returns false if there is no such pod.
  bool end(const std::string& pod);
  // Frees the devices of pods that have ended [ManagerImpl.UpdateAllocatedDevices].
  void forget_ended();

  const Resource* find(const std::string& resource) const;
  const std::map<std::string, Resource>& resources() const { return resources_; }
  const std::vector<Holding>& holdings() const { return holdings_; }
  std::set<std::string> pods() const;

 private:
  std::map<std::string, Resource> resources_;
  std::map<std::string, std::set<std::string>> allocated_;  // by resource; outlives it
  std::vector<Holding> holdings_;
};

}  // namespace plughost
