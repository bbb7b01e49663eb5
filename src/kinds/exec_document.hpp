#pragma once
// What a program says of its devices: the JSON document of docs/exec.schema.json. Thread-safe.

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.hpp"

namespace plughost {

// The document is not as it should be; what() says where, and what would be right: "devices[2] ('sda').numa:
// …".
struct DocumentError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The devices, in the document's order. Strict: unknown keys, keys that are there twice and values of the
// wrong type are errors. Throws DocumentError.
std::vector<Device> read_exec_document(std::string_view text);

}  // namespace plughost
