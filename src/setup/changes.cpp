#include "setup/changes.hpp"

#include <algorithm>
#include <filesystem>
#include <sstream>
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

using Lines = std::vector<std::string>;

Lines lines_of(const std::optional<std::string>& text) {
  Lines lines;
  std::istringstream stream(text.value_or(""));
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  if (text && !text->empty() && !text->ends_with('\n')) lines.back() += "\n\\ No newline at end of file";
  return lines;
}

// How many lines the longest common subsequence of the two ends has, from each pair of places on.
std::vector<std::vector<std::size_t>> common(const Lines& before, const Lines& after) {
  std::vector<std::vector<std::size_t>> longest(before.size() + 1,
                                                std::vector<std::size_t>(after.size() + 1));
  for (std::size_t i = before.size(); i-- > 0;) {
    for (std::size_t j = after.size(); j-- > 0;)
      longest[i][j] =
          before[i] == after[j] ? longest[i + 1][j + 1] + 1 : std::max(longest[i + 1][j], longest[i][j + 1]);
  }
  return longest;
}

// "1,3"; of no line "0,0".
std::string range_of(const Lines& lines) {
  return (lines.empty() ? "0," : "1,") + std::to_string(lines.size());
}

}  // namespace

std::string FileChange::diff() const {
  if (before == after) return {};
  const Lines from = lines_of(before);
  const Lines to = lines_of(after);
  const auto longest = common(from, to);
  std::string text = "--- " + (before ? "a" + path : "/dev/null") + "\n+++ " +
                     (after ? "b" + path : "/dev/null") + "\n@@ -" + range_of(from) + " +" + range_of(to) +
                     " @@\n";
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < from.size() || j < to.size()) {
    if (i < from.size() && j < to.size() && from[i] == to[j]) {
      text += ' ' + from[i++] + '\n';
      ++j;
    } else if (i < from.size() && (j == to.size() || longest[i + 1][j] >= longest[i][j + 1])) {
      text += '-' + from[i++] + '\n';
    } else {
      text += '+' + to[j++] + '\n';
    }
  }
  return text;
}

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
