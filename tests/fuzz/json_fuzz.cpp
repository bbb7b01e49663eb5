// Parses arbitrary bytes as a node's labels, and as JSON: Json::parse must return a value or throw
// std::runtime_error.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "base/text/json.hpp"
#include "host/hardware/node_labels.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  plughost::node_labels_of(text);
  try {
    const plughost::Json json = plughost::Json::parse(text);
    // The output must parse to the same value.
    if (plughost::Json::parse(json.dump()) != json) std::abort();
  } catch (const std::runtime_error&) {
    // Most inputs are invalid.
  }
  return 0;
}
