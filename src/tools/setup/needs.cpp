#include "tools/setup/needs.hpp"

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <set>

#include "base/text/network_address.hpp"
#include "base/text/text.hpp"
#include "host/programs/program.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCharacterDevices = "char-* rw";
constexpr const char* kBlockDevices = "block-* rw";

// Quotes a path as a word of a unit file (systemd.syntax(7), systemd.unit(5) for the percent sign).
std::string unit_word(const std::string& text) {
  std::string word;
  bool quotes = false;
  for (const char c : text) {
    if (c == '%') word += '%';
    if (c == '"' || c == '\\') word += '\\';
    quotes = quotes || c == ' ' || c == '\'' || c == '"' || c == '\\' || c == ';';
    word += c;
  }
  return quotes ? '"' + word + '"' : word;
}

// Quotes an argument of a command in a unit file, where $ is special, too.
std::string command_word(const std::string& text) {
  std::string word;
  for (const char c : unit_word(text)) word += c == '$' ? "$$" : std::string(1, c);
  return word;
}

// Replaces /var/run, which is a link to /run wherever systemd runs.
std::string as_mounted(const fs::path& path) {
  const std::string text = path;
  return text.starts_with("/var/run/") ? text.substr(4) : text;
}

bool is_below(const std::string& path, const std::string& directory) {
  return path == directory || path.starts_with(directory.ends_with('/') ? directory : directory + '/');
}

Setting of_unit(std::string key, std::string value) {
  return {.section = "Unit", .key = std::move(key), .value = std::move(value)};
}

Setting of_service(std::string key, std::string value) {
  return {.section = "Service", .key = std::move(key), .value = std::move(value)};
}

// A directory that is missing when the service starts would stay read-only, so the unit creates it first.
Need writable(const fs::path& directory, std::string what, const char* mode = "0755") {
  const std::string path = as_mounted(directory);
  return {.what = std::move(what),
          .settings = {of_unit("RequiresMountsFor", unit_word(path)),
                       of_service("ExecStartPre",
                                  std::string("+/usr/bin/install -d -m ") + mode + ' ' + command_word(path)),
                       of_service("ReadWritePaths", unit_word('-' + path))}};
}

bool has_labels(const Config& config) {
  return std::ranges::any_of(config.resources,
                             [](const ResourceConfig& entry) { return !entry.labels.empty(); });
}

Need order(const Kubernetes& kubernetes) {
  const std::string name = kubernetes.name.empty() ? "the kubelet" : kubernetes.name;
  return {.what = name + ": a resource has to be registered before its kubelet admits the first pod",
          .settings = {of_unit("Before", joined(kubernetes.units, " "))}};
}

void add_directories(const Config& config, std::vector<Need>& needs) {
  needs.push_back(writable(config.kubelet.socket_directory(), "the kubelet: our sockets go there", "0750"));
  if (const fs::path& other = config.kubelet.other_directory; !other.empty())
    needs.push_back(writable(other, "the kubelet: a later one may have its directory there", "0750"));
  needs.push_back(writable(config.cdi_directory, "`cdi`: the container runtime reads it"));
  if (has_labels(config))
    needs.push_back(writable(config.features_directory, "`labels`: Node Feature Discovery reads it"));
  if (const std::string& textfile = config.telemetry.metrics.textfile; !textfile.empty())
    needs.push_back(writable(textfile, "`metrics.textfile`: node_exporter reads it"));
}

void add(const std::vector<Template>& command, SandboxNeeds& needs) {
  needs.programs = true;
  // Detects words_as(), whose first word is the same for every user.
  if (!command.empty() && command.front().text() == words_as("nobody").front()) needs.users = true;
}

void add_devices(const Config& config, std::vector<Need>& needs) {
  const SandboxNeeds sandbox = sandbox_needs(config);
  if (sandbox.nvml)
    needs.push_back({.what = "`gpu`: NVML opens the nodes of NVIDIA's cards",
                     .settings = {of_service("DeviceAllow", kCharacterDevices)}});
  if (sandbox.programs)
    needs.push_back({.what = "programs of this configuration: they may open device nodes",
                     .settings = {of_service("DeviceAllow", kCharacterDevices),
                                  of_service("DeviceAllow", kBlockDevices)}});
  if (sandbox.users)
    needs.push_back({.what = "`user`: a program changes its user by chroot(8)",
                     .settings = {of_service("CapabilityBoundingSet", "CAP_SETUID CAP_SETGID CAP_SYS_CHROOT"),
                                  of_service("SystemCallFilter", "@setuid chroot")}});
}

// Adds needs of a control socket outside the unit's own runtime directory.
void add_control(const Config& config, const NodeTerms& node, std::vector<Need>& needs) {
  const fs::path& control = config.telemetry.control;
  if (control == kControlSocket) return;
  Need need = writable(control.parent_path(), "`control`: it is not in the unit's own directory");
  // The empty value clears the former commands, so that only the following command counts.
  need.settings.push_back(of_service("ExecReload", ""));
  need.settings.push_back(
      of_service("ExecReload", command_word(node.program) + " reload --control " + command_word(control)));
  needs.push_back(std::move(need));
}

