#pragma once
// Converts between our values and the messages of the device plugin API. Thread-safe.

#include <optional>
#include <string_view>

#include "model/allocate/allocation.hpp"

namespace v1beta1 {
class ContainerAllocateResponse;
class ListAndWatchResponse;
}  // namespace v1beta1

namespace plughost {

void write_allocation(const Allocation& allocation, v1beta1::ContainerAllocateResponse& out);
void write_list(const Inventory& inventory, v1beta1::ListAndWatchResponse& out);

Allocation read_allocation(const v1beta1::ContainerAllocateResponse& message);

// Parses a ContainerAllocateResponse from the kubelet's checkpoint; nullopt if the bytes are malformed.
std::optional<Allocation> parse_allocation(std::string_view bytes);

}  // namespace plughost
