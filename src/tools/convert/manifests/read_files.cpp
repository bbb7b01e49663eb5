#include "tools/convert/manifests/read_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <variant>

#include "base/document/text_file.hpp"
#include "base/document/yaml.hpp"
#include "base/system/unique_fd.hpp"

namespace plughost {
namespace {

constexpr const char* kHelm =
    "this is a template of Helm's; `helm get manifest RELEASE | plughost convert -` has what it became, and "
    "`helm template CHART -f VALUES | plughost convert -` what it becomes";
constexpr const char* kGoTemplate =
    "this is a template; what the cluster has is in `kubectl get daemonset,configmap -n NAMESPACE -o yaml | "
    "plughost convert -`";
constexpr const char* kProgram =
    "this is a program; what it makes is in `kubectl get daemonset,configmap -n NAMESPACE -o yaml | plughost "
    "convert -`";
constexpr const char* kTerraform =
    "this is Terraform; what it made is in `kubectl get daemonset,configmap -n NAMESPACE -o yaml | plughost "
    "convert -`, and what it gives to a chart is YAML of its own: save it in a file";
constexpr const char* kNix =
    "this is Nix; `nix eval --json -f FILE | plughost convert -` has its values, and `kubectl get "
    "daemonset,configmap -n NAMESPACE -o yaml | plughost convert -` what it made";
constexpr const char* kCue = "this is CUE; `cue export --out yaml FILE | plughost convert -`";
constexpr const char* kJsonnet = "this is Jsonnet; `jsonnet FILE | plughost convert -`";

// Returns true if a line other than a comment has all of the parts.
bool has_line_with(std::string_view text, std::initializer_list<std::string_view> parts) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t first = line.find_first_not_of(" \t");
    if (first == std::string_view::npos || line[first] == '#') continue;
    if (std::ranges::all_of(parts, [&](std::string_view part) { return line.find(part) != line.npos; }))
      return true;
  }
  return false;
}

bool ends_with_any(std::string_view file, std::initializer_list<std::string_view> endings) {
  return std::ranges::any_of(endings, [&](std::string_view ending) { return file.ends_with(ending); });
}

bool is_terraform(std::string_view text) {
  return has_line_with(text, {"resource \"", "\" {"}) || has_line_with(text, {"module \"", "\" {"});
}

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 20'000;
constexpr std::size_t kMostUnread = 16u
                                    << 20;  // bytes of a file that is too large, which are searched for words

// Reads a file or a pipe. A pipe has no size and may be waited for here, unlike in the daemon.
std::variant<std::string, FileError> text_of(const std::string& file) {
  if (file == kStandardInput) return read_text(STDIN_FILENO);
  struct stat status {};
  if (::stat(file.c_str(), &status) < 0 || !S_ISFIFO(status.st_mode)) return read_text_file(file);
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  return fd ? read_text(fd.get()) : read_text_file(file);
}

void read_file(const std::string& path, ReadFiles& read, Diagnostics& diagnostics) {
  const std::string name = path == kStandardInput ? "standard input" : path;
  const Mark whole{.file = name};
  const auto text = text_of(path);
  if (const auto* error = std::get_if<FileError>(&text))
    return diagnostics.error(whole, "", "the file " + error->what);
  const auto& content = std::get<std::string>(text);
  read.language = other_language(name, content);
  Diagnostics own;
  auto documents = parse_documents(content, name, own);
  for (const Diagnostic& each : own.all()) diagnostics.error(each.mark, each.path, each.what);
  if (!documents) return;
  if (documents->empty()) return diagnostics.error(whole, "", "the file is empty");
  read.documents = *std::move(documents);
  read.files = {name};
}

