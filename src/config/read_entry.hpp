#pragma once
// Reads and checks one entry of `resources`, independently of the others. Thread-safe.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/document/diagnostics.hpp"
#include "base/document/fields.hpp"
#include "config/config.hpp"
#include "model/device/allocation_spec.hpp"

namespace plughost {

struct EntryDraft {
  ResourceConfig config;           // always has a spec; the name is empty if it could not be read
  const Node* document = nullptr;  // the text of the entry; must outlive the draft
  std::string kind;                // the registry's key
  std::string path;                // "resources[2]"
  bool sound = false;              // no error was found; otherwise the rest of config is meaningless
};

// `domain` is the prefix of names without '/'; empty: none.
EntryDraft read_entry(const Node& node, const std::string& path, std::string_view domain,
                      Diagnostics& diagnostics);

// Reads `only` and `except`. `attributes` are the attributes of the entry's devices, including "id".
Choice read_choice(Fields& entry, std::span<const std::string_view> attributes);

// Reads `replicas`: sets the spec's replicas and replicas_of.
void read_replicas(Fields& entry, std::span<const std::string_view> attributes, AllocationSpec& spec);

using Words = std::vector<std::string_view>;

// The placeholders of all kinds in the templates of an allocation.
inline constexpr std::string_view kCommonNames[] = {"resource", "resourceEnv", "count", "id", "n"};

// Returns the template with x for every placeholder, for checks before the values are known.
std::string sample(const Template& pattern);

void refuse_what_is_no_text(const Node& value, const std::string& path, Diagnostics& diagnostics);

// Reads `health`, `preStart`, `allocate`, `onRemove` and `whenUnhealthy`. `of_device` has the placeholders
// that the programs' arguments may use; `allocate` may use {resource} only.
void read_programs(Fields& entry, const Words& of_device, AllocationSpec& spec);

// Reads `env`, `annotations`, `mounts` and `nodes`. `known` has the placeholders of their templates.
void read_container(Fields& entry, const Words& known, AllocationSpec& spec);

}  // namespace plughost
