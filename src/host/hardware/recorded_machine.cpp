#include "host/hardware/recorded_machine.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/system/files.hpp"

namespace plughost {
namespace {

using File = RecordedTree::File;

constexpr std::size_t kDeepest = 64;  // of nested directories; no machine has a longer path

// Removes and returns the next component of the path; "" at its end.
std::string_view take_component(std::string_view& path) {
  path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  const std::string_view component = path.substr(0, path.find('/'));
  path.remove_prefix(component.size());
  return component;
}

class Lookup {
 public:
  explicit Lookup(const File& root) : root_(root) {}

  std::errc go(std::string_view path, LastLink last) {
    if (path.starts_with('/')) depth_ = 0;
    const bool of_directory = path.ends_with('/');
    for (std::string_view name = take_component(path); !name.empty(); name = take_component(path)) {
      if (here().type != FileType::kDirectory) return std::errc::not_a_directory;
      if (name == ".") continue;
      if (name == "..") {
        if (depth_ > 0) --depth_;
        continue;
      }
      const RecordedTree::Entry* const next = here().entry(name);
      if (!next) return std::errc::no_such_file_or_directory;
      const File& file = next->file;
      if (file.type != FileType::kLink || (path.empty() && last == LastLink::kKeep)) {
        if (depth_ == kDeepest) return std::errc::filename_too_long;
        steps_[depth_++] = next;
        continue;
      }
      if (++links_ > kMostLinks) return std::errc::too_many_symbolic_link_levels;
      if (!file.text || file.text->empty()) return std::errc::no_such_file_or_directory;
      if (const std::errc failed = go(*file.text, LastLink::kFollow); failed != std::errc()) return failed;
    }
    return of_directory && here().type != FileType::kDirectory ? std::errc::not_a_directory : std::errc();
  }

  const File& here() const { return depth_ == 0 ? root_ : steps_[depth_ - 1]->file; }
  std::string path() const {
    std::string path;
    for (std::size_t i = 0; i < depth_; ++i) path.append(1, '/').append(steps_[i]->name);
    return path.empty() ? "/" : path;
  }

 private:
  const File& root_;
  std::array<const RecordedTree::Entry*, kDeepest> steps_;  // from the root on; depth_ of them are valid
  std::size_t depth_ = 0;
  int links_ = 0;
};

}  // namespace

const RecordedTree::Entry* File::entry(std::string_view name) const {
  const auto found = std::ranges::lower_bound(entries, name, {}, &Entry::name);
  return found != entries.end() && found->name == name ? &*found : nullptr;
}

File& File::make(std::string_view name) {
  // While a sorted list is read, each name is greater than all names before it.
  if (entries.empty() || entries.back().name < name)
    return entries.emplace_back(Entry{std::string(name), {}}).file;
  const auto found = std::ranges::lower_bound(entries, name, {}, &Entry::name);
  if (found->name == name) return found->file;
  return entries.insert(found, Entry{std::string(name), {}})->file;
}

void RecordedTree::add(std::string_view path, File file) {
  File* place = &root_;
  for (std::string_view name = take_component(path); !name.empty(); name = take_component(path)) {
    if (place->type != FileType::kDirectory) *place = File{};
    place = &place->make(name);
  }
  *place = std::move(file);
}

RecordedTree::Found RecordedTree::find(std::string_view path, LastLink last) const {
  Lookup lookup(root_);
  if (const std::errc failed = lookup.go(path, last); failed != std::errc())
    return {.failed = std::make_error_code(failed)};
  return {.file = &lookup.here()};
}

FileType RecordedTree::type(const std::string& path, LastLink last) const {
  const File* const file = find(path, last).file;
  return file ? file->type : FileType::kNothing;
}

std::optional<std::string> RecordedTree::text(const std::string& path, std::size_t /*most*/) const {
  const File* const file = find(path).file;
  return file && file->type == FileType::kRegular ? file->text : std::nullopt;
}

std::optional<std::string> RecordedTree::link_target(const std::string& path) const {
  const File* const file = find(path, LastLink::kKeep).file;
  return file && file->type == FileType::kLink ? file->text : std::nullopt;
}

std::optional<std::string> RecordedTree::canonical(const std::string& path) const {
  Lookup lookup(root_);
  return lookup.go(path, LastLink::kFollow) == std::errc() ? std::optional(lookup.path()) : std::nullopt;
}

std::optional<std::string> RecordedTree::device_number(const std::string& path) const {
  const File* const file = find(path).file;
  return file && is_device_node(file->type) ? file->text : std::nullopt;
}

std::error_code RecordedTree::list(const std::string& directory, const MachineFiles::Entry& entry) const {
  const Found found = find(directory);
  if (!found.file) return found.failed;
  if (found.file->type != FileType::kDirectory) return std::make_error_code(std::errc::not_a_directory);
  for (const Entry& each : found.file->entries) entry(each.name, each.file.type);
  return {};
}

}  // namespace plughost
