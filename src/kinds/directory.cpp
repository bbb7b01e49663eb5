// `directory: {path, match, recursive}`: each file in a directory is a device.

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/text/text.hpp"
#include "kinds/kind.hpp"
#include "model/device/names.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostWatched = 1000;  // each costs one of the user's inotify watches
constexpr std::size_t kLongestName = 1000;  // of a directory, in a remark
constexpr std::string_view kDirectoryAttributes[] = {"name", "path"};
constexpr std::string_view kBaseName = "basename";  // used if `name` may contain a '/'

enum class Depth { kFlat, kRecursive };

class Directory final : public DeviceSource {
 public:
  Directory(fs::path path, std::string match, Depth depth)
      : path_(std::move(path)), match_(std::move(match)), depth_(depth) {}

  Scan scan(const HostRoot& host) const override;

 private:
  // The content of the directories that were read, with names relative to path_.
  struct Listing {
    std::vector<std::string> files;
    std::vector<fs::path> directories = {""};
    std::size_t other_names = 0;  // files that the pattern does not match
    std::size_t no_files = 0;     // directories whose files do not count, and links without a target
  };
  // Adds the content of a directory. Returns the error that ended its list early.
  std::error_code list(const HostRoot& host, const fs::path& subdirectory, Listing& listing) const;

  fs::path path_;
  std::string match_;
  Depth depth_;
};

bool vanished(const std::error_code& failed) { return failed == std::errc::no_such_file_or_directory; }

std::error_code Directory::list(const HostRoot& host, const fs::path& subdirectory, Listing& listing) const {
  const auto before = static_cast<std::ptrdiff_t>(listing.directories.size());
  const std::string path = (subdirectory.empty() ? path_ : path_ / subdirectory).string();
  const std::string prefix = subdirectory.empty() ? "" : subdirectory.string() + '/';
  // The type from the directory's entry suffices except for links: 100,000 files need no system call each.
  const std::error_code failed = host.list(path, [&](std::string_view each, FileType type) {
    std::string name(each);
    if (type == FileType::kDirectory) {
      if (depth_ == Depth::kRecursive)
        listing.directories.push_back(subdirectory / name);
      else
        ++listing.no_files;
      return;
    }
    if (type == FileType::kLink) type = host.type(path + '/' + name);
    if (type == FileType::kNothing || type == FileType::kDirectory)
      ++listing.no_files;
    else if (matches(match_, name))
      listing.files.push_back(prefix + name);
    else
      ++listing.other_names;
  });
  std::sort(listing.directories.begin() + before, listing.directories.end());
  return failed;
}

Scan Directory::scan(const HostRoot& host) const {
  Scan scan;
  Funnel funnel{.selector = "directory", .candidates = "entry"};
  Listing all;
  std::size_t unreadable = 0;
  std::string first_unreadable;
  for (std::size_t i = 0; i < all.directories.size(); ++i) {
    const fs::path directory = all.directories[i];  // a copy: the list grows
    // Joining "" would append a '/' to the path.
    const fs::path path = i == 0 ? path_ : path_ / directory;
    if (i < kMostWatched) {
      scan.watch.push_back({.path = path, .name = depth_ == Depth::kFlat ? match_ : "*"});
    }
    const std::error_code failed = list(host, directory, all);
    if (failed && !vanished(failed)) {
      if (i == 0)
        throw std::system_error(failed, failed == std::errc::not_a_directory
                                            ? path_.string() + " is a file, and its files cannot be listed"
                                            : "the directory " + path_.string() + " cannot be read");
      if (unreadable++ == 0) {
        first_unreadable = stable_id(path.string(), kLongestName) + ": " + failed.message();
      }
    }
    if (i == 0 && vanished(failed)) funnel.nothing = no_such_path(host, path_.string(), "directory");
  }
  if (unreadable > 0) {
    scan.remarks.push_back(std::to_string(unreadable) +
                           (unreadable == 1 ? " directory below " : " directories below ") + path_.string() +
                           " cannot be read, the first: " + first_unreadable);
  }
  if (all.directories.size() > kMostWatched) {
    scan.remarks.push_back(path_.string() + " has " + std::to_string(all.directories.size() - 1) +
                           " directories below it; changes in the deeper ones are seen late");
  }

  funnel.seen = all.files.size() + all.other_names + all.no_files;
  if (all.no_files > 0) funnel.left_out.push_back({"it is not a file", all.no_files});
  if (all.other_names > 0)
    funnel.left_out.push_back({"`match: " + match_ + "` does not match its name", all.other_names});
  if (all.files.empty() && funnel.nothing.empty()) {
    funnel.nothing = "the directory " + path_.string();
    if (all.other_names > 0)
      funnel.nothing +=
          " has " + counted(all.other_names, "file") + ", and `match: " + match_ + "` matches none";
    else
      funnel.nothing += all.no_files > 0 ? " has no files, only directories or dangling links" : " is empty";
  }
  scan.funnels = {std::move(funnel)};
  std::ranges::sort(all.files);
  const std::string prefix = path_ / "";
  scan.devices.reserve(all.files.size());
  for (std::string& name : all.files) {
    Device& device = scan.devices.emplace_back();
    device.attributes = {{.name = "name", .value = name}, {.name = "path", .value = prefix + name}};
    if (depth_ == Depth::kRecursive)
      device.attributes.push_back(
          {.name = std::string(kBaseName), .value = name.substr(name.rfind('/') + 1)});
    device.id = std::move(name);
  }
  return scan;
}

std::unique_ptr<const DeviceSource> read_directory(Fields& entry) {
  Fields fields = entry.below("directory");
  if (!fields.has("path")) fields.error("path", "the directory is missing, as in path: /etc/gophers");
  std::string path = fields.absolute_path("path", "/");
  if (has_wildcards(path))
    fields.warning(
        "path",
        "a directory's path is no pattern; which of its files count is in `match`, as in match: \"*.dev\"");
  std::string match = fields.text("match", "*");
  if (match.empty() || match.find('/') != std::string::npos) {
    fields.error("match",
                 "a pattern for file names has no '/' and is not empty, as in \"*.dev\"; set "
                 "recursive: true for the files of subdirectories");
  }
  if (match.starts_with('^') || match.ends_with('$') || match.find('\\') != std::string::npos)
    fields.warning("match",
                   "this looks like a regular expression, and is a pattern of file names, as in \"*.dev\"");
  const Depth depth = fields.flag("recursive", false) ? Depth::kRecursive : Depth::kFlat;
  return std::make_unique<Directory>(std::move(path), std::move(match), depth);
}

std::vector<std::string_view> declared_by_directory(const Node& value) {
  const Node* const recursive = value.find("recursive");
  if (!recursive || recursive->scalar != "true") return {};
  return {kBaseName};
}

}  // namespace

Kind directory_kind() {
  return {.attributes = kDirectoryAttributes, .read = read_directory, .declared = declared_by_directory};
}

}  // namespace plughost
