#pragma once
// Specifications of the Container Device Interface (CDI), by which a container runtime resolves device names.
// Pure functions of values, thread-safe. Source: SPEC.md and pkg/parser of the CDI project.

#include <string>
#include <string_view>
#include <vector>

#include "model/device/allocation_spec.hpp"
#include "model/device/inventory.hpp"

namespace plughost {

struct CdiEdits;

// Returns an id as a valid CDI name: letters, digits, '_', '-', '.' and ':', with a letter or a digit at both
// ends. Most ids are valid. Any other byte becomes _x and two hexadecimal digits; no two ids get one name.
std::string cdi_device_name(std::string_view id);

// Returns "vendor.example/class=device".
std::string cdi_qualified_name(std::string_view resource, std::string_view id);

// Returns why the resource's name cannot be a CDI kind, as a sentence; empty if it can.
std::string cdi_kind_error(std::string_view resource);

// Adds CDI names to `spec` in the given way: `name` for each device, and `others` for every container.
// `plugin` is a part of the annotation's key.
void add_cdi_names(KindSpec& spec, CdiNames way, std::string_view plugin, std::string_view name,
                   const std::vector<std::string>& others = {});

// Returns a resource's specification as JSON, the same for equal devices; empty if no device has CDI edits. A
// device that is gone is left out, because other hardware may be at its paths by now.
std::string cdi_specification(std::string_view resource, const AllocationSpec& spec,
                              const Inventory& inventory);

// Returns the specification that gives `edits` to a single name, which must be valid for CDI.
std::string cdi_specification(std::string_view resource, const std::string& name, const CdiEdits& edits,
                              const Device& device);

// Returns the file name of a resource's specification, different for each resource and each owner.
std::string cdi_file_name(std::string_view owner, std::string_view resource);

}  // namespace plughost
