#include "host/recorded_tree.hpp"

#include <algorithm>
#include <utility>

#include "base/kernel_limits.hpp"

namespace plughost {
namespace {

using File = RecordedTree::File;
using LastLink = RecordedTree::LastLink;

constexpr std::size_t kUsualDepth = 24;

struct Step {
  const File* file;
  std::string_view name;
};

// The next component of the path, which it loses; "" at its end.
std::string_view take_component(std::string_view& path) {
  path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  const std::string_view component = path.substr(0, path.find('/'));
  path.remove_prefix(component.size());
  return component;
}

class Lookup {
 public:
  explicit Lookup(const File& root) {
    steps_.reserve(kUsualDepth);
    steps_.push_back({&root, {}});
  }

  std::errc go(std::string_view path, LastLink last) {
    if (path.starts_with('/')) steps_.resize(1);
    const bool of_directory = path.ends_with('/');
    for (std::string_view name = take_component(path); !name.empty(); name = take_component(path)) {
      if (here().type != FileType::kDirectory) return std::errc::not_a_directory;
      if (name == ".") continue;
      if (name == "..") {
        if (steps_.size() > 1) steps_.pop_back();
        continue;
      }
      const File* const next = here().entry(name);
      if (!next) return std::errc::no_such_file_or_directory;
      if (next->type != FileType::kLink || (path.empty() && last == LastLink::kKeep)) {
        steps_.push_back({next, name});
        continue;
      }
      if (++links_ > kMostLinks) return std::errc::too_many_symbolic_link_levels;
      if (!next->text || next->text->empty()) return std::errc::no_such_file_or_directory;
      if (const std::errc failed = go(*next->text, LastLink::kFollow); failed != std::errc()) return failed;
    }
    return of_directory && here().type != FileType::kDirectory ? std::errc::not_a_directory : std::errc();
  }

  const File& here() const { return *steps_.back().file; }
  std::string path() const {
    std::string path;
    for (std::size_t i = 1; i < steps_.size(); ++i) path.append(1, '/').append(steps_[i].name);
    return path.empty() ? "/" : path;
  }

 private:
  std::vector<Step> steps_;
  int links_ = 0;
};

}  // namespace

const File* File::entry(std::string_view name) const {
  const auto found = std::ranges::lower_bound(entries, name, {}, &Entry::name);
  return found != entries.end() && found->name == name ? &found->file : nullptr;
}

File& File::make(std::string_view name) {
  // Whoever reads a sorted list comes with the greatest name.
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
    return {.file = nullptr, .failed = std::make_error_code(failed), .path = {}};
  return {.file = &lookup.here(), .failed = {}, .path = {}};
}

RecordedTree::Found RecordedTree::resolve(std::string_view path) const {
  Lookup lookup(root_);
  if (const std::errc failed = lookup.go(path, LastLink::kFollow); failed != std::errc())
    return {.file = nullptr, .failed = std::make_error_code(failed), .path = {}};
  return {.file = &lookup.here(), .failed = {}, .path = lookup.path()};
}

}  // namespace plughost
