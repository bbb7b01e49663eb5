#pragma once
// The interface of the converters of single plugins. Internal to convert.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/document/diagnostics.hpp"
#include "base/document/node.hpp"
#include "tools/convert/converters/yaml_draft.hpp"
#include "tools/convert/manifests/arguments.hpp"
#include "tools/convert/manifests/manifests.hpp"
#include "tools/convert/peers/peers.hpp"

namespace plughost {

// The errors of one configuration, and which of its values were read. Not thread-safe.
class Reading : public Diagnostics {
 public:
  void record(const Node& value) { became_.try_emplace(value.mark.text()); }
  // Records what a value has become: "becomes gpu.mig".
  void record(const Node& value, std::string what) { became_[value.mark.text()] = std::move(what); }
  // Returns what the value has become; empty if only the converter knows; nullopt if it was not read.
  std::optional<std::string> became(const Node& value) const {
    const auto found = became_.find(value.mark.text());
    return found == became_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::map<std::string, std::string> became_;  // by the value's place
};

// Reads a map of another plugin's configuration leniently: a value of the wrong type is an error, an unknown
// key is a note. Keys are case-insensitive, as in Go's JSON. Not thread-safe.
class LenientFields {
 public:
  // `node` and `diagnostics` must outlive this object. `path` is the map's position in the document, for
  // messages.
  LenientFields(const Node& node, std::string path, Reading& diagnostics);

  // Absent and null values return nullptr, nullopt or no items.
  const Node* node(std::string_view key);
  std::optional<std::string> text(std::string_view key);
  // Reports an error and returns an empty text if the key is absent or empty.
  std::string require_text(std::string_view key);
  std::optional<bool> flag(std::string_view key);
  // Reads decimal digits; larger values become 4294967295.
  std::optional<unsigned> number(std::string_view key);
  // Reads a list of scalars; a single scalar is a list of one.
  std::vector<std::string> texts(std::string_view key);
  const std::vector<Node>& items(std::string_view key);

  void error(const Node& at, std::string_view key, std::string what);
  std::string path_of(std::string_view key) const;
  // Returns the map's place and its position in the document: "a.yaml:3:3: devices[0]".
  std::string origin() const { return node_.mark.text() + ": " + path_; }
  // Returns a loss "`x`, `y`: not known to plughost, and left out" if some keys were never read.
  Notes notes() const;
  Reading& diagnostics() { return diagnostics_; }

 private:
  const Node* scalar(std::string_view key);
  void refuse(const Node& at, std::string_view key, const char* wanted);

  const Node& node_;
  std::string path_;
  Reading& diagnostics_;
  std::vector<std::string> asked_;
};

// A configuration of plughost under construction.
struct ConfigDraft {
  Notes notes;                              // on the whole configuration
  YamlDraft top = YamlDraft::map();         // settings before the entries
  YamlDraft resources = YamlDraft::list();  // the entries
  bool names_join = false;    // entries of one name form one resource; otherwise the last one counts
  bool joins_others = false;  // entries also join entries of the plugin's other configurations
  bool domain_is_a_guess = false;
  bool without_remarks = false;           // those of the plugin's table do not apply
  std::vector<std::string> explanations;  // what became of each flag, variable and key
};

// `root` is a map or a list; without a file it is an empty map. Reports problems that leave nothing to
// convert; everything else becomes a note.
using Convert = void(const Node& root, Arguments& arguments, ConfigDraft& draft, Reading& diagnostics);
Convert convert_akri;
Convert convert_generic;
Convert convert_intel_gpu;
Convert convert_kubevirt;
Convert convert_microshift;
Convert convert_nvidia;
Convert convert_rdma_shared;
Convert convert_smarter;
Convert convert_sriov;
Convert convert_volcano;

// Limit of plughost's `replicas` and `count`.
inline constexpr unsigned kMostSharing = 10'000;
// Returns the number, at most kMostSharing; adds a note if it was larger.
YamlDraft sharing_draft(unsigned theirs);

// Returns `domain`/`name` with escaped braces, so that they are no placeholders.
std::string literal_name(std::string_view domain, std::string_view name);

// Returns an id of USB or PCI hardware as four digits. Accepts one to four digits, with or without 0x.
// Returns an empty text for anything else.
std::string hardware_id(std::string_view text);
// Returns the ids, and reports invalid ones at `at`.
std::vector<std::string> hardware_ids(const std::vector<std::string>& texts, const Node& at,
                                      const std::string& path, Reading& diagnostics);

std::vector<std::string> words_between_commas(const std::string& list);

void add_notes(Notes& to, Notes notes);

// Sets `when` in the entries, so that each applies to the nodes that ran the plugin with this configuration.
void set_nodes(const FoundPlugin& found, ConfigDraft& draft);

// The settings of a plugin by the table of its peer, as its command line, its variables and its file give
// them. Not thread-safe.
class PeerSettings {
 public:
  // The arguments must outlive this object. Without a file, `root` is an empty map.
  PeerSettings(OtherPlugin plugin, const Node& root, Arguments& arguments, Reading& diagnostics)
      : PeerSettings(peer_of(plugin), root, "", arguments, diagnostics) {}
  // Reads an item of the plugin's list, at `path`, by a table of its own.
  PeerSettings(const Node& table, const Node& root, std::string path, Arguments& arguments,
               Reading& diagnostics);

  // `name` is the key of a setting in the table, or the flag of a setting without a key. If the setting is
  // absent, they return the table's fallback; nullopt, false or nothing if it has none.
  std::optional<std::string> text(std::string_view name);
  bool truth(std::string_view name);
  std::vector<std::string> texts(std::string_view name);
  // Returns the place of the key's value.
  Mark mark(std::string_view name);

  // Returns the map at a path of the file, for keys that the table does not have.
  LenientFields& map(const std::string& path);

  // Adds the table's entry and the settings before it, with the settings that say where to. Returns the
  // entry.
  YamlDraft& write(ConfigDraft& draft);
  // Adds notes on what is left out or different: settings by the table, and unknown keys of the maps.
  void finish(Notes& notes);

 private:
  const Node& row(std::string_view name) const;
  std::optional<std::string> text_of(const Node& row);
  bool truth_of(const Node& row);
  std::vector<std::string> texts_of(const Node& row);
  void write(const Node& row, YamlDraft& entry);
  void finish(const Node& row, Notes& notes);
  const Node* node(const Node& row);  // in the file

  const Node& table_;
  const Node& root_;
  std::string path_;
  Arguments& arguments_;
  Reading& diagnostics_;
  std::map<std::string, LenientFields> maps_;  // by path
};

// Adds what the table of the plugin says in any case.
void add_remarks(OtherPlugin plugin, Notes& notes);

// Converts the settings of a plugin that needs no more than its table.
void convert_by_table(OtherPlugin plugin, const Node& root, Arguments& arguments, ConfigDraft& draft,
                      Reading& diagnostics);

}  // namespace plughost
