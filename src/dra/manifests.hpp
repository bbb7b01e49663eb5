#pragma once
// What a cluster's administrator applies so that pods can claim a driver's devices: objects of Kubernetes.
// Pure functions, thread-safe. Sources: k8s.io/api/resource/v1/types.go,
// k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"

namespace plughost {

// An entry with `advertise: dra`.
struct ClaimableEntry {
  std::string name;  // as it is written: "example.com/camera"
  std::string near;  // the name of another one; empty: none
  // What a request takes of a device that several claims share, by the capacity's name: {"memory", "1Gi"}.
  // nullopt: the device, or one of its shares.
  struct Part {
    std::string capacity;
    std::string amount;
  };
  std::optional<Part> part;
  bool one_resource = true;  // its name is that of a resource, and not of several
};

// "camera.example.com": a DNS subdomain, and no two entries have one.
std::string device_class_name(std::string_view entry);

// A DeviceClass for each entry: all of its devices, on whatever node. Where an id would be a device pods that
// ask for the entry's resource, as they do of a device plugin, get one of them, too.
std::vector<Json> device_classes(std::string_view driver, const std::vector<ClaimableEntry>& entries);

// A ResourceClaimTemplate for each entry, of one device or part; and for each pair of which one is to be near
// the other, one with both, below one PCIe root.
std::vector<Json> claim_templates(const std::vector<ClaimableEntry>& entries);

// What a role may do.
struct RoleRule {
  std::string group;     // "resource.k8s.io"; empty: the core's
  std::string resource;  // "resourceslices"
  std::vector<std::string> verbs;
};

// A ServiceAccount, what it may do, and a policy that has it write slices of that driver alone, and of no
// node but the one on which its pod runs.
std::vector<Json> driver_access(std::string_view driver, std::string_view name_space,
                                std::string_view account, const std::vector<RoleRule>& rules);

// As Kubernetes writes a whole number of bytes: "16Gi", "100Mi", "1000".
std::string bytes_quantity(std::uint64_t bytes);

}  // namespace plughost
