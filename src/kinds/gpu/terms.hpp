#pragma once
// What an entry of the kind `gpu` asks for. Internal to the kind. Thread-safe.

#include <cstdint>
#include <string>

#include "document/fields.hpp"
#include "kinds/gpu/nvidia_gpus.hpp"
#include "kinds/gpu/nvidia_injection.hpp"

namespace plughost {

enum class GpuVendor { kAuto, kNvidia, kAmd, kIntel, kIluvatar };

// What one id stands for: a whole card unless one of them is set.
struct GpuUnit {
  static constexpr std::uint64_t kMiB = 1u << 20;
  static constexpr unsigned kCoresOfACard = 100;

  std::uint64_t memory = 0;  // bytes
  unsigned cores = 0;        // of kCoresOfACard
};

struct GpuTerms {
  GpuVendor vendor = GpuVendor::kAuto;
  NvidiaInjection injection;
  NvidiaGpus::Terms nvidia;
  std::string nvidia_ctk;   // its path; empty: it is looked for
  std::string driver_root;  // of NVIDIA's driver; empty: the machine's own
  GpuUnit unit;
};

// The value of the key `gpu`. The XIDs that NVIDIA's plugin takes from the environment are taken from there.
GpuTerms read_gpu_terms(Fields& fields);

}  // namespace plughost
