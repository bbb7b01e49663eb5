// plughost check: is a configuration right?

#include <iostream>
#include <string>

#include "commands/command.hpp"
#include "config/config.hpp"
#include "config/selection.hpp"
#include "doctor/api_permissions.hpp"
#include "fleet/mount_remarks.hpp"
#include "fleet/survey.hpp"
#include "text/text.hpp"

namespace plughost {
namespace {

// What a look at the machine starts nothing for, and opens no device: its files alone.
Config to_be_looked_at(Config config) {
  std::erase_if(config.resources,
                [](const ResourceConfig& entry) { return entry.source->sandbox_needs() != SandboxNeeds{}; });
  return config;
}

}  // namespace

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
  const Selection selection = select(config, host);
  for (const NotHere& other : selection.others) std::cout << other.text() << '\n';
  const Survey found = survey(to_be_looked_at(applying(config, selection)), host);
  for (const std::string& remark : mount_remarks(host, found.offers)) std::cerr << "note: " << remark << '\n';
  return 0;
}

}  // namespace plughost
