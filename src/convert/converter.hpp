#pragma once
// What the converters of single plugins are given, and what they give. Internal to convert.

#include <string>
#include <string_view>
#include <vector>

#include "config/other_plugin.hpp"
#include "convert/arguments.hpp"
#include "convert/yaml_draft.hpp"
#include "document/diagnostics.hpp"
#include "document/node.hpp"

namespace plughost {

// A configuration of plughost's that is being written.
struct ConfigDraft {
  std::vector<std::string> notes;           // about all of it
  YamlDraft top = YamlDraft::map();         // what stands before the entries
  YamlDraft resources = YamlDraft::list();  // the entries
};

// A row of the list in convert.cpp.
struct Converter {
  OtherPlugin plugin;
  std::string_view looked_for;  // what in a file tells it: "a list `resourceList`"; empty: it has no file
  // root is a map or a list; without a file it is an empty map. Problems that leave nothing to work with are
  // reported; all else is a note.
  void (*convert)(const Node& root, Arguments& arguments, ConfigDraft& draft, Diagnostics& diagnostics);
};

// Each is defined in the file of its name; those of GPU memory in gpu_memory.cpp.
Converter akri_converter();
Converter generic_device_plugin_converter();
Converter gpushare_converter();
Converter intel_gpu_converter();
Converter kubevirt_converter();
Converter microshift_converter();
Converter mini_converter();
Converter nvidia_converter();
Converter rdma_shared_converter();
Converter rocm_converter();
Converter smarter_converter();
Converter sriov_converter();
Converter volcano_converter();

// The bound of plughost's `replicas` and `count`.
inline constexpr unsigned kMostSharing = 10'000;
// At most kMostSharing; a note on the value says if it was more.
YamlDraft sharing_draft(unsigned theirs);

// `domain`/`name`, both as they are: braces are no placeholders.
std::string literal_name(std::string_view domain, std::string_view name);

// An id of USB or PCI hardware as four digits, from one to four with or without 0x; empty: it is none.
std::string hardware_id(std::string_view text);
// A list of them. What is none is reported at node.
std::vector<std::string> hardware_ids(const std::vector<std::string>& texts, const Node& at,
                                      const std::string& path, Diagnostics& diagnostics);

void add_notes(std::vector<std::string>& to, std::vector<std::string> notes);

// The entries of generic-device-plugin's `devices`, which MicroShift has, too.
void add_devices(const std::vector<Node>& devices, const std::string& path, ConfigDraft& draft,
                 Diagnostics& diagnostics);
// One as the first versions had it on the command line: `serial,/dev/ttyUSB*,/dev/ttyACM*`.
void add_short_device(const std::string& text, ConfigDraft& draft, Diagnostics& diagnostics);
// What holds for all entries that these made.
void add_device_notes(ConfigDraft& draft);

}  // namespace plughost
