#pragma once
// What the converters of single plugins are given, and what they give. Internal to convert.

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

// A configuration of plughost's that is being written.
struct ConfigDraft {
  Notes notes;                              // about all of it
  YamlDraft top = YamlDraft::map();         // what stands before the entries
  YamlDraft resources = YamlDraft::list();  // the entries
  bool names_join = false;                  // those of one name are one resource; else the last one counts
  bool joins_others = false;  // with those of that name of other configurations of its kind, too
  bool domain_is_a_guess = false;
};

// root is a map or a list; without a file it is an empty map. Problems that leave nothing to work with are
// reported; all else is a note.
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

// The bound of plughost's `replicas` and `count`.
inline constexpr unsigned kMostSharing = 10'000;
// At most kMostSharing; a note on the value says if it was more.
YamlDraft sharing_draft(unsigned theirs);

// An entry of the kind `gpu`.
YamlDraft gpu_entry(const char* name, const char* vendor);

// `domain`/`name`, both as they are: braces are no placeholders.
std::string literal_name(std::string_view domain, std::string_view name);

// An id of USB or PCI hardware as four digits, from one to four with or without 0x; empty: it is none.
std::string hardware_id(std::string_view text);
// A list of them. What is none is reported at node.
std::vector<std::string> hardware_ids(const std::vector<std::string>& texts, const Node& at,
                                      const std::string& path, Diagnostics& diagnostics);

// "a,b"
std::vector<std::string> words_between_commas(const std::string& list);

void add_notes(Notes& to, Notes notes);

// What the file says, or the command line, which wins.
std::optional<std::string> setting(LenientFields& file, const char* key, Arguments& arguments,
                                   const char* flag);

// Sets the entries' `when`: each applies on the nodes that theirs ran on, with the configuration that these
// have chosen.
void set_nodes(const FoundPlugin& found, ConfigDraft& draft);

}  // namespace plughost
