#pragma once
// The machine that is scanned: this machine, a test's tree under a prefix, or a recorded machine.
// Thread-safe. Calls may block on the file system.
//
// Kinds read the machine through this class alone. So a test can make a machine in a directory, and a machine
// can be recorded on one node and planned for on another (`facts`, `plan`) without code in the kinds. libudev
// cannot do this: it has no root directory for tests, and enumerates by opening files that may hang. What
// must not happen on a recorded machine (running programs, loading NVML, naming a path of this machine) is
// refused here, once.

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

// A directory whose changes can change the result of a scan: entries that match the pattern appear, disappear
// or are written.
struct WatchedDirectory {
  std::filesystem::path path;  // as on the machine, without the prefix; need not exist
  std::string name = "*";      // fnmatch(3) pattern
  WatchFor what = WatchFor::kEntries;

  auto operator<=>(const WatchedDirectory&) const = default;
};

// Numbers of device nodes in the form of the kernel's device model, "c188:0", by the node's path or a link's.
using NodeNumbers = std::map<std::string, std::string>;

class HostRoot {
 public:
  explicit HostRoot(std::filesystem::path prefix = "/");
  // Uses only the recorded machine.
  explicit HostRoot(std::shared_ptr<const RecordedMachine> machine);

  enum class Look { kFile, kText, kEntries };
  // Called for each path that is accessed, and for each path that matches a pattern.
  using Note = std::function<void(Look look, const std::string& path)>;
  // Returns the same machine, which calls `note` at each access, takes NVML from `nvml` and runs no program.
  HostRoot noted(Note note, std::shared_ptr<const NvmlView> nvml) const;

  // Returns where a path is on this machine, for programs, watches and writing. Not for a recorded machine.
  std::filesystem::path at(const std::filesystem::path& path) const;

  bool recorded() const { return machine_ != nullptr; }
  // Returns false if programs must not be run, so that their output is unknown.
  bool runs_programs() const { return !recorded() && !note_; }
  // NVML's recorded results; nullptr if NVML itself can be queried.
  const NvmlView* nvml() const { return nvml_.get(); }
  // A cache of device data for a machine that cannot change; nullptr if the machine may change.
  SysfsMemory* sysfs_memory() const { return sysfs_memory_.get(); }
  // The node's name in Kubernetes; empty: unknown.
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

  // Limits a search, because links may form circles, and a pattern may match the whole machine.
  static constexpr std::size_t kMostDirectories = 50'000;
  // Each watched directory costs one of the user's inotify watches.
  static constexpr std::size_t kMostWatched = 1000;

  struct Match {
    std::vector<std::string> paths;       // existing paths, sorted by name, without the prefix
    std::vector<WatchedDirectory> watch;  // the searched directories, to notice changes
    std::vector<std::string> remarks;     // limits that were reached
  };
  // Returns the paths that match a pattern with * ? [] in any component. A leading dot is not special.
  Match glob(const std::string& pattern) const;

 private:
  const MachineFiles& look(Look look, const std::string& path) const {
    if (note_) note_(look, path);
    return *files_;
  }

  std::filesystem::path prefix_;
  std::shared_ptr<const RecordedMachine> machine_;  // nullptr: this machine
  std::shared_ptr<const MachineFiles> files_;
  std::shared_ptr<const NvmlView> nvml_;
  std::shared_ptr<SysfsMemory> sysfs_memory_;
  Note note_;
};

}  // namespace plughost
