#pragma once
// The JSON documents of programs: docs/exec.schema.json and docs/exec-allocate.schema.json. Thread-safe.

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "model/allocate/allocation.hpp"
#include "model/allocate/resource_snapshot.hpp"
#include "model/device/device.hpp"

namespace plughost {

// Thrown for an invalid document. what() has the place and what is valid: "devices[2] ('sda').numa: …".
struct DocumentError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Returns the devices in the document's order. Unknown keys, repeated keys and values of wrong types are
// errors. Throws DocumentError.
std::vector<Device> read_exec_document(std::string_view text);

// Returns the request to an `allocate` program, on one line: the snapshot's devices that a container gets.
// `ids` are as the kubelet sent them, and all belong to the snapshot.
std::string allocation_request(const ResourceSnapshot& snapshot, std::span<const std::string> ids);
// Reads the output of an `allocate` program, as strictly as read_exec_document(). Paths are absolute; all
// texts are literal, not templates. Throws DocumentError.
Allocation read_allocation_document(std::string_view text);

}  // namespace plughost
