#include "host/services/runtime_settings.hpp"

#include <algorithm>

// The header suffices; the package's CMake and pkg-config files require a shared library.
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include "host/services/process.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFile = 1u << 20;
constexpr const char* kContainerdFile = "/etc/containerd/config.toml";
constexpr const char* kCrioFile = "/etc/crio/crio.conf";

// Returns nullopt if the file is missing or invalid. Adds the reason to settings.errors if it is invalid.
std::optional<toml::table> read_toml(const HostRoot& host, const fs::path& file, RuntimeSettings& settings) {
  if (!host.exists(file)) return std::nullopt;
  const auto text = host.text(file, kMostFile);
  if (!text) {
    settings.errors.push_back(file.string() + " cannot be read");
    return std::nullopt;
  }
  try {
    return toml::parse(*text, file.string());
  } catch (const toml::parse_error& exception) {
    settings.errors.push_back(file.string() + ':' + std::to_string(exception.source().begin.line) + ": " +
                              std::string(exception.description()));
    return std::nullopt;
  }
}

std::vector<std::string> texts_in(const toml::array& array) {
  std::vector<std::string> texts;
  for (const toml::node& item : array) {
    if (const auto text = item.value<std::string>()) texts.push_back(*text);
  }
  return texts;
}

// The table's keys are the same for both runtimes.
void read_devices(const toml::table& table, RuntimeSettings& settings) {
  settings.nodes_are_the_users =
      table["device_ownership_from_security_context"].value_or(settings.nodes_are_the_users);
  if (const toml::array* const directories = table["cdi_spec_dirs"].as_array())
    settings.spec_dirs = texts_in(*directories);
}

// Version 3 belongs to containerd 2, where CDI is on by default. Both containerd 1 and 2 read version 2.
void read_containerd(const toml::table& file, RuntimeSettings& settings) {
  const bool second = file["version"].value_or<std::int64_t>(0) >= 3;
  if (second && settings.cdi == RuntimeSettings::Cdi::kOffByDefault) settings.cdi = RuntimeSettings::Cdi::kOn;
  for (const char* const plugin : {"io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime"}) {
    const toml::table* const cri = file["plugins"][plugin].as_table();
    if (!cri) continue;
    if (const auto on = (*cri)["enable_cdi"].value<bool>())
      settings.cdi = *on ? RuntimeSettings::Cdi::kOn : RuntimeSettings::Cdi::kOff;
    read_devices(*cri, settings);
  }
}

RuntimeSettings containerd_settings(const HostRoot& host, const fs::path& file) {
  RuntimeSettings settings{.runtime = "containerd", .file = file, .cdi = RuntimeSettings::Cdi::kOffByDefault};
  const auto main = read_toml(host, file, settings);
  if (!main) return settings;
  read_containerd(*main, settings);
  if (const toml::array* const imports = (*main)["imports"].as_array()) {
    for (const std::string& pattern : texts_in(*imports)) {
      for (const std::string& path : host.glob(file.parent_path() / pattern).paths) {
        if (const auto imported = read_toml(host, path, settings)) read_containerd(*imported, settings);
      }
    }
  }
  return settings;
}

RuntimeSettings crio_settings(const HostRoot& host, const fs::path& main) {
  RuntimeSettings settings{.runtime = "CRI-O", .file = main};
  std::vector<std::string> files{main};
  std::ranges::copy(host.glob(main.parent_path() / "crio.conf.d/*").paths, std::back_inserter(files));
  for (const std::string& file : files) {
    const auto read = read_toml(host, file, settings);
    if (!read) continue;
    if (const toml::table* const runtime = (*read)["crio"]["runtime"].as_table())
      read_devices(*runtime, settings);
  }
  return settings;
}

}  // namespace

std::optional<RuntimeSettings> runtime_settings(const HostRoot& host, const std::string& containerd) {
  const auto file_of = [](const SeenProcess& process, const char* usual) {
    const auto file = process.option("--config");
    return file ? *file : process.option("-c").value_or(usual);
  };
  for (const SeenProcess& process : processes(host)) {
    if (process.name() == "containerd") return containerd_settings(host, file_of(process, kContainerdFile));
    if (process.name() == "crio") return crio_settings(host, file_of(process, kCrioFile));
  }
  if (!containerd.empty() && host.exists(containerd)) return containerd_settings(host, containerd);
  if (host.exists(kContainerdFile)) return containerd_settings(host, kContainerdFile);
  if (host.exists("/etc/crio")) return crio_settings(host, kCrioFile);
  return std::nullopt;
}

}  // namespace plughost
