#pragma once
// What programs are told and say of devices, in JSON: docs/exec.schema.json and
// docs/exec-allocate.schema.json. Thread-safe.

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "model/allocate/allocation.hpp"
#include "model/allocate/resource_snapshot.hpp"
#include "model/device/device.hpp"

namespace plughost {

// The document is not as it should be; what() says where, and what would be right: "devices[2] ('sda').numa:
// …".
struct DocumentError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The devices, in the document's order. Strict: unknown keys, keys that are there twice and values of the
// wrong type are errors. Throws DocumentError.
std::vector<Device> read_exec_document(std::string_view text);

// The request to a program of `allocate`, in a line: which devices of the snapshot a container gets. ids: as
// the kubelet gave them, all of them the snapshot's.
std::string allocation_request(const ResourceSnapshot& snapshot, std::span<const std::string> ids);
// What it answers. Strict as the other; paths are absolute, and what it says is text and no template. Throws
// DocumentError.
Allocation read_allocation_document(std::string_view text);

}  // namespace plughost
