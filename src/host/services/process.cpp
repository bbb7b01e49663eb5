#include "host/services/process.hpp"

#include <algorithm>

#include "base/text/text.hpp"

namespace plughost {
namespace {

constexpr std::size_t kLongestCommandLine = 100;

std::vector<std::string> arguments_of(const std::string& text) {
  const std::vector<std::string_view> words = split(text, '\0');
  std::vector<std::string> arguments(words.begin(), words.end());
  // A process that has set its title leaves null characters behind the title.
  while (!arguments.empty() && arguments.back().empty()) arguments.pop_back();
  return arguments;
}

// Finds the UID in "pod6c5c2a3e-7f7c-4e7a-9a51-0d8b7c5d1f10"; systemd's names have '_' instead of '-'.
std::string pod_in(std::string_view component) {
  constexpr std::size_t kUid = 36;
  const std::size_t at = component.rfind("pod");
  if (at == std::string_view::npos) return {};
  std::string uid(component.substr(at + 3, kUid));
  std::ranges::replace(uid, '_', '-');
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == '-'; };
  return uid.size() == kUid && std::ranges::count(uid, '-') == 4 && std::ranges::all_of(uid, is_digit)
             ? uid
             : std::string();
}

std::string unit_in(const std::filesystem::path& component) {
  return component.extension() == ".service" ? component.string() : "";
}

// Returns the first result of `look` for a component of "0::/system.slice/kubelet.service",
// "0::/kubepods.slice/kubepods-pod6c5c2a3e_….slice/cri-containerd-….scope", or a line of a version 1
// hierarchy.
template <typename Look>
std::string first_of(const std::string& cgroups, Look look) {
  for (const std::string_view line : split(cgroups, '\n')) {
    for (const auto& component : std::filesystem::path(line.substr(line.rfind(':') + 1))) {
      if (std::string found = look(component.native()); !found.empty()) return found;
    }
  }
  return {};
}

}  // namespace

std::string SeenProcess::name() const {
  if (arguments.empty()) return {};
  const std::string name = std::filesystem::path(arguments[0]).filename();
  return name.substr(0, name.find(' '));
}

std::string SeenProcess::text() const {
  std::string line = joined(arguments, " ");
  if (line.size() > kLongestCommandLine) line = line.substr(0, kLongestCommandLine) + "…";
  return "process " + std::to_string(id) + (line.empty() ? "" : " (" + line + ")");
}

std::optional<std::string> SeenProcess::option(std::string_view name) const {
  std::optional<std::string> value;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == name && i + 1 < arguments.size())
      value = arguments[i + 1];
    else if (argument.size() > name.size() && argument.starts_with(name) && argument[name.size()] == '=')
      value = argument.substr(name.size() + 1);
  }
  return value;
}

std::optional<SeenProcess> process_of(const HostRoot& host, pid_t id) {
  const std::filesystem::path directory = std::filesystem::path("/proc") / std::to_string(id);
  const auto line = host.text(directory / "cmdline");
  if (!line) return std::nullopt;
  const std::string cgroups = host.text(directory / "cgroup").value_or("");
  return SeenProcess{.id = id,
                     .arguments = arguments_of(*line),
                     .unit = first_of(cgroups, unit_in),
                     .pod = first_of(cgroups, pod_in)};
}

std::vector<SeenProcess> processes(const HostRoot& host) {
  std::vector<SeenProcess> all;
  for (const std::string& path : host.glob("/proc/[1-9]*").paths) {
    const std::string name = std::filesystem::path(path).filename();
    const auto id = number_in<pid_t>(name);
    if (!id) continue;
    if (auto process = process_of(host, *id)) all.push_back(std::move(*process));
  }
  std::ranges::sort(all, {}, &SeenProcess::id);
  return all;
}

}  // namespace plughost
