#include "kinds/groups/part.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/ascii.hpp"

namespace plughost {

std::string plain_name(std::string name) {
  std::ranges::replace_if(
      name, [](char c) { return !is_letter_or_digit(c) && c != '-' && c != '_'; }, '_');
  return name;
}

void read_terms(Fields& fields, GroupPart& part) {
  constexpr unsigned kMost = 10'000;
  part.optional = fields.flag("optional", false);
  part.limit = fields.number("limit", 1, 1, kMost);
}

Template read_mount_path(Fields& fields) {
  static constexpr std::string_view kNames[] = {"path", "name", "n"};
  Template mount_path = fields.pattern("mountPath", "{path}", kNames);
  if (fields.has("mountPath") && !mount_path.text().starts_with('/') &&
      !mount_path.text().starts_with("{path}"))
    fields.error("mountPath", "a path in the container begins with '/', as in /dev/modem");
  return mount_path;
}

std::string place(const Template& mount_path, const std::string& name, const std::string& path) {
  std::string placed = mount_path
                           .bind([&](std::string_view placeholder) -> std::optional<std::string> {
                             if (placeholder == "path") return path;
                             if (placeholder == "name") return name;
                             return std::nullopt;
                           })
                           .text();
  if (placed.ends_with('/')) placed += Template::escape(std::filesystem::path(path).filename().string());
  return placed;
}

}  // namespace plughost
