// A path in a group: `{path, mountPath, permissions, type, readOnly, optional, limit}`.

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "base/text/text.hpp"
#include "base/text/words.hpp"
#include "kinds/groups/groups.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;

enum class PathType { kDevice, kMount };
constexpr Word<PathType> kTypes[] = {{"Device", PathType::kDevice}, {"Mount", PathType::kMount}};

// A response with this many nodes still fits into the kubelet's checkpoint and messages.
constexpr std::size_t kMostNodes = 1000;

// Returns the name of a device found at path. Links in /dev/…/by-id and similar directories are names
// already.
std::string name_of(const std::string& path) {
  const bool in_dev = path.starts_with("/dev/");
  const fs::path whole = path;
  if (in_dev && whole.parent_path().filename().string().starts_with("by-")) return whole.filename();
  std::string name = path.substr(in_dev ? std::string_view("/dev/").size() : 1);
  std::ranges::replace(name, '/', '_');
  return name;
}

constexpr Word<FileType> kOthers[] = {{"a directory without device nodes", FileType::kDirectory},
                                      {"a regular file, not a device node", FileType::kRegular},
                                      {"a socket, not a device node", FileType::kSocket},
                                      {"a pipe, not a device node", FileType::kFifo}};

// Returns why no path matches the pattern, as a sentence.
std::string no_match(const HostRoot& host, const std::string& pattern) {
  if (!has_wildcards(pattern)) return no_such_path(host, pattern);
  const std::string directory = pattern.substr(0, pattern.rfind('/', pattern.find_first_of("*?[")));
  const bool exists = directory.empty() || host.exists(directory);
  return "nothing matches " + pattern + (exists ? "" : ": " + no_such_path(host, directory, "directory"));
}

class PathPart final : public GroupPart {
 public:
  explicit PathPart(Fields& fields);
  std::vector<Device> find(const HostRoot& host, Scan& scan) const override;

 private:
  Device piece(const HostRoot& host, const std::string& path) const;
  void add_nodes(const HostRoot& host, Scan& scan, const std::string& path, Device& piece) const;
  void add_nodes_below(const HostRoot& host, Scan& scan, const std::string& path,
                       const std::string& in_container, Device& piece) const;
  void add_node(const std::string& path, const std::string& container_path, Device& piece) const {
    piece.nodes.push_back({.host_path = path, .container_path = container_path, .permissions = permissions_});
  }

  std::string pattern_;
  Template mount_path_;
  std::string permissions_;
  PathType type_ = PathType::kDevice;
  bool read_only_ = false;
};

PathPart::PathPart(Fields& fields) {
  if (!fields.has("path")) fields.error("path", "the path is missing, as in path: /dev/ttyUSB*");
  pattern_ = fields.absolute_path("path", "/");
  if (pattern_.find('{') < pattern_.find('}') && pattern_.find('}') != std::string::npos)
    fields.warning(
        "path",
        "braces are no pattern here; for a device of each write a pattern such as /dev/ttyUSB[0-3], "
        "or a group for each path: the paths of one group are one device");
  else if (std::ranges::count(pattern_, '[') > std::ranges::count(pattern_, ']'))
    fields.warning("path", "a '[' without its ']' matches only itself, as in /dev/video[0-3]");
  else if (pattern_.find_first_of("(|") != std::string::npos || pattern_.find("]+") != std::string::npos)
    fields.warning("path",
                   "'(', '|' and '+' match only themselves; write a pattern such as /dev/ttyUSB*, or a group "
                   "for each path");
  mount_path_ = read_mount_path(fields);
  type_ = fields.choice("type", kTypes, PathType::kDevice);
  permissions_ = fields.permissions();
  read_only_ = fields.flag("readOnly", false);
  if (type_ == PathType::kDevice && read_only_) {
    fields.error("readOnly",
                 "a device node is made read-only by permissions: r; readOnly is for type: Mount");
  }
  if (type_ == PathType::kMount && fields.has("permissions")) {
    fields.warning("permissions", "a mount has no permissions; use readOnly: true or false");
  }
  read_terms(fields, *this);
}