void read_one_of_many(const std::string& path, ReadFiles& read) {
  const auto text = read_text_file(path);
  if (const auto* error = std::get_if<FileError>(&text)) {
    // A larger file may be a bundle of other things.
    std::ifstream file(path);
    std::string beginning(kMostUnread, '\0');
    file.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
    beginning.resize(static_cast<std::size_t>(file.gcount()));
    read.unread.push_back({.file = path,
                           .why = "the file " + error->what,
                           .may_matter = beginning.empty() || has_word_of_plugins(beginning)});
    return;
  }
  const auto& content = std::get<std::string>(text);
  Diagnostics own;
  auto documents = parse_documents(content, path, own);
  if (!documents || own.has_errors()) {
    const std::string language = other_language(path, content);
    const std::string error = own.all().empty() ? "" : own.all().front().text();
    read.unread.push_back({.file = path,
                           .why = language.empty() ? error : language,
                           .may_matter = has_word_of_plugins(content)});
    return;
  }
  std::ranges::move(*documents, std::back_inserter(read.documents));
  read.files.push_back(path);
}

std::vector<std::string> files_below(const std::string& directory, Diagnostics& diagnostics) {
  static constexpr auto kEndings = std::to_array<std::string_view>({".yaml", ".yml", ".json"});
  std::vector<std::string> files;
  std::error_code error;
  auto entry =
      fs::recursive_directory_iterator(directory, fs::directory_options::skip_permission_denied, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename();
    std::error_code unknown;
    const bool is_hidden = name.starts_with('.');
    if (is_hidden && entry->is_directory(unknown)) entry.disable_recursion_pending();
    const bool is_wanted = std::ranges::find(kEndings, entry->path().extension().string()) != kEndings.end();
    if (!is_hidden && is_wanted && entry->is_regular_file(unknown)) files.push_back(entry->path());
    if (files.size() > kMostFiles) break;
  }
  if (error) diagnostics.error({.file = directory}, "", "cannot look through it: " + error.message());
  if (files.size() > kMostFiles)
    diagnostics.error(
        {.file = directory}, "",
        "more than " + std::to_string(kMostFiles) + " files are in it; name the directory that is meant");
  std::ranges::sort(files);
  return files;
}

}  // namespace

std::string other_language(std::string_view file, std::string_view text) {
  if (ends_with_any(file, {".tf", ".hcl", ".tofu"}) || is_terraform(text)) return kTerraform;
  if (ends_with_any(file, {".nix"}) || has_line_with(text, {"pkgs", "}:"})) return kNix;
  if (ends_with_any(file, {".cue"}) || text.starts_with("package ")) return kCue;
  if (ends_with_any(file, {".jsonnet", ".libsonnet"})) return kJsonnet;
  const bool is_typescript =
      ends_with_any(file, {".ts", ".js"}) || has_line_with(text, {"import ", " from ", ";"});
  if (text.starts_with("#!") || is_typescript) return kProgram;
  if (has_line_with(text, {"{%", "%}"})) return kGoTemplate;  // Jinja, even if it writes a template of Helm's
  for (const std::string_view value : {".Values.", ".Release.", "include \"", ".Chart."}) {
    if (has_line_with(text, {"{{", value})) return kHelm;
  }
  if (ends_with_any(file, {".gotmpl", ".tpl", ".tmpl", ".j2"})) return kGoTemplate;
  return {};
}

bool has_word_of_plugins(std::string_view text) {
  static constexpr auto kWords = std::to_array<std::string_view>(
      {"devicematch", "resourceList", "configList", "device-plugin", "devicePlugin", "DevicePlugin",
       "permittedHostDevices", "udevRules", "device-manager", "migStrategy", "timeSlicing", "devices:"});
  return std::ranges::any_of(kWords, [&](std::string_view word) { return text.find(word) != text.npos; });
}

ReadFiles read_files(const std::string& path, Diagnostics& diagnostics) {
  ReadFiles read;
  std::error_code unknown;
  if (!fs::is_directory(path, unknown)) {
    read_file(path, read, diagnostics);
    return read;
  }
  for (const std::string& file : files_below(path, diagnostics)) read_one_of_many(file, read);
  if (read.files.empty() && !diagnostics.has_errors())
    diagnostics.error({.file = path}, "", "no file *.yaml, *.yml or *.json in this directory can be read");
  return read;
}

}  // namespace plughost
