#include "manifests/languages.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>

namespace plughost {
namespace {

constexpr const char* kHelm =
    "this is a template of Helm's; `helm get manifest RELEASE | plughost convert -` has what it became, and "
    "`helm template CHART -f VALUES | plughost convert -` what it becomes";
constexpr const char* kGoTemplate =
    "this is a template; what the cluster has is in `kubectl get daemonset,configmap -n NAMESPACE -o yaml | "
    "plughost convert -`";
constexpr const char* kTerraform =
    "this is Terraform; what it made is in `kubectl get daemonset,configmap -n NAMESPACE -o yaml | plughost "
    "convert -`, and what it gives to a chart is YAML of its own: save it in a file";
constexpr const char* kNix =
    "this is Nix; `nix eval --json -f FILE | plughost convert -` has its values, and `kubectl get "
    "daemonset,configmap -n NAMESPACE -o yaml | plughost convert -` what it made";
constexpr const char* kCue = "this is CUE; `cue export --out yaml FILE | plughost convert -`";
constexpr const char* kJsonnet = "this is Jsonnet; `jsonnet FILE | plughost convert -`";

// Does a line that is no comment have all of the parts?
bool has_line_with(std::string_view text, std::initializer_list<std::string_view> parts) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t first = line.find_first_not_of(" \t");
    if (first == std::string_view::npos || line[first] == '#') continue;
    if (std::ranges::all_of(parts, [&](std::string_view part) { return line.find(part) != line.npos; }))
      return true;
  }
  return false;
}

bool ends_with_any(std::string_view file, std::initializer_list<std::string_view> endings) {
  return std::ranges::any_of(endings, [&](std::string_view ending) { return file.ends_with(ending); });
}

bool is_terraform(std::string_view text) {
  return has_line_with(text, {"resource \"", "\" {"}) || has_line_with(text, {"module \"", "\" {"});
}

}  // namespace

std::string other_language(std::string_view file, std::string_view text) {
  if (ends_with_any(file, {".tf", ".hcl", ".tofu"}) || is_terraform(text)) return kTerraform;
  if (ends_with_any(file, {".nix"}) || has_line_with(text, {"pkgs", "}:"})) return kNix;
  if (ends_with_any(file, {".cue"}) || text.starts_with("package ")) return kCue;
  if (ends_with_any(file, {".jsonnet", ".libsonnet"})) return kJsonnet;
  for (const std::string_view value : {".Values.", ".Release.", "include \"", ".Chart."}) {
    if (has_line_with(text, {"{{", value})) return kHelm;
  }
  if (ends_with_any(file, {".gotmpl", ".tpl", ".tmpl", ".j2"}) || has_line_with(text, {"{%", "%}"}))
    return kGoTemplate;
  return {};
}

bool has_word_of_plugins(std::string_view text) {
  static constexpr auto kWords = std::to_array<std::string_view>(
      {"devicematch", "resourceList", "configList", "device-plugin", "devicePlugin", "DevicePlugin",
       "permittedHostDevices", "udevRules", "device-manager", "migStrategy", "timeSlicing", "devices:"});
  return std::ranges::any_of(kWords, [&](std::string_view word) { return text.find(word) != text.npos; });
}

}  // namespace plughost
