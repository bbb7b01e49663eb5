#pragma once
// Specifications of the Container Device Interface (CDI), which tell a container runtime what the name of a
// device stands for. Pure functions of values, thread-safe. Source: SPEC.md and pkg/parser of the CDI
// project.

#include <string>
#include <string_view>
#include <vector>

#include "model/device/allocation_spec.hpp"
#include "model/device/inventory.hpp"

namespace plughost {

struct CdiEdits;

// An id as CDI's rule for names has it: letters, digits, '_', '-', '.' and ':', with a letter or a digit at
// both ends. Most ids keep to it; what a name cannot have becomes _x and two hexadecimal digits. No two ids
// have one name.
std::string cdi_device_name(std::string_view id);

// "vendor.example/class=device"
std::string cdi_qualified_name(std::string_view resource, std::string_view id);

// Why CDI cannot take the resource's name as a kind of devices, as a sentence; empty: it can.
std::string cdi_kind_error(std::string_view resource);

// Has the runtime told the names: `name` for each device, and the others whatever the devices. plugin: who
// says so, where an annotation has to have a key of its own.
void add_cdi_names(KindSpec& spec, CdiNames way, std::string_view plugin, std::string_view name,
                   const std::vector<std::string>& others = {});

// The specification of a resource whose spec asks for one: JSON, the same for the same devices. Empty:
// there is nothing to say of any device. A device that is gone is left out, because what stands at its paths
// by now may be another one.
std::string cdi_specification(std::string_view resource, const AllocationSpec& spec,
                              const Inventory& inventory);

// The specification of one name of the resource's, which is one of CDI's already, and what it stands for of
// that device.
std::string cdi_specification(std::string_view resource, const std::string& name, const CdiEdits& edits,
                              const Device& device);

// The file that holds all of a resource's, by a name that no other resource of that owner has, nor another
// owner's.
std::string cdi_file_name(std::string_view owner, std::string_view resource);

}  // namespace plughost
