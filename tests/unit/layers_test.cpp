// The tree is the architecture: a folder includes only what stands below it, and a library is seen in one
// place.

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

const std::map<std::string, std::set<std::string>> kMayUse{
    {"base", {}},
    {"device", {}},
    {"document", {"device"}},
    {"host", {"base", "device"}},
    {"kinds", {"base", "device", "document", "host"}},
    {"config", {"base", "device", "document", "host", "kinds"}},
    {"convert", {"device", "document", "kinds", "config"}},
    {"kubelet", {"base", "device"}},
    {"supervisor", {"base", "device", "document", "host", "kinds", "config", "kubelet"}},
    {"doctor", {"base", "device", "document", "host", "kinds", "config", "kubelet", "supervisor"}},
    {"standin", {"base", "device", "kubelet"}},
    {"telemetry", {"base", "device", "host", "config", "kubelet", "supervisor"}},
    {"commands",
     {"base", "device", "document", "host", "kinds", "config", "convert", "kubelet", "supervisor", "doctor",
      "standin", "telemetry"}},
};

// Library headers by their beginning, and the folders that may see them.
const std::map<std::string, std::set<std::string>> kSeenBy{
    {"yaml-cpp/", {"config"}},
    {"grpc", {"kubelet", "standin", "telemetry"}},
    {"plughost/v1/", {"telemetry", "commands"}},
    {"civetweb.h", {"telemetry"}},
    {"prometheus/", {"telemetry"}},
    {"deviceplugin/", {"kubelet", "standin"}},
    {"pluginregistration/", {"kubelet", "standin"}},
    {"podresources/", {"kubelet", "standin"}},
    {"spdlog/", {"base"}},
    {"CLI/", {"commands"}},
    {"toml++/", {"doctor"}},
    {"libudev.h", {"host"}},
};

struct Include {
  std::string file;
  std::string folder;
  std::string header;
};

std::vector<Include> includes() {
  const fs::path source = fs::path(PLUGHOST_SOURCE_DIR) / "src";
  std::vector<Include> all;
  for (const auto& entry : fs::recursive_directory_iterator(source)) {
    if (!entry.is_regular_file() ||
        (entry.path().extension() != ".cpp" && entry.path().extension() != ".hpp"))
      continue;
    const std::string file = fs::relative(entry.path(), source);
    if (file.find('/') == std::string::npos) continue;  // main.cpp may use everything
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
    if (!kMayUse.contains(used) || used == include.folder) continue;
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
