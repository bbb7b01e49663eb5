#include "doctor/unit_file.hpp"

#include <array>
#include <sstream>

#include "host/file_text.hpp"

namespace plughost {

namespace {

namespace fs = std::filesystem;

// The first that has a file wins (systemd.unit(5)).
constexpr std::array kDirectories{"/etc/systemd/system", "/run/systemd/system",
                                  "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
                                  "/lib/systemd/system"};

bool is_masked(const fs::path& file) {
  std::error_code failed;
  return fs::is_symlink(file, failed) && fs::read_symlink(file, failed) == "/dev/null";
}

// An empty assignment forgets what was before it.
void read_before(std::string_view text, std::set<std::string>& before) {
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("Before=")) continue;
    std::istringstream words(line.substr(line.find('=') + 1));
    std::string word;
    if (!(words >> word)) before.clear();
    for (; !word.empty(); word.clear(), words >> word) before.insert(word);
  }
}

bool is_enabled(const HostRoot& host, const std::string& name) {
  for (const char* const directory : {"/etc/systemd/system", "/run/systemd/system"}) {
    for (const char* const relation : {"*.wants", "*.requires"}) {
      for (const std::string& unit : host.glob(std::string(directory) + '/' + relation).paths) {
        std::error_code failed;
        if (fs::is_symlink(host.at(fs::path(unit) / name), failed)) return true;
      }
    }
  }
  return false;
}

}  // namespace

std::optional<UnitFile> unit_file(const HostRoot& host, std::string_view name) {
  std::optional<UnitFile> unit;
  const std::string file(name);
  for (const char* const directory : kDirectories) {
    const fs::path path = fs::path(directory) / file;
    const bool masked = is_masked(host.at(path));
    const auto text = file_text(host.at(path));
    if (!masked && !text) continue;
    unit = UnitFile{.path = path, .masked = masked, .enabled = is_enabled(host, file)};
    if (text) read_before(*text, unit->before);
    break;
  }
  if (!unit) return unit;
  for (const char* const directory : kDirectories) {
    for (const std::string& path : host.glob(std::string(directory) + '/' + file + ".d/*.conf").paths)
      read_before(file_text(host.at(path)).value_or(""), unit->before);
  }
  return unit;
}

}  // namespace plughost
