#pragma once
// Specifications of the Container Device Interface (CDI), which tell a container runtime what the name of a
// device stands for. Pure functions of values, thread-safe. Source: SPEC.md and pkg/parser of the CDI
// project.

#include <string>
#include <string_view>
#include <vector>

#include "device/inventory.hpp"
#include "device/recipe.hpp"

namespace plughost {

struct CdiEdits;
class Json;

// The version of a specification that moves network interfaces: containerd has known it since 2.2.1, and an
// older one refuses the whole file.
inline constexpr const char* kCdiOfInterfaces = "1.1.0";

// The `containerEdits` of a specification.
Json cdi_edits_json(const CdiEdits& edits);

// An id as CDI's rule for names has it: letters, digits, '_', '-', '.' and ':', with a letter or a digit at
// both ends. Most ids keep to it; what a name cannot have becomes _x and two hexadecimal digits. No two ids
// have one name.
std::string cdi_device_name(std::string_view id);

// "vendor.example/class=device"
std::string cdi_qualified_name(std::string_view resource, std::string_view id);

// Why CDI cannot take the resource's name as a kind of devices, as a sentence; empty: it can.
std::string cdi_kind_trouble(std::string_view resource);

// Has the runtime told the names: `name` for each device, and the others whatever the devices. plugin: who
// says so, where an annotation has to have a key of its own.
void add_cdi_names(KindRecipe& recipe, CdiNames way, std::string_view plugin, std::string_view name,
                   const std::vector<std::string>& others = {});

// The specification of a resource whose recipe asks for one: JSON, the same for the same devices. Empty:
// there is nothing to say of any device. A device that is gone is left out, because what stands at its paths
// by now may be another one.
std::string cdi_specification(std::string_view resource, const Recipe& recipe, const Inventory& inventory);

// The specification of one device by that name, which is a CDI name already.
std::string cdi_specification(std::string_view resource, const std::string& device, const CdiEdits& edits);

// The file that holds it, by a name that no other resource of that owner has, nor another owner's.
std::string cdi_file_name(std::string_view owner, std::string_view resource);

}  // namespace plughost
