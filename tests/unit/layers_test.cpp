// Checks the architecture: a folder includes only the folders, and uses only the libraries, that are listed
// for it.

#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kinds/kind.hpp"
#include "places.hpp"
#include "unit/texts.hpp"

using namespace plughost;
namespace fs = std::filesystem;

namespace {

// For each folder of src, the folders whose headers it may include besides its own, from the lowest folder
// up. A row also applies to subfolders without a row of their own.
const std::vector<std::pair<std::string, std::set<std::string>>> kMayUse{
    {"base/text", {}},
    {"base/system", {"base/text"}},
    {"base/log", {"base/text", "base/system"}},
    {"base/document", {"base/text", "base/system"}},
    {"model/device", {"base/text"}},
    {"model/allocate", {"base/text", "model/device"}},
    {"model/assume", {"base/text", "model/device", "model/allocate"}},
    {"host", {"base", "model/device", "model/allocate"}},
    {"kinds", {"base", "model", "host"}},
    {"config", {"base", "model/device", "model/allocate", "host", "kinds"}},
    {"kubernetes", {"base", "model", "host", "config"}},
    {"daemon/platform", {"base", "host", "config", "kubernetes"}},
    {"daemon/reload", {"base", "config", "kubernetes", "daemon/platform"}},
    {"daemon/status", {"base", "model", "config", "kubernetes", "daemon/reload"}},
    {"daemon/adoption", {"base", "model", "kubernetes", "daemon/platform"}},
    {"daemon/scan", {"base", "model", "host", "config", "daemon/platform", "daemon/adoption"}},
    {"daemon/devices", {"base", "model", "kubernetes", "daemon/platform"}},
    {"daemon/drain", {"base", "model", "host", "kubernetes", "daemon/platform", "daemon/status"}},
    {"daemon/hooks", {"base", "model", "host", "kinds", "kubernetes", "daemon/status"}},
    {"daemon/handover", {"base", "model", "host"}},
    {"daemon/publish",
     {"base", "model", "host", "kinds", "config", "kubernetes", "daemon/platform", "daemon/status",
      "daemon/devices", "daemon/hooks"}},
    {"daemon/report",
     {"base", "model", "host", "config", "kubernetes", "daemon/platform", "daemon/status", "daemon/hooks"}},
    {"daemon/supervisor",
     {"base", "model", "config", "kubernetes", "daemon/platform", "daemon/reload", "daemon/status",
      "daemon/adoption", "daemon/scan", "daemon/devices", "daemon/drain", "daemon/hooks", "daemon/handover",
      "daemon/publish", "daemon/report"}},
    {"daemon/telemetry",
     {"base", "config", "daemon/reload", "daemon/status", "daemon/drain", "daemon/handover"}},
    {"daemon",
     {"base", "host", "config", "kubernetes", "daemon/reload", "daemon/handover", "daemon/supervisor",
      "daemon/telemetry"}},
    {"tools", {"base", "model", "host", "kinds", "config", "kubernetes", "daemon"}},
};

// Beginnings of library headers, and the folders that may include them.
const std::map<std::string, std::set<std::string>> kSeenBy{
    {"grpc", {"kubernetes/kubelet", "kubernetes/plugin"}},
    {"boost/", {"daemon/telemetry"}},
    {"prometheus/", {"daemon/telemetry"}},
    {"deviceplugin/", {"kubernetes/kubelet", "kubernetes/plugin"}},
    {"pluginregistration/", {"kubernetes/plugin"}},
    {"podresources/", {"kubernetes/kubelet"}},
    {"podsapi/", {"kubernetes/kubelet"}},
    {"toml++/", {"host/services"}},
    {"libudev.h", {"host/hardware"}},
    {"curl/", {"kubernetes/apiserver"}},
    {"CLI/", {"tools/command_line"}},
};

// Beginnings of library headers, and the single files that may include them. Other files use JSON through
// base/text/json.hpp only. The other files of the first row read foreign documents, for which they need the
// positions of errors.
const std::map<std::string, std::set<std::string>> kSeenByFiles{
    {"nlohmann/",
     {"base/text/json.cpp", "kinds/exec/document.cpp", "kinds/gpu/nvidia_cdi.cpp", "tools/plan/facts.cpp",
      "kubernetes/kubelet/checkpoint.cpp"}},
    {"yaml.h", {"base/document/yaml_mistakes.hpp"}},
    {"yaml-cpp/", {"base/document/yaml.cpp"}},
    {"curl/", {"kubernetes/apiserver/curl_transport.hpp"}},
    {"regex", {}},
};

// Libraries whose headers take seconds to compile, and the folders whose headers may include them. A plughost
// header that includes such a library adds these seconds to each file that includes it. Only the folders that
// speak gRPC's protocols include gRPC in headers.
const std::map<std::string, std::set<std::string>> kInHeadersOf{
    {"nlohmann/", {}},
    {"boost/", {}},
    {"grpc", {"kubernetes/kubelet", "kubernetes/plugin"}},
    {"podresources/", {}},
    {"deviceplugin/", {"kubernetes/kubelet", "kubernetes/plugin"}},
    {"pluginregistration/", {"kubernetes/plugin"}},
    {"google/protobuf/", {"kubernetes/kubelet", "kubernetes/plugin"}},
};

// Returns true if the path is in the folder or in one of its subfolders.
bool is_below(const std::string& path, const std::string& folder) { return path.starts_with(folder + '/'); }

bool is_below_one(const std::string& path, const std::set<std::string>& folders) {
  return std::ranges::any_of(folders, [&](const std::string& folder) { return is_below(path, folder); });
}

// Returns the folder of the longest row of kMayUse for the path; empty if there is no row.
std::string row_of(const std::string& path) {
  std::string longest;
  for (const auto& [folder, uses] : kMayUse)
    if (is_below(path, folder) && folder.size() > longest.size()) longest = folder;
  return longest;
}

struct Include {
  std::string file;  // relative to src, like the header
  std::string header;
};

std::vector<Include> includes() {
  const fs::path source = fs::path(test::in_source("/src"));
  std::vector<Include> all;
  for (const auto& entry : fs::recursive_directory_iterator(source)) {
    if (!entry.is_regular_file() ||
        (entry.path().extension() != ".cpp" && entry.path().extension() != ".hpp"))
      continue;
    const std::string file = fs::relative(entry.path(), source);
    std::ifstream text(entry.path());
    for (std::string line; std::getline(text, line);) {
      if (!line.starts_with("#include")) continue;
      const std::size_t from = line.find_first_of("<\"") + 1;
      const std::size_t to = line.find_last_of(">\"");
      all.push_back({file, line.substr(from, to - from)});
    }
  }
  return all;
}

}  // namespace

