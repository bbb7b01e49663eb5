#include "config/presets.hpp"

#include <algorithm>
#include <fstream>
#include <set>
#include <system_error>
#include <utility>

#include "base/document/diagnostics.hpp"
#include "config/config.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;

// Returns the first sentence of the comment at the beginning of the file.
std::string purpose(const fs::path& file) {
  std::ifstream text(file);
  std::string words;
  for (std::string line; std::getline(text, line) && line.starts_with("# ");)
    words += (words.empty() ? "" : " ") + line.substr(2);
  const std::size_t end = words.find(". ");
  if (end != std::string::npos) words.resize(end);
  if (words.ends_with('.')) words.pop_back();
  return words;
}

// Returns the names of the directory's *.yaml files without the suffix.
std::set<std::string> names_in(const fs::path& directory) {
  std::set<std::string> names;
  const std::error_code failed = HostRoot().list(directory, [&](std::string_view name, FileType) {
    if (name.ends_with(".yaml") && !name.starts_with('.')) names.insert(fs::path(name).stem());
  });
  if (failed && failed != std::errc::no_such_file_or_directory)
    throw PresetError(directory.string() + " cannot be read: " + failed.message());
  return names;
}

void make_link(const fs::path& file, const fs::path& link, std::error_code& failed) {
  fs::create_symlink(file, link, failed);
}

void remove_link(const fs::path&, const fs::path& link, std::error_code& failed) { fs::remove(link, failed); }

bool same_file(const fs::path& a, const fs::path& b) {
  std::error_code failed;
  const bool same = fs::equivalent(a, b, failed);
  return same && !failed;
}

}  // namespace

// Makes all changes or none: changes made before a failed change are undone.
void Presets::change_all(const std::vector<Preset>& presets, Change change, Change back,
                         const char* what) const {
  std::error_code failed;
  for (std::size_t i = 0; i < presets.size(); ++i) {
    change(presets[i].file, link_of(presets[i]), failed);
    if (!failed) continue;
    const std::string why = failed.message();
    for (std::size_t done = 0; done < i; ++done) back(presets[done].file, link_of(presets[done]), failed);
    throw PresetError(link_of(presets[i]).string() + " cannot be " + what + ": " + why +
                      "; nothing was changed");
  }
}

Presets::Presets(const fs::path& directory, fs::path config)
    : directory_(fs::absolute(directory).lexically_normal()),
      config_(std::move(config)),
      links_(config_.parent_path() / "plugins.d") {}

Preset::Link Presets::state(const Preset& preset) const {
  std::error_code failed;
  const fs::path link = link_of(preset);
  const fs::file_type type = fs::symlink_status(link, failed).type();
  if (type == fs::file_type::not_found) return Preset::Link::kNone;
  if (type != fs::file_type::symlink) return Preset::Link::kOther;
  const bool ours = fs::read_symlink(link, failed) == preset.file || same_file(link, preset.file);
  return ours ? Preset::Link::kOurs : Preset::Link::kOther;
}

Preset Presets::described(std::string name) const {
  Preset preset{.name = std::move(name)};
  preset.file = directory_ / (preset.name + ".yaml");
  preset.what = purpose(preset.file);
  std::error_code failed;
  preset.there = fs::exists(preset.file, failed);
  preset.link = state(preset);
  return preset;
}

std::vector<Preset> Presets::list() const {
  const std::set<std::string> names = names_in(directory_);
  if (names.empty())
    throw PresetError("there are no presets in " + directory_.string() +
                      "; they come with the package, and --presets names a different directory");
  std::vector<Preset> presets;
  for (const std::string& name : names) presets.push_back(described(name));
  for (const std::string& name : names_in(links_)) {
    if (names.contains(name)) continue;
    Preset gone = described(name);
    if (gone.link == Preset::Link::kOurs) presets.push_back(std::move(gone));
  }
  std::ranges::sort(presets, {}, &Preset::name);
  return presets;
}

Preset Presets::get(const std::string& name) const {
  std::vector<Preset> presets = list();
  const auto found = std::ranges::find(presets, name, &Preset::name);
  if (found != presets.end()) return std::move(*found);
  std::vector<std::string_view> known;
  for (const Preset& preset : presets) known.push_back(preset.name);
  throw PresetError("there is no preset " + quote(name) + " in " + directory_.string() +
                    did_you_mean(name, known) + "; `plughost preset list` shows them");
}

std::vector<Preset> Presets::enable(std::span<const std::string> names) const {
  std::vector<Preset> missing;
  Overrides after;
  for (const std::string& name : names) {
    Preset preset = get(name);
    if (preset.link == Preset::Link::kOther)
      throw PresetError(link_of(preset).string() + " is there, and no link to " + preset.file.string() +
                        "; nothing was changed: move it away first, or keep it and leave the preset out");
    if (!preset.there)
      throw PresetError(preset.file.string() +
                        " does not exist any more, and its link is dangling; `plughost preset disable " +
                        name + "` takes that away");
    if (preset.link == Preset::Link::kOurs || !after.supposed.emplace(link_of(preset), preset.file).second)
      continue;
    missing.push_back(std::move(preset));
  }
  if (missing.empty()) return missing;

  const Config config = load_config(config_, after);
  for (const Preset& preset : missing) {
    const auto is_it = [&](const fs::path& file) { return same_file(file, preset.file); };
    if (std::ranges::none_of(config.files.paths, is_it))
      throw PresetError(config_.string() + " does not include " + link_of(preset).string() +
                        "; nothing was changed: add plugins.d/*.yaml to its `include`");
  }
  std::error_code failed;
  fs::create_directory(links_, failed);  // without the directory, no link can be made
  change_all(missing, make_link, remove_link, "made");
  return missing;
}

std::vector<Preset> Presets::disable(std::span<const std::string> names) const {
  std::vector<Preset> linked;
  Overrides after;
  for (const std::string& name : names) {
    Preset preset = get(name);
    if (preset.link == Preset::Link::kOther)
      throw PresetError(link_of(preset).string() + " is not a link to " + preset.file.string() +
                        "; nothing was changed: if it is to go, remove it by hand");
    if (preset.link == Preset::Link::kNone || !after.supposed.emplace(link_of(preset), std::nullopt).second)
      continue;
    linked.push_back(std::move(preset));
  }
  if (linked.empty()) return linked;

  load_config(config_, after);
  change_all(linked, remove_link, make_link, "removed");
  return linked;
}

}  // namespace plughost
