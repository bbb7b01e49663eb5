// The tree is the architecture: a folder includes only what stands below it, and a library is seen in one
// place.

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

using namespace plughost;
namespace fs = std::filesystem;

namespace {

const std::map<std::string, std::set<std::string>> kMayUse{
    {"text", {}},
    {"base", {"text"}},
    {"log", {"text", "base"}},
    {"device", {"text"}},
    {"allocate", {"text", "device"}},
    {"assume", {"text", "device", "allocate"}},
    {"document", {"text", "base", "device"}},
    {"host", {"text", "base", "device", "allocate"}},
    {"programs", {"text", "base", "device", "document"}},
    {"kinds", {"text", "base", "device", "allocate", "assume", "document", "host", "programs"}},
    {"config", {"text", "base", "log", "device", "allocate", "document", "host", "programs", "kinds"}},
    {"manifests", {"text", "base", "device", "document", "config"}},
    {"converters", {"text", "device", "document", "manifests"}},
    {"convert", {"text", "device", "document", "config", "manifests", "converters"}},
    {"system", {"text", "host"}},
    {"apiserver", {"text", "base", "log", "device", "document", "host", "programs", "config", "system"}},
    {"kubelet", {"text", "base", "log", "device", "allocate", "assume"}},
    {"plugin", {"text", "base", "device", "allocate", "kubelet"}},
    {"pods",
     {"text", "base", "log", "device", "allocate", "assume", "programs", "config", "apiserver", "kubelet",
      "plugin"}},
    {"node", {"base", "log", "host", "programs", "config", "apiserver", "kubelet", "plugin"}},
    {"reload", {"text", "base", "log", "config", "plugin", "node"}},
    {"status", {"text", "base", "device", "allocate", "config", "apiserver", "kubelet", "plugin", "reload"}},
    {"listing", {"text", "base", "log", "device", "allocate", "host", "config", "kubelet", "node", "status"}},
    {"userprograms", {"base", "log", "device", "allocate", "programs", "kinds", "kubelet", "status"}},
    {"publication",
     {"text", "base", "device", "allocate", "assume", "host", "kinds", "config", "plugin", "pods", "node",
      "status", "listing", "userprograms"}},
    {"announce",
     {"text", "base", "log", "device", "allocate", "host", "config", "apiserver", "kubelet", "node", "status",
      "userprograms"}},
    {"supervisor",
     {"text", "base", "log", "device", "allocate", "config", "pods", "node", "reload", "status", "listing",
      "userprograms", "publication", "announce"}},
    {"fleet", {"text", "base", "device", "allocate", "host", "config"}},
    {"setup", {"text", "base", "document", "host", "programs", "config", "system"}},
    {"doctor",
     {"text", "base", "log", "document", "host", "programs", "config", "system", "apiserver", "kubelet",
      "publication", "fleet", "setup"}},
    {"standin", {"text", "base", "device", "allocate", "kubelet"}},
    {"telemetry", {"text", "base", "log", "document", "config", "reload", "status", "listing"}},
    {"daemon", {"base", "log", "programs", "config", "kubelet", "reload", "supervisor", "telemetry"}},
    {"commands", {"text",   "base",         "log",    "device",    "allocate", "assume",    "document",
                  "host",   "kinds",        "config", "manifests", "convert",  "kubelet",   "pods",
                  "status", "userprograms", "fleet",  "setup",     "doctor",   "telemetry", "daemon"}},
};

// Library headers by their beginning, and the folders that may see them.
const std::map<std::string, std::set<std::string>> kSeenBy{
    {"grpc", {"kubelet", "plugin", "standin"}},
    {"boost/", {"telemetry"}},
    {"prometheus/", {"telemetry"}},
    {"deviceplugin/", {"kubelet", "plugin", "standin"}},
    {"pluginregistration/", {"plugin", "standin"}},
    {"podresources/", {"kubelet", "standin"}},
    {"podsapi/", {"kubelet"}},
    {"toml++/", {"system"}},
    {"libudev.h", {"host"}},
    {"curl/", {"apiserver"}},
};

// Libraries that only these files may see: JSON has one door, text/json.hpp, and others are those that read
// documents of others with their errors' places.
const std::map<std::string, std::set<std::string>> kSeenByFiles{
    {"nlohmann/",
     {"text/json.cpp", "kinds/exec/document.cpp", "kinds/gpu/nvidia_cdi.cpp", "fleet/facts.cpp",
      "kubelet/checkpoint.cpp", "standin/checkpoint_file.cpp"}},
    {"CLI/", {"main.cpp", "standin/main.cpp"}},
    {"yaml.h", {"document/yaml_mistakes.hpp"}},
    {"yaml-cpp/", {"document/yaml_text.cpp"}},
    {"curl/", {"apiserver/curl_transport.hpp"}},
    {"regex", {}},
};

// Libraries whose headers take seconds to read: a header of ours would hand them to everybody. gRPC's are
// seen by those of the folder that speaks its protocols.
const std::map<std::string, std::set<std::string>> kInHeadersOf{
    {"nlohmann/", {}},
    {"boost/", {}},
    {"grpc", {"kubelet", "plugin"}},
    {"podresources/", {}},
    {"deviceplugin/", {"kubelet", "plugin"}},
    {"pluginregistration/", {"plugin"}},
    {"google/protobuf/", {"kubelet", "plugin"}},
};

struct Include {
  std::string file;
  std::string folder;  // "main.cpp" for that file, which may use every folder
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
      all.push_back({file, file.substr(0, file.find('/')), line.substr(from, to - from)});
    }
  }
  return all;
}

}  // namespace

