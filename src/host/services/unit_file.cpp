#include "host/services/unit_file.hpp"

#include <array>
#include <sstream>

#include "base/text/ascii.hpp"

namespace plughost {
namespace {

// If several directories have the file, the first directory counts (systemd.unit(5)).
constexpr std::array<std::string_view, 5> kDirectories{"/etc/systemd/system", "/run/systemd/system",
                                                       "/usr/local/lib/systemd/system",
                                                       "/usr/lib/systemd/system", "/lib/systemd/system"};

bool is_enabled(const HostRoot& host, const std::string& name) {
  for (const char* const directory : {"/etc/systemd/system", "/run/systemd/system"}) {
    for (const char* const relation : {"*.wants", "*.requires"}) {
      for (const std::string& unit : host.glob(std::string(directory) + '/' + relation).paths) {
        if (host.own_type(unit + '/' + name) == FileType::kLink) return true;
      }
    }
  }
  return false;
}

void take(UnitFile& unit, const std::string& text) {
  unit.settings.read(text);
  unit.text += text;
}

}  // namespace

void UnitSettings::read(std::string_view text) {
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    while (line.ends_with('\\')) {
      line.back() = ' ';
      std::string next;
      if (!std::getline(lines, next)) break;
      line += next;
    }
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos || line.starts_with('#') || line.starts_with(';')) continue;
    const std::string_view whole = line;
    std::vector<std::string>& values = values_[std::string(without_blanks(whole.substr(0, equals)))];
    std::string value(without_blanks(whole.substr(equals + 1)));
    if (value.empty())
      values.clear();
    else
      values.push_back(std::move(value));
  }
}

const std::vector<std::string>& UnitSettings::values(const std::string& key) const {
  static const std::vector<std::string> kNone;
  const auto found = values_.find(key);
  return found == values_.end() ? kNone : found->second;
}

std::set<std::string> UnitSettings::words(const std::string& key) const {
  std::set<std::string> all;
  for (const std::string& value : values(key)) {
    std::istringstream words(value);
    for (std::string word; words >> word;) {
      if (word.size() >= 2 && word.front() == '"' && word.back() == '"')
        word = word.substr(1, word.size() - 2);
      all.insert(word);
    }
  }
  return all;
}

std::optional<UnitFile> unit_file(const HostRoot& host, std::string_view name,
                                  const std::set<std::string>& but_for) {
  std::optional<UnitFile> unit;
  const std::string file(name);
  for (const std::string_view directory : kDirectories) {
    const std::string path = std::string(directory) + '/' + file;
    const bool masked = host.link_target(path) == "/dev/null";
    const auto text = masked ? std::nullopt : host.text(path);
    if ((!masked && !text) || but_for.contains(path)) continue;
    unit = UnitFile{.path = path, .masked = masked, .enabled = is_enabled(host, file)};
    if (text) take(*unit, *text);
    break;
  }
  if (!unit) return unit;
  for (const std::string_view directory : kDirectories) {
    for (const std::string& path : host.glob(std::string(directory) + '/' + file + ".d/*.conf").paths) {
      if (!but_for.contains(path)) take(*unit, host.text(path).value_or(""));
    }
  }
  return unit;
}

}  // namespace plughost
