// The tree is the architecture: a folder includes only what stands below it, and a library is seen in one
// place.

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "kinds/kind.hpp"
#include "places.hpp"

using namespace plughost;
namespace fs = std::filesystem;

namespace {

const std::map<std::string, std::set<std::string>> kMayUse{
    {"base", {}},
    {"device", {"base"}},
    {"assume", {"base", "device"}},
    {"document", {"base", "device"}},
    {"host", {"base", "device"}},
    {"programs", {"base", "device", "document"}},
    {"kinds", {"base", "device", "document", "assume", "host", "programs"}},
    {"config", {"base", "device", "document", "host", "programs", "kinds"}},
    {"convert", {"base", "device", "document", "kinds", "config"}},
    {"system", {"base", "device", "document", "host"}},
    {"apiserver", {"base", "device", "document", "host", "programs", "config", "system"}},
    {"kubelet", {"base", "device", "assume"}},
    {"pods", {"base", "device", "assume", "programs", "config", "apiserver", "kubelet"}},
    {"node", {"base", "host", "programs", "config", "apiserver", "kubelet"}},
    {"reload", {"base", "device", "host", "programs", "config", "apiserver", "kubelet", "node"}},
    {"supervisor",
     {"base", "device", "document", "host", "assume", "programs", "kinds", "config", "kubelet", "apiserver",
      "pods", "node", "reload"}},
    {"fleet", {"base", "device", "document", "host", "programs", "kinds", "config", "supervisor"}},
    {"setup", {"base", "device", "document", "host", "programs", "kinds", "config", "system"}},
    {"doctor",
     {"base", "device", "document", "host", "programs", "kinds", "config", "kubelet", "supervisor", "system",
      "setup", "apiserver"}},
    {"standin", {"base", "device", "kubelet"}},
    {"telemetry", {"base", "device", "document", "host", "config", "kubelet", "reload", "supervisor"}},
    {"daemon",
     {"base", "host", "programs", "config", "kubelet", "node", "reload", "supervisor", "telemetry"}},
    {"commands",
     {"base", "device", "document", "host", "assume", "programs", "kinds", "config", "convert", "kubelet",
      "pods", "supervisor", "fleet", "system", "setup", "doctor", "reload", "telemetry", "daemon"}},
};

// Library headers by their beginning, and the folders that may see them.
const std::map<std::string, std::set<std::string>> kSeenBy{
    {"grpc", {"kubelet", "standin"}},
    {"boost/", {"telemetry"}},
    {"prometheus/", {"telemetry"}},
    {"deviceplugin/", {"kubelet", "standin"}},
    {"pluginregistration/", {"kubelet", "standin"}},
    {"podresources/", {"kubelet", "standin"}},
    {"podsapi/", {"kubelet"}},
    {"toml++/", {"system"}},
    {"libudev.h", {"host"}},
    {"curl/", {"apiserver"}},
};

// Libraries that only these files may see: JSON has one door, base/json.hpp, and others are those that read
// documents of others with their errors' places.
const std::map<std::string, std::set<std::string>> kSeenByFiles{
    {"nlohmann/",
     {"base/json.cpp", "kinds/exec/document.cpp", "kinds/gpu/nvidia_cdi.cpp", "fleet/facts.cpp",
      "kubelet/checkpoint.cpp", "standin/checkpoint_file.cpp"}},
    {"CLI/", {"main.cpp", "standin/main.cpp"}},
    {"yaml.h", {"config/yaml.cpp"}},
    {"yaml-cpp/", {"config/yaml_text.cpp"}},
    {"curl/", {"apiserver/curl_transport.hpp"}},
    {"regex", {}},
};

// Libraries whose headers take seconds to read: a header of ours would hand them to everybody. gRPC's are
// seen by those of the folder that speaks its protocols.
const std::map<std::string, std::set<std::string>> kInHeadersOf{
    {"nlohmann/", {}},
    {"boost/", {}},
    {"grpc", {"kubelet"}},
    {"podresources/", {}},
    {"deviceplugin/", {"kubelet"}},
    {"pluginregistration/", {"kubelet"}},
    {"google/protobuf/", {"kubelet"}},
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
    if (name == "kind.hpp" || name == "registry.cpp" || name == "CMakeLists.txt") continue;
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
