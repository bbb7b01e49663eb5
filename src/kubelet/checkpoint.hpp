#pragma once
// The kubelet's checkpoint: which pod holds which device. Read, never written. Thread-safe.

#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "device/allocation.hpp"
#include "kubelet/holdings.hpp"

namespace plughost {

inline constexpr const char* kCheckpointName = "kubelet_internal_checkpoint";

struct Checkpoint {
  struct PodDevices {
    std::string pod_uid;
    std::string container;
    std::string resource;
    std::map<int, std::vector<std::string>> ids;  // by NUMA node; -1: none (all, before Kubernetes 1.20)
    std::optional<Allocation> allocation;         // nullopt: what is stored is no answer of a plugin

    bool operator==(const PodDevices&) const = default;
  };
  std::vector<PodDevices> pod_devices;
  std::map<std::string, std::vector<std::string>> registered;  // healthy ids by resource

  // Both formats: DeviceIDs as a map by NUMA node (since 1.20) and as a list.
  // Throws std::runtime_error with a sentence that says what is not as it should be.
  static Checkpoint parse(std::string_view text);
  // The same of a file. May block. Throws std::system_error as well.
  static Checkpoint read(const std::filesystem::path& file);

  Holdings holdings() const;
};

}  // namespace plughost
