// plughost check: checks a configuration.

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "base/system/event_loop.hpp"
#include "base/system/workers.hpp"
#include "base/text/text.hpp"
#include "config/config.hpp"
#include "config/selection.hpp"
#include "tools/commands/command.hpp"
#include "tools/doctor/api_permissions.hpp"
#include "tools/survey/survey.hpp"

namespace plughost {
namespace {

// Removes the entries whose scan starts a program or opens a device: a check reads files only.
Config to_be_looked_at(Config config) {
  std::erase_if(config.resources,
                [](const ResourceConfig& entry) { return entry.source->sandbox_needs() != SandboxNeeds{}; });
  return config;
}

// Longest wait for a directory, which may be on a server that does not respond.
constexpr std::chrono::seconds kPatience{3};

struct Remarks {
  std::vector<std::string> said;
  bool hangs = false;  // a thread is still reading a directory
};

Remarks look_around(Config config, const HostRoot& host) {
  EventLoop loop;
  Workers workers(loop, 1);
  Remarks result;
  const auto remarks = std::make_shared<std::vector<std::string>>();
  const auto look = [remarks, host, config = to_be_looked_at(std::move(config))] {
    const Survey found = survey(config, host);
    *remarks = remarks_on(host, found.snapshots);
    for (const SurveyedEntry& entry : found.entries)
      if (!entry.unhealthy.empty())
        remarks->push_back(
            entry.where + ": " + entry.name + ": Unhealthy on this machine: " + entry.unhealthy.front() +
            (entry.unhealthy.size() == 1 ? ""
                                         : ", and " + std::to_string(entry.unhealthy.size() - 1) + " more"));
  };
  const auto done = [&] {
    result.said = std::move(*remarks);
    loop.stop();
  };
  const auto overdue = [&] {
    result.hangs = true;
    result.said = {
        "devices and mounts were not checked: " + std::to_string(kPatience.count()) +
        " s were not enough to list the devices; is there a directory whose server does not respond?"};
    loop.stop();
  };
  workers.run(look, done, kPatience, overdue);
  loop.run();
  return result;
}

}  // namespace

int check(const CheckOptions& options) {
  const Config config = load_config(options.file);
  const HostRoot host;
  // The configuration of a node may be checked on another machine, which has no credentials of a node.
  const std::string error = access_error(config, host);
  const bool is_node = host.exists(config.kubelet.directory / "kubelet.sock");
  for (const Diagnostic& warning : config.warnings) std::cerr << "warning: " << warning.text() << '\n';
  if (!error.empty()) std::cerr << (is_node ? "" : "warning: ") << error << '\n';
  const bool warned = !config.warnings.empty() || !error.empty();
  if ((is_node && !error.empty()) || (options.strict && warned)) return 1;
  std::cout << options.file << ": " << counted(config.resources.size(), "entry") << " in "
            << counted(config.files.paths.size(), "file") << ", no errors\n";
  const Selection selection = select(config, host);
  for (const NotHere& other : selection.others) std::cout << other.text() << '\n';
  const Remarks remarks = look_around(applying(config, selection), host);
  for (const std::string& remark : remarks.said) std::cerr << "note: " << remark << '\n';
  std::cout << "next: plughost discover --config " << options.file << '\n';
  // exit() would destroy objects that the stalled thread uses, and a leak checker would wait for the thread
  // forever.
  if (remarks.hangs) {
    std::cout.flush();
    std::_Exit(0);
  }
  return 0;
}

}  // namespace plughost