TEST_CASE("a folder includes only headers of the folders that its row of kMayUse allows") {
  const std::vector<Include> all = includes();
  REQUIRE(all.size() > 100);
  std::size_t judged = 0;
  for (const Include& include : all) {
    const std::string used = row_of(include.header);
    if (used.empty() || include.file.find('/') == std::string::npos) continue;
    CAPTURE(include.file);
    CAPTURE(include.header);
    const std::string row = row_of(include.file);
    REQUIRE_FALSE(row.empty());
    const auto found = std::ranges::find(kMayUse, row, [](const auto& each) { return each.first; });
    CHECK((used == row || is_below_one(include.header, found->second)));
    ++judged;
  }
  CHECK(judged > 1000);
}

TEST_CASE("a folder of kMayUse uses only folders of the rows before its own") {
  for (auto row = kMayUse.begin(); row != kMayUse.end(); ++row) {
    CAPTURE(row->first);
    for (const std::string& used : row->second) {
      CAPTURE(used);
      CHECK(std::any_of(kMayUse.begin(), row,
                        [&](const auto& each) { return each.first == used || is_below(each.first, used); }));
      CHECK(std::none_of(row, kMayUse.end(),
                         [&](const auto& each) { return each.first == used || is_below(each.first, used); }));
    }
  }
}

std::string content_of(const std::string& file) { return test::content(test::in_source(file)); }

