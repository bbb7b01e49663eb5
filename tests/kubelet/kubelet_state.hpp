#pragma once
// The observable state of a stand-in kubelet. Plain values.

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/allocate/allocation.hpp"

namespace plughost {

struct ListedDevice {
  std::string id;
  bool healthy = false;
  std::vector<std::int64_t> numa_nodes;

  bool operator==(const ListedDevice&) const = default;
};
// Sorted by id; never null.
using DeviceList = std::shared_ptr<const std::vector<ListedDevice>>;
inline DeviceList no_devices() { return std::make_shared<const std::vector<ListedDevice>>(); }

struct EndpointOptions {
  bool pre_start_required = false;
  bool preferred_allocation_available = false;

  bool operator==(const EndpointOptions&) const = default;
};

struct ResourceState {
  using Clock = std::chrono::steady_clock;

  // One call of Register, or one socket found in plugins_registry.
  struct Registration {
    unsigned incarnation = 0;  // of the kubelet
    std::string endpoint;      // as sent
    EndpointOptions options;   // from Register; a socket in plugins_registry sends none
    Clock::time_point at;
    bool while_streaming = false;  // a stream was open already: kubernetes#121994 and #127803
    bool answered = false;         // Register has been answered
    std::string error;             // empty: success, or not decided yet
  };
  // An additional stream from open_second_stream().
  struct SecondStream {
    bool open = false;
    std::size_t lists = 0;
    DeviceList devices = no_devices();
  };

  std::size_t capacity = 0;
  std::size_t allocatable = 0;
  DeviceList devices = no_devices();  // the last list; all Unhealthy after the stream's end
  bool attached = false;              // the newest client's stream is open
  std::size_t streams = 0;            // open streams, including those of former clients
  std::size_t streams_ever = 0;
  std::size_t lists = 0;
  std::size_t lists_since_registration = 0;
  std::vector<Registration> registrations;
  std::optional<EndpointOptions> plugin_options;  // last answer to GetDevicePluginOptions
  std::optional<Clock::time_point> stream_opened;
  std::optional<Clock::time_point> first_list;  // of the newest stream
  std::optional<Clock::time_point> last_list;
  std::optional<Clock::time_point> stream_ended;
  SecondStream second;
};

struct KubeletState {
  bool listening = false;
  unsigned incarnation = 0;                        // 1 for the first
  std::map<std::string, ResourceState> resources;  // of all incarnations

  // Returns a new ResourceState for a resource that was never registered.
  const ResourceState& of(const std::string& resource) const {
    static const ResourceState kNothing;
    const auto found = resources.find(resource);
    return found == resources.end() ? kNothing : found->second;
  }
};

struct KubeletEvent {
  enum class Type {
    kListening,
    kStopped,
    kRegistering,         // Register was called, or a socket was found in plugins_registry
    kRegistered,          // text: the endpoint
    kRegistrationFailed,  // text: the answer
    kStreamOpened,
    kList,         // every list, including repetitions
    kStreamEnded,  // text: the reason
    kForgotten,    // the grace period has ended: the capacity is 0
    kError,        // error of the machine; text: the error
  };
  Type type = Type::kListening;
  std::string resource;
  std::string text;
  std::size_t devices = 0;  // kList, kStreamEnded
  std::size_t healthy = 0;
};

// The devices of one resource that one container holds.
struct PodDevices {
  std::string pod;
  std::string container;
  std::string resource;
  std::map<std::int64_t, std::vector<std::string>> ids;  // by NUMA node; -1: none
  Allocation answer;
};

struct Admission {
  std::string error;             // empty: admitted
  std::vector<std::string> ids;  // in the order of the request
  Allocation answer;

  bool admitted() const { return error.empty(); }
};

// A plugin's answer to a call, unchecked.
struct AllocateAnswer {
  int code = 0;  // gRPC status code
  std::string text;
  std::vector<Allocation> containers;
};
struct PreferredAnswer {
  int code = 0;
  std::string text;
  std::vector<std::vector<std::string>> containers;
};

}  // namespace plughost
