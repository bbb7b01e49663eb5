#pragma once
// Ready-made entries, a file each in a directory of theirs, and the links to them among a configuration's own
// files. Blocks; not thread-safe.

#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace plughost {

struct Preset {
  enum class Link {
    kNone,
    kOurs,   // to the preset, whether or not that is still there
    kOther,  // something else stands where the link would be
  };
  std::string name;            // its file's, without ".yaml"
  std::filesystem::path file;  // of the preset
  std::string what;            // what it is for: its comment's first sentence
  bool there = true;           // false: only a link to it is left
  Link link = Link::kNone;
};

// What cannot be done, in a sentence; nothing was changed.
struct PresetError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Presets {
 public:
  // directory: where the presets are. config: the main file, beside whose plugins.d the links are.
  Presets(const std::filesystem::path& directory, std::filesystem::path config);

  // By name, with the links to presets that are gone. Throws PresetError.
  std::vector<Preset> list() const;
  // Throws PresetError if there is none of that name.
  Preset get(const std::string& name) const;
  // Link these, or take their links away, and return those for which there was something to do: all, or none
  // if one cannot be, or if the configuration would have errors then. Throw PresetError, ConfigError.
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