TEST_CASE("src has at most eight tiers, and src/README.md has one row for each in the order of kMayUse") {
  std::vector<std::string> tiers;
  std::string rows;
  for (const auto& [folder, uses] : kMayUse) {
    const std::string tier = folder.substr(0, folder.find('/'));
    if (!tiers.empty() && tiers.back() == tier) continue;
    tiers.push_back(tier);
    rows += "\n| [`" + tier + "`](" + tier + "/README.md) |";
  }
  CHECK(tiers.size() <= 8);
  std::string found;
  const std::string page = content_of("/src/README.md");
  for (std::size_t at = 0; (at = page.find("\n| [`", at)) != std::string::npos; ++at)
    found += page.substr(at, page.find(" |", at) + 2 - at);
  CHECK(found == rows);
  for (const auto& entry : fs::directory_iterator(test::in_source("/src"))) {
    CAPTURE(entry.path());
    CHECK(
        (!entry.is_directory() || std::ranges::find(tiers, entry.path().filename().string()) != tiers.end()));
  }
}

TEST_CASE("a tier's README.md has at most fifteen lines and names each folder of the tier") {
  for (const auto& tier : fs::directory_iterator(test::in_source("/src"))) {
    if (!tier.is_directory()) continue;
    const std::string name = tier.path().filename();
    CAPTURE(name);
    const std::string page = content_of("/src/" + name + "/README.md");
    CHECK_FALSE(page.empty());
    CHECK(std::ranges::count(page, '\n') <= 15);
    if (name == "kinds") continue;  // its folders are the kinds
    for (const auto& folder : fs::directory_iterator(tier.path())) {
      CAPTURE(folder.path());
      CHECK((!folder.is_directory() ||
             page.find('`' + folder.path().filename().string() + '`') != std::string::npos));
    }
  }
}

// Limits for a file, and for a class with its members in header and source. A longer file or class has more
// than one purpose.
constexpr std::size_t kMostLines = 400;
constexpr std::size_t kMostClassLines = 300;
// Limit for the lines of all files in src together. A commit that raises the limit says what the lines are
// for.
constexpr std::size_t kMostLinesOfAll = 58'990;

// Returns the name of the class if the line begins the definition of a class or of a class's function; empty
// otherwise.
std::string class_begun_in(const std::string& line) {
  const auto is_of_a_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '~';
  };
  const auto name_before = [&](std::size_t end) {
    std::size_t from = end;
    while (from > 0 && is_of_a_name(line[from - 1])) --from;
    return line.substr(from, end - from);
  };
  for (const std::string_view word : {"class ", "struct "}) {
    if (!line.starts_with(word) || line.ends_with(';')) continue;
    std::size_t end = word.size();
    while (end < line.size() &&
           (is_of_a_name(line[end]) || line.substr(end, 2) == "::" || line[end - 1] == ':'))
      ++end;
    return name_before(end);
  }
  const std::size_t function = line.find('(');
  if (function == std::string::npos || !is_of_a_name(line[0])) return {};
  const std::size_t colons = function - name_before(function).size();
  if (colons < 2 || line.substr(colons - 2, 2) != "::") return {};
  return name_before(colons - 2);
}

// Returns each class's number of lines: those of its definition, and those of its functions that are defined
// elsewhere.
std::map<std::string, std::size_t> class_lines(const fs::path& folder) {
  std::map<std::string, std::size_t> lines;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".cpp" && entry.path().extension() != ".hpp") continue;
    std::ifstream text(entry.path());
    std::string of;
    for (std::string line; std::getline(text, line);) {
      if (of.empty() && !line.empty()) of = class_begun_in(line);
      if (!of.empty()) ++lines[of];
      if (line.starts_with('}') || (of.empty() && line.ends_with(';'))) of.clear();
    }
  }
  return lines;
}

TEST_CASE("no file and no class of src has more lines than its limit") {
  const fs::path source = fs::path(test::in_source("/src"));
  for (const auto& folder : fs::recursive_directory_iterator(source)) {
    if (!folder.is_directory()) continue;
    CAPTURE(folder.path());
    for (const auto& file : fs::directory_iterator(folder.path())) {
      if (file.path().extension() != ".cpp" && file.path().extension() != ".hpp") continue;
      CAPTURE(file.path());
      std::ifstream text(file.path());
      CHECK(std::count(std::istreambuf_iterator<char>(text), {}, '\n') <= std::ptrdiff_t{kMostLines});
    }
    for (const auto& item : class_lines(folder.path())) {
      CAPTURE(item.first);
      CHECK(item.second <= kMostClassLines);
    }
  }
}

