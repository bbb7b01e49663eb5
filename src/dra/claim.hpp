#pragma once
// A ResourceClaim as a driver sees it, and what it answers for one. Plain values. Source:
// k8s.io/api/resource/v1/types.go, k8s.io/kubelet/pkg/apis/dra/v1.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace plughost {

// All that the kubelet says of one.
struct ClaimRef {
  std::string uid;
  std::string name_space;
  std::string name;

  // "claim default/camera"
  std::string text() const { return "claim " + name_space + '/' + name; }
  auto operator<=>(const ClaimRef&) const = default;
};

// A device that has been allocated to it, of our driver.
struct AllocatedDevice {
  std::string request;  // "camera", or "camera/small" of a prioritized list
  std::string pool;
  std::string device;
  bool admin_access = false;
  std::optional<std::string> share_id;           // where several claims may share the device
  std::map<std::string, std::int64_t> consumed;  // of its capacity, by name

  // As the kubelet knows it: without the subrequest.
  std::string main_request() const { return request.substr(0, request.find('/')); }
  bool operator==(const AllocatedDevice&) const = default;
};

struct Claim {
  // A pod that it is reserved for.
  struct Consumer {
    std::string uid;
    std::string name;
    bool operator==(const Consumer&) const = default;
  };
  ClaimRef ref;
  bool allocated = false;
  bool reserved = false;                 // for anybody
  std::vector<AllocatedDevice> devices;  // of our driver alone, as the allocation has them
  std::vector<Consumer> consumers;
  bool operator==(const Claim&) const = default;
};

// One device of an answer to NodePrepareResources.
struct PreparedDevice {
  std::vector<std::string> requests;  // without subrequests
  std::string pool;
  std::string device;
  std::vector<std::string> cdi;  // the first one is the device's own
  std::optional<std::string> share_id;
  bool operator==(const PreparedDevice&) const = default;
};

// The devices, or why there are none, as a sentence that ends up in the pod's events.
using PrepareOutcome = std::variant<std::vector<PreparedDevice>, std::string>;

}  // namespace plughost
