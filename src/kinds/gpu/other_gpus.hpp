#pragma once
// The cards of AMD, Intel and Iluvatar, as the kernel and their drivers show them. Worker threads.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kinds/kind.hpp"

namespace plughost {

// Whose cards are found by their drm nodes.
struct DrmVendor {
  std::string_view name;                       // "amd"
  std::string_view id;                         // "1002"
  std::vector<std::string_view> classes;       // of PCI: what their codes begin with
  std::vector<std::string_view> drivers;       // those that make them GPUs
  std::vector<std::string_view> shared_nodes;  // that all of its cards need
};

// Every card of the vendor in these classes, but virtual functions and what is given to virtual machines.
// Unhealthy: no driver, another driver, a node is missing, or the driver shows that the card needs a reset.
std::vector<Device> drm_gpus(const HostRoot& host, const DrmVendor& vendor, Scan& scan);

// By their nodes. In a container they are numbered from 0.
std::vector<Device> iluvatar_gpus(const HostRoot& host, Scan& scan);
// What these bring into a container.
const std::shared_ptr<const KindRecipe>& iluvatar_recipe();

}  // namespace plughost