TEST_CASE("all files of src together have no more lines than their limit") {
  std::size_t lines = 0;
  for (const auto& file : fs::recursive_directory_iterator(fs::path(test::in_source("/src")))) {
    if (!file.is_regular_file()) continue;
    std::ifstream text(file.path());
    lines += static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(text), {}, '\n'));
  }
  CHECK(lines <= kMostLinesOfAll);
}

TEST_CASE("a library is included only by the folders that are listed for it") {
  for (const Include& include : includes()) {
    for (const auto& [library, folders] : kSeenBy) {
      if (!include.header.starts_with(library)) continue;
      CAPTURE(include.file);
      CAPTURE(include.header);
      CHECK(is_below_one(include.file, folders));
    }
  }
}

TEST_CASE(
    "the libraries for JSON, YAML, command lines and regular expressions are included only by the files "
    "listed for them") {
  for (const Include& include : includes()) {
    for (const auto& [library, files] : kSeenByFiles) {
      if (!include.header.starts_with(library)) continue;
      CAPTURE(include.file);
      CAPTURE(include.header);
      CHECK(files.contains(include.file));
    }
  }
}

TEST_CASE("each kind is one file or one folder, and one row of the registry") {
  const fs::path folder = fs::path(test::in_source("/src/kinds"));
  std::multiset<std::string> places;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (name == "kind.hpp" || name == "kind.cpp" || name.starts_with("funnel.") || name == "registry.cpp" ||
        name == "CMakeLists.txt" || name == "README.md")
      continue;
    CAPTURE(name);
    CHECK((entry.is_directory() || entry.path().extension() == ".cpp"));
    places.insert(entry.path().stem());
  }
  std::multiset<std::string> rows;
  for (const KindRow& row : kind_rows()) {
    CAPTURE(row.file);
    CHECK(fs::exists(folder / row.file));
    CHECK(fs::path(row.file).begin()->stem() == row.key);
    rows.emplace(row.key);
  }
  CHECK(places == rows);
}

TEST_CASE(
    "a header of src includes a library that is slow to compile only in the folders listed for that "
    "library") {
  for (const Include& include : includes()) {
    if (!include.file.ends_with(".hpp")) continue;
    for (const auto& [library, folders] : kInHeadersOf) {
      if (!include.header.starts_with(library)) continue;
      CAPTURE(include.file);
      CAPTURE(include.header);
      CHECK(is_below_one(include.file, folders));
    }
  }
}

TEST_CASE(
    "each type in a header has a unique name, because the linker silently merges types with the same name") {
  const fs::path source = fs::path(test::in_source("/src"));
  std::map<std::string, std::string> defined;
  for (const auto& entry : fs::recursive_directory_iterator(source)) {
    if (entry.path().extension() != ".hpp") continue;
    std::ifstream text(entry.path());
    for (std::string line; std::getline(text, line);) {
      if (!line.starts_with("struct ") && !line.starts_with("class ")) continue;
      if (line.ends_with(';')) continue;
      const std::size_t from = line.find(' ') + 1;
      const std::string name = line.substr(from, line.find(' ', from) - from);
      CAPTURE(name);
      const auto added = defined.try_emplace(name, fs::relative(entry.path(), source));
      CHECK_MESSAGE(added.second, added.first->second, " and ", fs::relative(entry.path(), source).string());
    }
  }
  CHECK(defined.size() > 100);
}

TEST_CASE(
    "no test's name has a semicolon, because CTest would split the name and pass both parts without running "
    "the test") {
  unsigned names = 0;
  for (const auto& entry : fs::recursive_directory_iterator(test::in_source("/tests"))) {
    if (entry.path().extension() != ".cpp") continue;
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::string begin = "\nTEST_CASE(";
    for (std::size_t at = 0; (at = text.find(begin, at)) != std::string::npos; ++names) {
      const std::size_t end = text.find("\") {", at += begin.size());
      CAPTURE(entry.path());
      CHECK_MESSAGE(text.substr(at, end - at).find(';') == std::string::npos, text.substr(at, end - at));
    }
  }
  CHECK(names > 1000);
}
