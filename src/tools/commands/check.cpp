// plughost check: checks configurations.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/system/event_loop.hpp"
#include "base/system/workers.hpp"
#include "base/text/printable_stream.hpp"
#include "base/text/text.hpp"
#include "config/config.hpp"
#include "config/selection.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/given.hpp"
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

// The result of checking one file.
struct FileVerdict {
  std::string file;
  std::size_t entries = 0;
  std::size_t files = 0;
  std::vector<Diagnostic> errors;
  std::vector<Diagnostic> warnings;
  std::vector<std::string> others;  // entries that do not apply to this node
  Remarks remarks = {};

  bool fails(bool strict) const { return !errors.empty() || (strict && !warnings.empty()); }
};

// Returns a remark for each name that several entries have, which may be a mistake.
std::vector<std::string> shared_names(const Config& config) {
  std::map<std::string, std::vector<std::string>> places;
  for (const ResourceConfig& entry : config.resources) places[entry.spec->name.text()].push_back(entry.where);
  std::vector<std::string> remarks;
  for (const auto& [name, where] : places)
    if (where.size() > 1)
      remarks.push_back(name + " is the name of " + std::to_string(where.size()) + " entries (" +
                        joined(where, ", ") + "): their devices form one resource");
  return remarks;
}

FileVerdict verdict_on(const std::string& file) {
  FileVerdict verdict{.file = file, .errors = {}, .warnings = {}, .others = {}};
  try {
    const Config config = given_config(file);
    verdict.entries = config.resources.size();
    verdict.files = config.files.paths.size();
    verdict.warnings = config.warnings;
    const HostRoot host;
    // The configuration of a node may be checked on another machine, which has no credentials of a node.
    const bool is_node = host.exists(config.kubelet.directory / "kubelet.sock");
    if (auto error = access_error(config, host))
      (is_node ? verdict.errors : verdict.warnings).push_back(*std::move(error));
    const Selection selection = select(config, host);
    for (const NotHere& other : selection.others) verdict.others.push_back(other.text());
    if (!verdict.errors.empty()) return verdict;
    const Config here = applying(config, selection);
    verdict.remarks = look_around(here, host);
    std::ranges::move(shared_names(here), std::back_inserter(verdict.remarks.said));
  } catch (const ConfigError& error) {
    verdict.errors = error.diagnostics;
  }
  return verdict;
}

void print(const FileVerdict& verdict, const CheckOptions& options) {
  for (const Diagnostic& warning : verdict.warnings)
    std::cerr << Coloured{Colour::kYellow, "warning: "} << warning.text() << '\n';
  for (const Diagnostic& error : verdict.errors) {
    const std::string text = error.text();
    const std::size_t place = error.mark.file.text().empty() ? 0 : text.find(": ");
    std::cerr << Coloured{Colour::kRed, text.substr(0, place)} << text.substr(place) << '\n';
  }
  if (verdict.fails(options.strict)) return;
  std::cout << verdict.file << ": " << counted(verdict.entries, "entry") << " in "
            << counted(verdict.files, "file") << ", no errors\n";
  for (const std::string& other : verdict.others) std::cout << other << '\n';
  for (const std::string& remark : verdict.remarks.said) std::cerr << "note: " << remark << '\n';
  if (options.files.size() == 1 && verdict.file != "-")
    std::cout << "next: plughost discover --config " << verdict.file << '\n';
}

Json json_of(const std::vector<Diagnostic>& diagnostics) {
  Json json = Json::Array();
  for (const Diagnostic& each : diagnostics)
    json.push_back({{"file", each.mark.file.text()},
                    {"line", each.mark.line},
                    {"column", each.mark.column},
                    {"path", each.path},
                    {"message", each.message()}});
  return json;
}

Json json_of(const FileVerdict& verdict, bool strict) {
  return {{"file", verdict.file},
          {"valid", !verdict.fails(strict)},
          {"entries", verdict.entries},
          {"files", verdict.files},
          {"errors", json_of(verdict.errors)},
          {"warnings", json_of(verdict.warnings)},
          {"notHere", verdict.others},
          {"notes", verdict.remarks.said}};
}

}  // namespace

int check(const CheckOptions& options) {
  Json json = Json::Array();
  bool fails = false;
  bool hangs = false;
  for (const std::string& file : options.files) {
    const FileVerdict verdict = verdict_on(file);
    fails = fails || verdict.fails(options.strict);
    hangs = hangs || verdict.remarks.hangs;
    if (options.format == OutputFormat::kTable)
      print(verdict, options);
    else
      json.push_back(json_of(verdict, options.strict));
  }
  if (options.format != OutputFormat::kTable) print(std::cout, json, options.format);
  // exit() would destroy objects that the stalled thread uses, and a leak checker would wait for the thread
  // forever.
  if (hangs) {
    std::cout.flush();
    std::_Exit(fails ? 1 : 0);
  }
  return fails ? 1 : 0;
}

}  // namespace plughost
