#pragma once
// Between our values and the bytes of the device-plugin API. Thread-safe.

#include <optional>
#include <string>
#include <string_view>

#include "device/allocation.hpp"

namespace v1beta1 {
class ContainerAllocateResponse;
class ListAndWatchResponse;
}  // namespace v1beta1

namespace plughost {

void write_allocation(const Allocation& allocation, v1beta1::ContainerAllocateResponse& out);
void write_list(const Inventory& inventory, v1beta1::ListAndWatchResponse& out);

Allocation read_allocation(const v1beta1::ContainerAllocateResponse& message);

// A ContainerAllocateResponse as the kubelet stores it in its checkpoint. Equal allocations give equal bytes.
std::string serialize_allocation(const Allocation& allocation);
// nullopt: the bytes are no ContainerAllocateResponse.
std::optional<Allocation> parse_allocation(std::string_view bytes);

}  // namespace plughost
