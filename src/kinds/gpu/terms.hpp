#pragma once
// What an entry of the kind `gpu` asks for. Internal to the kind. Thread-safe.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/document/fields.hpp"
#include "kinds/gpu/nvidia_gpus.hpp"
#include "model/device/allocation_spec.hpp"

namespace plughost {

// The vendor in the CDI names of NVIDIA's device plugin.
inline constexpr std::string_view kNvidiaCdiVendor = "k8s.device-plugin.nvidia.com";

// How a container gets NVIDIA's cards, as NVIDIA's own device plugin gives them. Source:
// internal/plugin/server.go of NVIDIA/k8s-device-plugin.
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
std::shared_ptr<const KindSpec> nvidia_spec(const NvidiaInjection& injection);

// A card's or a MIG device's name in the CDI specification of NVIDIA's plugin.
std::string nvidia_cdi_name(const std::string& visible);

enum class GpuVendor { kAuto, kNvidia, kAmd, kIntel, kIluvatar };

struct GpuTerms {
  GpuVendor vendor = GpuVendor::kAuto;
  NvidiaInjection injection;
  NvidiaGpus::Terms nvidia;
  std::string nvidia_ctk;   // its path; empty: it is looked for
  std::string driver_root;  // of NVIDIA's driver; empty: the machine's own
  CardUnit unit;            // a whole card unless one of them is set
  bool span_cards = false;  // a container may have units of several cards
  std::optional<AssumeTerms> assume;
};

// The value of the key `gpu`. The XIDs that NVIDIA's plugin takes from the environment are taken from there.
GpuTerms read_gpu_terms(Fields& fields);
// The value of the key `assume` of an entry whose `gpu` says terms; nullopt: it has none.
std::optional<AssumeTerms> read_assume(Fields& entry, const GpuTerms& terms);

}  // namespace plughost
