#pragma once
// A simulated /sys: each device is a directory with attributes, a uevent file and links. The links are
// relative, as in the kernel's /sys. Not thread-safe.

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "host/hardware/host_root.hpp"
#include "unit/temp_dir.hpp"

namespace plughost::test {

class MadeSysfs {
 public:
  using Texts = std::map<std::string, std::string>;

  HostRoot host() const { return HostRoot(tree_->path()); }
  // The directory tree of the simulated machine, for files outside of /sys such as /dev and /run/udev/data.
  const TempDir& tree() const { return *tree_; }

  // Creates the device at `path`, such as "/sys/devices/pci0000:00/0000:00:02.0", and the links to the
  // device: from /sys/bus/<subsystem>/devices for buses, from /sys/class/<subsystem> for other subsystems,
  // and from /sys/dev if `uevent` has MAJOR and MINOR. The device's link `device` leads to its parent.
  // `attributes` maps files below `path` to texts. `uevent` has the lines of the uevent file, such as DEVNAME
  // and DEVTYPE.
  void device(const std::string& path, const std::string& subsystem, const Texts& attributes = {},
              const Texts& uevent = {}) const {
    const std::filesystem::path directory = path;
    tree_->directory(path);
    std::string lines;
    for (const auto& [key, value] : uevent) lines += key + '=' + value + '\n';
    tree_->file(directory / "uevent", lines);
    for (const auto& [name, text] : attributes) attribute(path, name, text);
    const std::string home = (is_bus(subsystem) ? "/sys/bus/" : "/sys/class/") + subsystem;
    tree_->directory(home);
    link(path + "/subsystem", home);
    link(home + (is_bus(subsystem) ? "/devices/" : "/") + directory.filename().string(), path);
    if (uevent.contains("MAJOR"))
      link(std::string("/sys/dev/") + (subsystem == "block" ? "block/" : "char/") + uevent.at("MAJOR") + ':' +
               uevent.at("MINOR"),
           path);
    for (auto above = directory.parent_path(); above.has_relative_path(); above = above.parent_path()) {
      if (!std::filesystem::exists(tree_->at(above / "uevent"))) continue;
      if (!is_bus(subsystem)) link(path + "/device", above);
      break;
    }
  }

  void attribute(const std::string& path, const std::string& name, std::string_view text) const {
    tree_->file(std::filesystem::path(path) / name, std::string(text) + '\n');
  }

  // Creates or replaces a link `from` that leads to `to`. Both are paths of the simulated machine.
  void link(const std::string& from, const std::filesystem::path& to) const {
    tree_->remove(from);
    tree_->link(from, to.lexically_relative(std::filesystem::path(from).parent_path()));
  }

  void bind(const std::string& path, const std::string& driver) const {
    const std::string home = "/sys/bus/pci/drivers/" + driver;
    tree_->directory(home);
    link(path + "/driver", home);
  }

  // Removes the device, everything below its directory, and the links to them.
  void remove(const std::string& path) const {
    tree_->remove(path);
    for (const char* homes : {"sys/bus", "sys/class", "sys/dev"}) {
      if (!std::filesystem::exists(tree_->at(homes))) continue;
      std::vector<std::filesystem::path> dangling;
      for (const auto& entry : std::filesystem::recursive_directory_iterator(tree_->at(homes))) {
        if (entry.is_symlink() && !std::filesystem::exists(entry.path())) dangling.push_back(entry.path());
      }
      for (const auto& each : dangling) std::filesystem::remove(each);
    }
  }

 private:
  static bool is_bus(const std::string& subsystem) {
    return subsystem == "pci" || subsystem == "usb" || subsystem == "auxiliary" || subsystem == "platform";
  }

  std::unique_ptr<const TempDir> tree_ = std::make_unique<const TempDir>();
};

}  // namespace plughost::test
