#pragma once
// Reads the settings of a configuration: kubelet, log, CDI, labels, telemetry, watches and the API server.
// Not thread-safe.

#include <optional>
#include <span>

#include "base/document/diagnostics.hpp"
#include "base/document/fields.hpp"
#include "config/config.hpp"
#include "config/read_entry.hpp"

namespace plughost {

class SettingsReader {
 public:
  // `config` and `diagnostics` must outlive the reader.
  SettingsReader(Config& config, Diagnostics& diagnostics) : config_(config), diagnostics_(diagnostics) {}
  SettingsReader& operator=(SettingsReader&&) = delete;

  // Reads node.yaml. Call it before read_main(), whose settings override it. `root` must outlive the reader.
  void read_node_file(const Node& root);
  void read_main(Fields& top, const Overrides& overrides);
  // Reads the settings that an included file may have.
  void read_included(Fields& top);
  // Reports settings that an included file must not have. `top` has the fields of `root`; the other fields
  // must have been read before.
  void refuse_main_only(const Node& root, Fields& top);
  // Call it when all files have been read. Checks that the settings provide what the entries need, and
  // completes settings from the entries.
  void check(std::span<const EntryDraft> entries);

 private:
  void take_kubelet(Fields& fields);
  void read_kubelet(Fields& top, const Overrides& overrides);
  void read_cdi(Fields& top);
  void read_telemetry(Fields& top, const Overrides& overrides);
  void read_watch(Fields& top);
  std::optional<ApiServerConfig> api_server_of(Fields& top);
  void check_conditions(std::span<const EntryDraft> entries);
  void check_api_server(std::span<const EntryDraft> entries);

  Config& config_;
  Diagnostics& diagnostics_;
  const Node* node_file_ = nullptr;  // nullptr: none
  bool main_has_api_server_ = false;
  Mark events_mark_;    // of `events`
  Mark registry_mark_;  // of the kubelet's pluginsRegistry
};

}  // namespace plughost
