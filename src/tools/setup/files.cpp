#include "tools/setup/files.hpp"

#include <algorithm>
#include <sstream>
#include <system_error>

#include "base/document/yaml_text.hpp"
#include "base/system/files.hpp"
#include "base/text/json.hpp"
#include "embedded/plughost.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHead =
    "# Written by plughost setup, which writes it anew; `plughost setup --undo` takes it away.\n";

bool is_volatile(const std::string& directory) {
  return directory.starts_with("/run/") || directory.starts_with("/var/run/");
}

// Of the directories where the runtime looks the one that we are to write to; empty: the usual one is among
// them, or there is none. What is written is gone with the next boot at best.
std::string cdi_directory(const RuntimeSettings& settings) {
  const std::vector<std::string>& all = settings.spec_dirs;
  for (const char* const usual : {"/run/cdi", "/var/run/cdi"}) {
    if (std::ranges::find(all, usual) != all.end()) return {};
  }
  const auto found = std::ranges::find_if(all, is_volatile);
  if (found != all.end()) return *found;
  return all.empty() ? std::string() : all.back();
}

std::string section_text(std::span<const Need> needs, std::string_view section) {
  std::string text;
  for (const Need& need : needs) {
    std::string lines;
    for (const Setting& setting : need.settings) {
      if (setting.section == section) lines += setting.text() + '\n';
    }
    if (!lines.empty()) text += "# " + need.what + ".\n" + lines;
  }
  return text.empty() ? text : "[" + std::string(section) + "]\n" + text;
}

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

bool is_of_setup(std::string_view text) { return text.starts_with(kSetupMark); }

std::string drop_in_text(std::span<const Need> needs) {
  const std::string unit = section_text(needs, "Unit");
  const std::string service = section_text(needs, "Service");
  if (unit.empty() && service.empty()) return {};
  return std::string(kHead) + '\n' + unit + (unit.empty() || service.empty() ? "" : "\n") + service;
}

std::string node_file_text(const Kubernetes& kubernetes, const RuntimeSettings* settings) {
  Json document;
  if (kubernetes.directory != kKubeletDirectory)
    document["kubelet"]["directory"] = kubernetes.directory.string();
  if (kubernetes.root != kKubeletRoot) {
    document["kubelet"]["pluginsRegistry"] = (kubernetes.root / "plugins_registry").string();
    document["kubelet"]["podResources"] = (kubernetes.root / "pod-resources/kubelet.sock").string();
  }
  if (const std::string cdi = settings ? cdi_directory(*settings) : ""; !cdi.empty())
    document["cdi"]["directory"] = cdi;
  if (document.is_null()) return {};
  return std::string(kHead) +
         "# What is elsewhere on this node than usual. What the configuration says wins.\n" +
         yaml_of(document) + '\n';
}

std::string unit_text(std::string_view program) {
  std::string text = std::string(kHead) + std::string(kUnitText);
  for (std::size_t at = text.find(kPackagedProgram); at != text.npos;
       at = text.find(kPackagedProgram, at + program.size()))
    text.replace(at, std::string_view(kPackagedProgram).size(), program);
  return text;
}

std::string sysusers_text() { return std::string(kHead) + "g plughost -\n"; }

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
