// Checks that each bad/NAME.yaml is refused with exactly the text of bad/NAME.txt.

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "config/config.hpp"
#include "places.hpp"
#include "unit/texts.hpp"

namespace plughost {
namespace {

using test::content;

namespace fs = std::filesystem;

std::vector<fs::path> files(const char* extension) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(test::in_source("/tests/unit/config/bad"))) {
    if (entry.path().extension() == extension) found.push_back(entry.path());
  }
  return found;
}

std::string refusal(const fs::path& path) {
  try {
    load_config(path);
  } catch (const ConfigError& error) {
    std::string text = error.what();
    const std::string folder = path.parent_path().string() + '/';
    for (std::size_t at; (at = text.find(folder)) != std::string::npos;) text.erase(at, folder.size());
    return text + '\n';
  }
  return "it was loaded\n";
}

TEST_CASE("bad configurations are refused with the text in the file beside them") {
  REQUIRE(files(".yaml").size() >= 25);
  for (const fs::path& yaml : files(".yaml")) {
    CAPTURE(yaml.filename().string());
    CHECK(refusal(yaml) == content(fs::path(yaml).replace_extension(".txt")));
  }
}

TEST_CASE("every bad/NAME.txt has a bad/NAME.yaml") {
  for (const fs::path& words : files(".txt")) {
    CAPTURE(words.filename().string());
    CHECK(fs::exists(fs::path(words).replace_extension(".yaml")));
  }
}

}  // namespace
}  // namespace plughost
