#pragma once
// The machine that is looked at: this one, a tree under a prefix that a test has made, or one that was
// recorded. Thread-safe. Its calls may block on the file system.

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "base/system/inotify.hpp"
#include "host/hardware/machine_files.hpp"

namespace plughost {

struct NvmlView;
struct RecordedMachine;
struct SysfsMemory;

// A directory whose changes can change a scan's result: entries whose name matches the pattern come or go, or
// are written.
struct WatchedDirectory {
  std::filesystem::path path;  // as on the machine, without the prefix; need not exist
  std::string name = "*";      // fnmatch(3) pattern
  WatchFor what = WatchFor::kEntries;

  auto operator<=>(const WatchedDirectory&) const = default;
};

// By the path of a device node, or of a link to it: its number as the kernel's device model has it, "c188:0".
using NodeNumbers = std::map<std::string, std::string>;

class HostRoot {
 public:
  explicit HostRoot(std::filesystem::path prefix = "/");
  // Nothing of this machine is looked at.
  explicit HostRoot(std::shared_ptr<const RecordedMachine> machine);

  enum class Look { kFile, kText, kEntries };
  // Is told each path that is looked at, and each that matches a pattern.
  using Note = std::function<void(Look look, const std::string& path)>;
  // The same machine, of which each look is noted, nvml is what NVML says, and no program is run.
  HostRoot noted(Note note, std::shared_ptr<const NvmlView> nvml) const;

  // Where a path is found on this machine: for programs, watches, and what is written. Not of a machine that
  // was recorded.
  std::filesystem::path at(const std::filesystem::path& path) const;

  bool recorded() const { return machine_ != nullptr; }
  // Else what a program would say is not known.
  bool runs_programs() const { return !recorded() && !note_; }
  // What NVML says; nullptr: it can be asked.
  const NvmlView* nvml() const { return nvml_.get(); }
  // What has been read of the devices of a machine that does not change any more; nullptr: it may change.
  SysfsMemory* sysfs_memory() const { return sysfs_memory_.get(); }
  // As Kubernetes calls it; empty: nobody has told.
  std::string node_name() const;

  // See MachineFiles.
  FileType type(const std::string& path) const {
    return look(Look::kFile, path).type(path, LastLink::kFollow);
  }
  FileType own_type(const std::string& path) const {
    return look(Look::kFile, path).type(path, LastLink::kKeep);
  }
  bool exists(const std::string& path) const { return type(path) != FileType::kNothing; }
  std::optional<std::string> text(const std::string& path, std::size_t most = kMostFileText) const {
    return look(Look::kText, path).text(path, most);
  }
  std::optional<std::string> link_target(const std::string& path) const {
    return look(Look::kFile, path).link_target(path);
  }
  std::optional<std::string> canonical(const std::string& path) const {
    return look(Look::kFile, path).canonical(path);
  }
  std::optional<std::string> device_number(const std::string& path) const {
    return look(Look::kFile, path).device_number(path);
  }
  using Entry = MachineFiles::Entry;
  std::error_code list(const std::string& directory, const Entry& entry) const {
    return look(Look::kEntries, directory).list(directory, entry);
  }

  // A look ends here: links may lead in circles, and a pattern to the whole machine.
  static constexpr std::size_t kMostDirectories = 50'000;
  // Each costs one of the user's inotify watches.
  static constexpr std::size_t kMostWatched = 1000;

  struct Match {
    std::vector<std::string> paths;       // existing ones, sorted by name, without the prefix
    std::vector<WatchedDirectory> watch;  // what was looked at, so that a change will be seen
    std::vector<std::string> remarks;     // which limit left something out
  };
  // The paths that a pattern with * ? [] in any of its components matches. A name's leading dot is not
  // special.
  Match glob(const std::string& pattern) const;

 private:
  const MachineFiles& look(Look look, const std::string& path) const {
    if (note_) note_(look, path);
    return *files_;
  }

  std::filesystem::path prefix_;
  std::shared_ptr<const RecordedMachine> machine_;  // nullptr: it is this one
  std::shared_ptr<const MachineFiles> files_;
  std::shared_ptr<const NvmlView> nvml_;
  std::shared_ptr<SysfsMemory> sysfs_memory_;
  Note note_;
};

}  // namespace plughost
