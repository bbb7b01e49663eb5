#pragma once
// The devices that a program of the user's own lists: with `discover` whenever it is run, with `watch`
// whenever it says so. Internal to exec.

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kinds/kind.hpp"

namespace plughost {

struct ExecSettings {
  std::vector<std::string> command;
  bool as_user = false;  // it becomes another user
  bool stays = false;    // `watch`
  // The longest run; of a program that stays the longest silence, and none is too long if it is not set.
  std::optional<std::chrono::milliseconds> timeout;
  // When a program of `discover` is run again.
  std::chrono::seconds interval{0};
  std::vector<std::string> subsystems;
  std::vector<std::filesystem::path> paths;
};

std::unique_ptr<const DeviceSource> exec_source(ExecSettings settings);

}  // namespace plughost
