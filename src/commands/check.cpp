// plughost check: is a configuration right?

#include <iostream>
#include <string>

#include "commands/command.hpp"
#include "config/config.hpp"
#include "config/selection.hpp"
#include "doctor/api_permissions.hpp"
#include "text/text.hpp"

namespace plughost {

int check(const CheckOptions& options) {
  const Config config = load_config(options.file);
  const HostRoot host;
  // Whoever writes a file elsewhere need not have a node's credentials.
  const std::string trouble = access_trouble(config, host);
  const bool is_node = host.exists(config.kubelet.directory / "kubelet.sock");
  for (const Diagnostic& warning : config.warnings) std::cerr << "warning: " << warning.text() << '\n';
  if (!trouble.empty()) std::cerr << (is_node ? "" : "warning: ") << trouble << '\n';
  const bool warned = !config.warnings.empty() || !trouble.empty();
  if ((is_node && !trouble.empty()) || (options.strict && warned)) return 1;
  std::cout << options.file << ": " << config.resources.size()
            << (config.resources.size() == 1 ? " entry" : " entries") << " in "
            << counted(config.files.paths.size(), "file") << ", no errors\n";
  for (const NotHere& other : select(config, host).others) std::cout << other.text() << '\n';
  return 0;
}

}  // namespace plughost
