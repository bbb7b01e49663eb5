// plughost facts: records this node, for a plan on another machine.

#include <chrono>
#include <filesystem>
#include <iostream>
#include <optional>

#include "base/document/fields.hpp"
#include "base/text/text.hpp"
#include "config/config.hpp"
#include "kinds/gpu/nvml_cards.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/given.hpp"
#include "tools/plan/recording.hpp"

namespace plughost {
namespace {

// Returns the present time, "2026-01-31T12:00:00Z".
std::string now() {
  const std::string text = utc_text(std::chrono::system_clock::now());
  return text.substr(0, text.find('.')) + 'Z';
}

// Returns nullopt if the usual file is missing or wrong, because the machine's facts do not depend on it.
std::optional<Config> configuration(const std::string& file) {
  if (!file.empty()) return given_config(file);
  std::error_code failed;
  if (!std::filesystem::exists(kConfigFile, failed)) return std::nullopt;
  try {
    return load_config(kConfigFile);
  } catch (const ConfigError& exception) {
    std::cerr << exception.what() << "\nnote: what the configuration scans is not recorded\n";
    return std::nullopt;
  }
}

}  // namespace

int facts(const FactsOptions& options) {
  for (const std::string& pattern : options.paths) {
    if (const std::string error = path_error(pattern); !error.empty()) {
      std::cerr << "--path " << pattern << ": " << error << '\n';
      return kUsedWrongly;
    }
  }
  const HostRoot host;
  const std::optional<Config> config = configuration(options.config);
  const Recording recording = record(host, {.config = config ? &*config : nullptr,
                                            .paths = options.paths,
                                            .now = now(),
                                            .nvml = query_nvml(host)});
  std::cout << text_of(recording.facts) << '\n';
  for (const std::string& remark : recording.remarks) std::cerr << "note: " << remark << '\n';
  return 0;
}

}  // namespace plughost
