#pragma once
// Ready-made entries, one file each in their own directory, and the links to them in a configuration's
// plugins.d. Blocks; not thread-safe.

#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace plughost {

struct Preset {
  enum class Link {
    kNone,
    kOurs,   // a link to the preset, even if the preset is missing
    kOther,  // another file has the link's name
  };
  std::string name;            // the file name without ".yaml"
  std::filesystem::path file;  // of the preset
  std::string what;            // its purpose: the first sentence of its comment
  bool there = true;           // false: only a link to the preset is left
  Link link = Link::kNone;
};

// The reason why an action cannot be done, as a sentence. Nothing has changed then.
struct PresetError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Presets {
 public:
  // `directory` has the presets. `config` is the main file, next to plugins.d.
  Presets(const std::filesystem::path& directory, std::filesystem::path config);

  // Sorted by name, including links to missing presets. Throws PresetError.
  std::vector<Preset> list() const;
  // Throws PresetError if there is no preset of that name.
  Preset get(const std::string& name) const;
  // Create or remove links, and return the presets that were changed. Change nothing if one link cannot be
  // changed, or if the configuration would have errors. Throw PresetError, ConfigError.
  std::vector<Preset> enable(std::span<const std::string> names) const;
  std::vector<Preset> disable(std::span<const std::string> names) const;

 private:
  using Change = void (*)(const std::filesystem::path& file, const std::filesystem::path& link,
                          std::error_code& failed);
  void change_all(const std::vector<Preset>& presets, Change change, Change back, const char* what) const;
  std::filesystem::path link_of(const Preset& preset) const { return links_ / (preset.name + ".yaml"); }
  Preset::Link state(const Preset& preset) const;
  Preset described(std::string name) const;

  std::filesystem::path directory_;
  std::filesystem::path config_;
  std::filesystem::path links_;
};

}  // namespace plughost
