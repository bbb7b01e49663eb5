// Parses arbitrary bytes as a kubelet's checkpoint: the result is an answer or a sentence, never anything
// else.

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>

#include "kubernetes/kubelet/checkpoint.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    plughost::Checkpoint::parse(std::string_view(reinterpret_cast<const char*>(data), size));
  } catch (const std::runtime_error&) {
    // The usual result.
  }
  return 0;
}
