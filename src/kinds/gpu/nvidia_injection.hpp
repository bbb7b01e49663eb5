#pragma once
// What a container gets for NVIDIA's cards, as NVIDIA's own device plugin gives it. Pure functions of values,
// thread-safe. Source: internal/plugin/server.go of NVIDIA/k8s-device-plugin.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/recipe.hpp"

namespace plughost {

// The vendor in the CDI names of NVIDIA's device plugin.
inline constexpr std::string_view kNvidiaCdiVendor = "k8s.device-plugin.nvidia.com";

struct NvidiaInjection {
  // deviceListStrategy: any of them together.
  bool envvar = true;
  bool volume_mounts = false;
  bool cdi_annotations = false;
  bool cdi_cri = false;

  bool by_index = false;  // deviceIDStrategy: devices are named to the runtime by their index, else by UUID
  bool pass_device_specs = false;
  bool gds = false;
  bool mofed = false;
  bool gdrcopy = false;
  bool mps = false;
  std::string mps_root = "/run/nvidia/mps";
  std::vector<std::string> imex_channels;  // numbers

  bool by_cdi() const { return cdi_annotations || cdi_cri; }
};

// The templates name the attributes {visible} and {cdi} of the devices: see cdi_name.
std::shared_ptr<const KindRecipe> nvidia_recipe(const NvidiaInjection& injection);

// A card's or a MIG device's name in the CDI specification of NVIDIA's plugin.
std::string nvidia_cdi_name(const std::string& visible);

}  // namespace plughost
