#pragma once
// What an entry of the kind `gpu` asks for. Internal to the kind. Thread-safe.

#include <cstdint>
#include <optional>
#include <string>

#include "device/assume_terms.hpp"
#include "device/recipe.hpp"
#include "document/fields.hpp"
#include "kinds/gpu/nvidia_gpus.hpp"
#include "kinds/gpu/nvidia_injection.hpp"

namespace plughost {

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
