#pragma once
// The interface of the converters of single plugins. Internal to convert.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/document/diagnostics.hpp"
#include "base/document/node.hpp"
#include "tools/convert/converters/lenient_fields.hpp"
#include "tools/convert/converters/yaml_draft.hpp"
#include "tools/convert/manifests/arguments.hpp"
#include "tools/convert/manifests/manifests.hpp"

namespace plughost {

// A configuration of plughost under construction.
struct ConfigDraft {
  Notes notes;                              // on the whole configuration
  YamlDraft top = YamlDraft::map();         // settings before the entries
  YamlDraft resources = YamlDraft::list();  // the entries
  bool names_join = false;    // entries of one name form one resource; otherwise the last one counts
  bool joins_others = false;  // entries also join entries of the plugin's other configurations
  bool domain_is_a_guess = false;
};

// `root` is a map or a list; without a file it is an empty map. Reports problems that leave nothing to
// convert; everything else becomes a note.
using Convert = void(const Node& root, Arguments& arguments, ConfigDraft& draft, Diagnostics& diagnostics);
Convert convert_akri;
Convert convert_generic;
Convert convert_gpushare;
Convert convert_intel_gpu;
Convert convert_kubevirt;
Convert convert_microshift;
Convert convert_mini;
Convert convert_nvidia;
Convert convert_rdma_shared;
Convert convert_rocm;
Convert convert_smarter;
Convert convert_sriov;
Convert convert_volcano;

// Limit of plughost's `replicas` and `count`.
inline constexpr unsigned kMostSharing = 10'000;
// Returns the number, at most kMostSharing; adds a note if it was larger.
YamlDraft sharing_draft(unsigned theirs);

YamlDraft gpu_entry(const char* name, const char* vendor);

// Returns `domain`/`name` with escaped braces, so that they are no placeholders.
std::string literal_name(std::string_view domain, std::string_view name);

// Returns an id of USB or PCI hardware as four digits. Accepts one to four digits, with or without 0x.
// Returns an empty text for anything else.
std::string hardware_id(std::string_view text);
// Returns the ids, and reports invalid ones at `at`.
std::vector<std::string> hardware_ids(const std::vector<std::string>& texts, const Node& at,
                                      const std::string& path, Diagnostics& diagnostics);

std::vector<std::string> words_between_commas(const std::string& list);

void add_notes(Notes& to, Notes notes);

// Returns the setting of the command line, or else of the file.
std::optional<std::string> setting(LenientFields& file, const char* key, Arguments& arguments,
                                   const char* flag);

// Sets `when` in the entries, so that each applies to the nodes that ran the plugin with this configuration.
void set_nodes(const FoundPlugin& found, ConfigDraft& draft);

}  // namespace plughost
