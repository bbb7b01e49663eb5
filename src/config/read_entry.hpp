#pragma once
// One entry of `resources`, read and checked by itself. Thread-safe.

#include <string>
#include <string_view>

#include "config/config.hpp"
#include "document/diagnostics.hpp"

namespace plughost {

struct EntryDraft {
  ResourceConfig config;           // never without a recipe; its name is empty if it could not be read
  const Node* document = nullptr;  // what was written; it outlives the draft
  std::string kind;                // the registry's key
  std::string path;                // "resources[2]"
  bool sound = false;              // nothing was wrong with it: only then the rest of config means something
};

// domain: the prefix of a name without '/'; empty if there is none.
EntryDraft read_entry(const Node& node, const std::string& path, std::string_view domain,
                      Diagnostics& diagnostics);

}  // namespace plughost