TEST_CASE("a folder includes only the folders that stand below it") {
  const std::vector<Include> all = includes();
  REQUIRE(all.size() > 100);
  for (const Include& include : all) {
    const std::string used = include.header.substr(0, include.header.find('/'));
    if (!kMayUse.contains(used) || used == include.folder || include.file == "main.cpp") continue;
    CAPTURE(include.file);
    CAPTURE(include.header);
    REQUIRE(kMayUse.contains(include.folder));
    CHECK(kMayUse.at(include.folder).contains(used));
  }
}

TEST_CASE("docs/architecture.md has a row for each folder, and a folder uses those above it") {
  std::ifstream page(test::in_source("/docs/architecture.md"));
  std::vector<std::string> rows;
  for (std::string line; std::getline(page, line);) {
    constexpr std::string_view kBegin = "| `src/";
    if (line.starts_with(kBegin))
      rows.push_back(line.substr(kBegin.size(), line.find('`', 3) - kBegin.size()));
  }
  CHECK(rows.size() == kMayUse.size());
  for (const auto& item : kMayUse) {
    const std::string& folder = item.first;
    const auto row = std::ranges::find(rows, folder);
    CAPTURE(folder);
    CHECK(row != rows.end());
    for (const std::string& each : item.second) {
      CAPTURE(each);
      CHECK(std::ranges::find(rows.begin(), row, each) != row);
    }
  }
}

// The longest that a file, a class with all that its header and its source say of it, and a folder may be:
// what nobody can read at one go has two purposes. The stand-in kubelet is a program of its own.
constexpr std::size_t kMostLines = 400;
constexpr std::size_t kMostClassLines = 300;
constexpr std::size_t kMostFiles = 25;
// Of src as a whole, without it: what comes in pays for itself. Whoever raises a number says in the commit
// what it bought.
constexpr std::size_t kMostLinesOfAll = 54'092;
constexpr std::size_t kMostFilesOfAll = 439;

// Of a line at the beginning of something: the class that it defines, or of which it defines a function;
// empty: none.
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

// The lines of each class: of its definition, and of its functions that are defined elsewhere.
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

TEST_CASE("no file, class or folder is larger than one can read") {
  const fs::path source = fs::path(test::in_source("/src"));
  for (const auto& folder : fs::recursive_directory_iterator(source)) {
    if (!folder.is_directory() || folder.path().filename() == "standin") continue;
    CAPTURE(folder.path());
    std::size_t files = 0;
    for (const auto& file : fs::directory_iterator(folder.path())) {
      if (file.path().extension() != ".cpp" && file.path().extension() != ".hpp") continue;
      ++files;
      CAPTURE(file.path());
      std::ifstream text(file.path());
      CHECK(std::count(std::istreambuf_iterator<char>(text), {}, '\n') <= std::ptrdiff_t{kMostLines});
    }
    CHECK(files <= kMostFiles);
    for (const auto& item : class_lines(folder.path())) {
      CAPTURE(item.first);
      CHECK(item.second <= kMostClassLines);
    }
  }
}

TEST_CASE("the house does not grow by itself") {
  const fs::path source = fs::path(test::in_source("/src"));
  std::size_t files = 0;
  std::size_t lines = 0;
  for (const auto& file : fs::recursive_directory_iterator(source)) {
    if (file.path().extension() != ".cpp" && file.path().extension() != ".hpp") continue;
    if (fs::relative(file.path(), source).begin()->string() == "standin") continue;
    ++files;
    std::ifstream text(file.path());
    lines += static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(text), {}, '\n'));
  }
  CHECK(files <= kMostFilesOfAll);
  CHECK(lines <= kMostLinesOfAll);
}

TEST_CASE("a library is seen by the folder whose affair it is, and by no other") {
  for (const Include& include : includes()) {
    for (const auto& [library, folders] : kSeenBy) {
      if (!include.header.starts_with(library)) continue;
      CAPTURE(include.file);
      CAPTURE(include.header);
      CHECK(folders.contains(include.folder));
    }
  }
}

TEST_CASE("JSON, YAML, the command line's library and regular expressions are seen by a few files") {
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
    if (name == "kind.hpp" || name == "kind.cpp" || name == "registry.cpp" || name == "CMakeLists.txt")
      continue;
    CAPTURE(name);
    CHECK((entry.is_directory() || entry.path().extension() == ".cpp"));
    places.insert(entry.path().stem());
  }
  std::multiset<std::string> rows;
  for (const Kind& kind : kinds()) rows.emplace(kind.key);
  CHECK(places == rows);
}

TEST_CASE("no header of ours includes a library that is slow to read") {
  for (const Include& include : includes()) {
    if (!include.file.ends_with(".hpp")) continue;
    for (const auto& [library, folders] : kInHeadersOf) {
      if (!include.header.starts_with(library)) continue;
      CAPTURE(include.file);
      CAPTURE(include.header);
      CHECK(folders.contains(include.folder));
    }
  }
}

TEST_CASE("a type that a header defines has its name to itself: of two the linker would take either") {
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

TEST_CASE("no test's name has a semicolon: CTest makes two of it, and both pass without running") {
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