// Adds a command that restores SELinux's labels: a directory that the unit creates has its parent's label.
void add_labels(const NodeTerms& node, std::vector<Need>& needs) {
  if (node.restorecon.empty()) return;
  std::string command = "-+" + node.restorecon;
  std::set<std::string> paths{"/run/cdi", kKubeletDirectory};
  if (node.program != kPackagedProgram) paths.insert(command_word(node.program));
  for (const Need& need : needs) {
    for (const Setting& setting : need.settings) {
      if (setting.key == "RequiresMountsFor") paths.insert(setting.value);
    }
  }
  for (const std::string& path : paths) command += ' ' + path;
  needs.push_back({.what = "SELinux: new files get the label of the policy",
                   .settings = {of_service("ExecStartPre", command)}});
}

bool is_writable(const UnitSettings& unit, std::string path) {
  const auto plain = [](std::string word) {
    if (word.starts_with('"') && word.ends_with('"') && word.size() > 1)
      word = word.substr(1, word.size() - 2);
    while (word.size() > 1 && word.ends_with('/')) word.pop_back();
    return word.substr(std::min(word.find_first_not_of("-+"), word.size()));
  };
  path = plain(std::move(path));
  return std::ranges::any_of(unit.words("ReadWritePaths"), [&](const std::string& word) {
    const std::string directory = plain(word);
    return !directory.empty() && is_below(path, directory);
  });
}

bool has_all_words(const UnitSettings& unit, const Setting& setting) {
  UnitSettings wanted;
  wanted.read(setting.text());
  return std::ranges::includes(unit.words(setting.key), wanted.words(setting.key));
}

// Returns true if the unit names addresses, because its author has then decided which peers may connect.
bool has_addresses(const UnitSettings& unit) {
  std::set<std::string> words = unit.words("IPAddressAllow");
  words.erase("localhost");
  return !words.empty();
}

bool is_one_of(const std::vector<std::string>& values, std::initializer_list<std::string_view> words) {
  return !values.empty() && std::ranges::find(words, values.back()) != words.end();
}

// Returns true if the unit has the restriction. Other units may be less restricted than ours.
bool is_closed(const UnitSettings& unit, const std::string& key) {
  if (key == "ReadWritePaths") return is_one_of(unit.values("ProtectSystem"), {"strict", "full"});
  if (key == "IPAddressAllow") return unit.assigns("IPAddressDeny");
  if (key == "DeviceAllow")
    return unit.assigns(key) || is_one_of(unit.values("DevicePolicy"), {"closed", "strict"});
  if (key == "CapabilityBoundingSet" || key == "SystemCallFilter") return unit.assigns(key);
  return true;
}

bool gives(const UnitSettings& unit, const Setting& setting) {
  if (!is_closed(unit, setting.key)) return true;
  if (setting.key == "ReadWritePaths") return is_writable(unit, setting.value);
  if (setting.key == "IPAddressAllow") return has_addresses(unit);
  if (setting.key == "Before" || setting.key == "CapabilityBoundingSet" || setting.key == "SystemCallFilter")
    return has_all_words(unit, setting);
  return std::ranges::count(unit.values(setting.key), setting.value) > 0;
}

// Returns true for a setting that only prepares another setting.
bool only_prepares(const Setting& setting) {
  return setting.key == "ExecStartPre" || setting.key == "RequiresMountsFor" || setting.value.empty();
}

bool is_met(const Need& need, const UnitSettings& unit) {
  const bool all_prepare = std::ranges::all_of(need.settings, only_prepares);
  return std::ranges::all_of(need.settings, [&](const Setting& setting) {
    return (only_prepares(setting) && !all_prepare) || gives(unit, setting);
  });
}

}  // namespace

SandboxNeeds sandbox_needs(const Config& config) {
  SandboxNeeds all;
  for (const ResourceConfig& entry : config.resources) {
    const SandboxNeeds own = entry.source->sandbox_needs();
    const AllocationSpec& spec = *entry.spec;
    all.nvml = all.nvml || own.nvml;
    all.programs = all.programs || own.programs;
    all.users = all.users || own.users;
    if (spec.health) add(spec.health->command, all);
    if (spec.when_unhealthy) add(spec.when_unhealthy->program.command, all);
    for (const auto* program : {&spec.pre_start, &spec.allocate, &spec.on_remove}) {
      if (*program) add((*program)->command, all);
    }
  }
  return all;
}

std::vector<Need> needs_of(const Config& config, const NodeTerms& node) {
  std::vector<Need> needs{order(node.kubernetes)};
  add_directories(config, needs);
  add_devices(config, needs);
  if (const std::string& listen = config.telemetry.listen; !listen.empty() && !names_this_machine(listen))
    needs.push_back({.what = "`listen: " + listen + "`: everyone who can reach it can read it",
                     .settings = {of_service("IPAddressAllow", "any")}});
  if (config.api_server)
    needs.push_back(
        {.what = "`apiServer`: it is on another machine", .settings = {of_service("IPAddressAllow", "any")}});
  add_control(config, node, needs);
  add_labels(node, needs);
  return needs;
}

std::vector<Need> unmet(std::vector<Need> needs, const UnitSettings& unit) {
  std::erase_if(needs, [&](const Need& need) { return is_met(need, unit); });
  return needs;
}

}  // namespace plughost
