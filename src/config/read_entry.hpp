#pragma once
// One entry of `resources`, and each part of it, read and checked by itself. Thread-safe.

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
  ResourceConfig config;           // never without a spec; its name is empty if it could not be read
  const Node* document = nullptr;  // what was written; it outlives the draft
  std::string kind;                // the registry's key
  std::string path;                // "resources[2]"
  bool sound = false;              // nothing was wrong with it: only then the rest of config means something
};

// domain: the prefix of a name without '/'; empty if there is none.
EntryDraft read_entry(const Node& node, const std::string& path, std::string_view domain,
                      Diagnostics& diagnostics);

// Reads `only` and `except`. attributes: what the entry's devices have, "id" among them.
Choice read_choice(Fields& entry, std::span<const std::string_view> attributes);

// Reads `replicas`: sets the spec's replicas and replicas_of.
void read_replicas(Fields& entry, std::span<const std::string_view> attributes, AllocationSpec& spec);

using Words = std::vector<std::string_view>;

// The placeholders of every kind in the templates of an allocation.
inline constexpr std::string_view kCommonNames[] = {"resource", "resourceEnv", "count", "id", "n"};

// The template with x for every placeholder: what can be checked before the values are known.
std::string sample(const Template& pattern);

void refuse_what_is_no_text(const Node& value, const std::string& path, Diagnostics& diagnostics);

// `health`, `preStart`, `allocate`, `onRemove` and `whenUnhealthy`. of_device: what their words may name.
void read_programs(Fields& entry, const Words& of_device, AllocationSpec& spec);

// `env`, `annotations`, `mounts` and `nodes`. known: what their templates may name.
void read_container(Fields& entry, const Words& known, AllocationSpec& spec);

}  // namespace plughost