Device PathPart::piece(const HostRoot& host, const std::string& path) const {
  Device piece;
  piece.id = name_of(path);
  piece.attributes = {{.name = "name", .value = piece.id},
                      {.name = "plainName", .value = plain_name(piece.id)},
                      {.name = "path", .value = path},
                      {.name = "target", .value = host.canonical(path).value_or(path)}};
  return piece;
}

// Returns true for entries that containerd and CRI-O skip in a directory that is given as a device.
bool is_left_out(std::string_view name, FileType type) {
  static constexpr std::string_view kDirectories[] = {"pts",  "shm",         "fd",   "mqueue",
                                                      ".lxc", ".lxd-mounts", ".udev"};
  if (type == FileType::kDirectory) return std::ranges::find(kDirectories, name) != std::end(kDirectories);
  return name == "console";
}

// A directory such as /dev/snd or /dev/bus/usb means all nodes in it and below, as in container runtimes.
// Links are not followed, so the recursion ends.
void PathPart::add_nodes_below(const HostRoot& host, Scan& scan, const std::string& path,
                               const std::string& in_container, Device& piece) const {
  if (piece.nodes.size() > kMostNodes) return;
  scan.watch.push_back({.path = path, .name = "*"});
  std::vector<std::pair<std::string, FileType>> entries;
  host.list(path, [&entries](std::string_view name, FileType type) {
    if ((is_device_node(type) || type == FileType::kDirectory) && !is_left_out(name, type))
      entries.emplace_back(name, type);
  });
  std::ranges::sort(entries);
  for (const auto& [name, type] : entries) {
    const std::string inner = in_container + '/' + Template::escape(name);
    if (is_device_node(type))
      add_node(path + '/' + name, inner, piece);
    else
      add_nodes_below(host, scan, path + '/' + name, inner, piece);
  }
}

void PathPart::add_nodes(const HostRoot& host, Scan& scan, const std::string& path, Device& piece) const {
  const std::string in_container = place(mount_path_, piece.id, path);
  const FileType type = host.type(path);
  if (is_device_node(type)) return add_node(path, in_container, piece);
  if (type == FileType::kDirectory) add_nodes_below(host, scan, path, in_container, piece);
  if (piece.nodes.size() > kMostNodes) {
    piece.error = path + " has more than " + std::to_string(kMostNodes) +
                  " device nodes; name those that are meant, as in " + path + "/*";
    piece.nodes.resize(1);
  }
  if (piece.nodes.empty()) {
    add_node(path, in_container, piece);
    const std::string_view other = word_of(kOthers, type);
    piece.error = pattern_ + " is " +
                  std::string(other.empty() ? "something that cannot be read, not a device node" : other) +
                  "; `type: Mount` gives files and directories";
  }
}

std::vector<Device> PathPart::find(const HostRoot& host, Scan& scan) const {
  HostRoot::Match found = host.glob(pattern_);
  std::ranges::move(found.watch, std::back_inserter(scan.watch));
  std::ranges::move(found.remarks, std::back_inserter(scan.remarks));
  Funnel funnel{.selector = selector, .candidates = "path", .optional = optional};
  if (found.paths.empty()) funnel.nothing = no_match(host, pattern_);
  std::vector<Device> pieces;
  for (const std::string& path : found.paths) {
    // A pattern may match directories besides nodes; a plain path selects the directory itself.
    const bool other =
        type_ == PathType::kDevice && has_wildcards(pattern_) && !is_device_node(host.type(path));
    if (!funnel.pass(other ? "it is not a device node (`type: Mount` gives files and directories)" : ""))
      continue;
    if (type_ == PathType::kMount) {
      Device& mount = pieces.emplace_back(piece(host, path));
      mount.mounts.push_back(
          {.host_path = path, .container_path = place(mount_path_, mount.id, path), .read_only = read_only_});
      continue;
    }
    add_nodes(host, scan, path, pieces.emplace_back(piece(host, path)));
  }
  scan.funnels.push_back(std::move(funnel));
  return pieces;
}

}  // namespace

std::unique_ptr<GroupPart> read_path_part(Fields& fields) { return std::make_unique<PathPart>(fields); }

}  // namespace plughost
