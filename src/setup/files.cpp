#include "setup/files.hpp"

#include <algorithm>

#include "base/json.hpp"
#include "config/yaml_text.hpp"
#include "embedded/plughost.hpp"

namespace plughost {
namespace {

constexpr std::string_view kHead =
    "# Written by plughost setup, which writes it anew; `plughost setup --undo` takes it away.\n";

bool is_volatile(const std::string& directory) {
  return directory.starts_with("/run/") || directory.starts_with("/var/run/");
}

// Of the directories where the runtime looks the one that we are to write to; empty: the usual one is among
// them, or there is none. What is written is gone with the next boot at best.
std::string cdi_directory(const RuntimeSettings& settings) {
  const std::vector<std::string>& all = settings.spec_dirs;
  for (const char* const usual : {"/run/cdi", "/var/run/cdi"}) {
    if (std::ranges::find(all, usual) != all.end()) return {};
  }
  const auto found = std::ranges::find_if(all, is_volatile);
  if (found != all.end()) return *found;
  return all.empty() ? std::string() : all.back();
}

std::string section_text(std::span<const Need> needs, std::string_view section) {
  std::string text;
  for (const Need& need : needs) {
    std::string lines;
    for (const Setting& setting : need.settings) {
      if (setting.section == section) lines += setting.text() + '\n';
    }
    if (!lines.empty()) text += "# " + need.what + ".\n" + lines;
  }
  return text.empty() ? text : "[" + std::string(section) + "]\n" + text;
}

}  // namespace

bool is_of_setup(std::string_view text) { return text.starts_with(kSetupMark); }

std::string drop_in_text(std::span<const Need> needs) {
  const std::string unit = section_text(needs, "Unit");
  const std::string service = section_text(needs, "Service");
  if (unit.empty() && service.empty()) return {};
  return std::string(kHead) + '\n' + unit + (unit.empty() || service.empty() ? "" : "\n") + service;
}

std::string node_file_text(const Kubernetes& kubernetes, const RuntimeSettings* settings) {
  Json document;
  if (kubernetes.directory != kKubeletDirectory)
    document["kubelet"]["directory"] = kubernetes.directory.string();
  if (kubernetes.root != kKubeletRoot) {
    document["kubelet"]["pluginsRegistry"] = (kubernetes.root / "plugins_registry").string();
    document["kubelet"]["podResources"] = (kubernetes.root / "pod-resources/kubelet.sock").string();
  }
  if (const std::string cdi = settings ? cdi_directory(*settings) : ""; !cdi.empty())
    document["cdi"]["directory"] = cdi;
  if (document.is_null()) return {};
  return std::string(kHead) +
         "# What is elsewhere on this node than usual. What the configuration says wins.\n" +
         yaml_of(document) + '\n';
}

std::string unit_text(std::string_view program) {
  std::string text = std::string(kHead) + std::string(kUnitText);
  for (std::size_t at = text.find(kPackagedProgram); at != text.npos;
       at = text.find(kPackagedProgram, at + program.size()))
    text.replace(at, std::string_view(kPackagedProgram).size(), program);
  return text;
}

std::string sysusers_text() { return std::string(kHead) + "g plughost -\n"; }

}  // namespace plughost
