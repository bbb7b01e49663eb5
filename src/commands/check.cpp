// plughost check: is a configuration right?

#include <iostream>

#include "commands/command.hpp"
#include "config/config.hpp"
#include "config/selection.hpp"

namespace plughost {

int check(const CheckOptions& options) {
  try {
    const Config config = load_config(options.file);
    for (const Diagnostic& warning : config.warnings) std::cerr << "warning: " << warning.text() << '\n';
    if (options.strict && !config.warnings.empty()) return 1;
    std::cout << options.file << ": " << config.resources.size()
              << (config.resources.size() == 1 ? " entry" : " entries") << " in " << config.files.paths.size()
              << (config.files.paths.size() == 1 ? " file" : " files") << ", no errors\n";
    for (const NotHere& other : select(config, HostRoot()).others) std::cout << other.text() << '\n';
    return 0;
  } catch (const ConfigError& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}

}  // namespace plughost
