// Parses arbitrary bytes as a kubelet's checkpoint: parse() must return a checkpoint or throw
// std::runtime_error.

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>

#include "kubernetes/kubelet/checkpoint.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    plughost::Checkpoint::parse(std::string_view(reinterpret_cast<const char*>(data), size));
  } catch (const std::runtime_error&) {
    // Most inputs are invalid.
  }
  return 0;
}
