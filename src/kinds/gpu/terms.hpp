#pragma once
// The configuration of an entry of the kind `gpu`. Internal to the kind. Thread-safe.

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

// How NVIDIA's cards are passed into a container, with the options of NVIDIA's device plugin. Source:
// internal/plugin/server.go of NVIDIA/k8s-device-plugin.
struct NvidiaInjection {
  // deviceListStrategy: any combination.
  bool envvar = true;
  bool volume_mounts = false;
  bool cdi_annotations = false;
  bool cdi_cri = false;

  bool by_index = false;  // deviceIDStrategy: devices are named by index instead of UUID
  bool pass_device_specs = false;
  bool gds = false;
  bool mofed = false;
  bool gdrcopy = false;
  bool mps = false;
  std::string mps_root = "/run/nvidia/mps";
  std::vector<std::string> imex_channels;  // numbers

  bool by_cdi() const { return cdi_annotations || cdi_cri; }
};

// Returns what NVIDIA's cards add to a container: templates with {visible} and {cdi} (nvidia_cdi_name()).
std::shared_ptr<const KindSpec> nvidia_spec(const NvidiaInjection& injection);

// Returns the name of a card or MIG device in the CDI specification of NVIDIA's plugin.
std::string nvidia_cdi_name(const std::string& visible);

enum class GpuVendor { kAuto, kNvidia, kAmd, kIntel, kIluvatar };

struct GpuTerms {
  GpuVendor vendor = GpuVendor::kAuto;
  NvidiaInjection injection;
  NvidiaGpus::Terms nvidia;
  std::string nvidia_ctk;   // its path; empty: the default places are searched
  CardUnit unit;            // a whole card unless a member is set
  bool span_cards = false;  // a container may have units of several cards
  std::optional<AssumeTerms> assume;
};

// Reads the key `gpu`, and the XIDs from the environment variables that NVIDIA's plugin reads.
GpuTerms read_gpu_terms(Fields& fields);
// Reads the key `assume` of an entry whose `gpu` has these terms; nullopt: absent.
std::optional<AssumeTerms> read_assume(Fields& entry, const GpuTerms& terms);

}  // namespace plughost
