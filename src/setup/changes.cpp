#include "setup/changes.hpp"

#include <filesystem>
#include <system_error>

#include "base/files.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;

// Where nobody looks who reads the directory.
std::string temporary_beside(const fs::path& file) {
  return file.parent_path() / ('.' + file.filename().string() + ".new");
}

void write(const HostRoot& host, const FileChange& change) {
  const fs::path file = host.at(change.path);
  fs::create_directories(file.parent_path());
  replace_file(file, temporary_beside(file), *change.after);
}

void remove(const HostRoot& host, const FileChange& change) {
  const fs::path file = host.at(change.path);
  fs::remove(file);
  std::error_code failed;  // of a link that is not there, or of a directory that is not empty
  if (change.path == kOwnUnit) fs::remove(host.at(kOwnUnitLink), failed);
  if (file.parent_path().extension() == ".d") fs::remove(file.parent_path(), failed);
}

}  // namespace

std::vector<FileChange> changes_of(const HostRoot& host, std::span<const PlannedFile> files) {
  std::vector<FileChange> all;
  for (const PlannedFile& file : files) {
    const FileType type = host.own_type(file.path);
    const auto text = type == FileType::kRegular ? host.text(file.path) : std::nullopt;
    if (type != FileType::kNothing && !(text && is_of_setup(*text))) {
      if (file.text.empty()) continue;
      throw SetupError(file.path +
                       " is there, and plughost setup has not written it; nothing was changed: move it away, "
                       "and compare the two then");
    }
    FileChange change{.path = file.path, .before = text, .after = file.text};
    if (file.text.empty()) change.after.reset();
    if (change.before != change.after) all.push_back(std::move(change));
  }
  return all;
}

void make_changes(const HostRoot& host, std::span<const FileChange> all) {
  std::string done;
  for (const FileChange& change : all) {
    try {
      change.after ? write(host, change) : remove(host, change);
    } catch (const std::system_error& error) {
      throw SetupError(change.path + " cannot be " + (change.after ? "written" : "removed") + ": " +
                       error.code().message() +
                       (done.empty() ? "; nothing was changed" : "; done before that:" + done));
    }
    done += ' ' + change.path;
  }
}

}  // namespace plughost
