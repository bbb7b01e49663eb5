
#include <doctest/doctest.h>

#include "base/document/yaml.hpp"

namespace plughost {

TEST_CASE("unsafe characters are written as escapes, and read back unchanged") {
  const std::string text = "a\xe2\x80\xae\xc2\x9b\x1b\xc3\xa4";
  const std::string written = yaml_in_one_line(Json{{"key", text}});
  CHECK(written.find("\\u202e") != std::string::npos);
  CHECK(written.find('\x1b') == std::string::npos);
  CHECK(written.find("\xc2\x9b") == std::string::npos);
  CHECK(written.find("\xc3\xa4") != std::string::npos);
  Diagnostics diagnostics;
  const auto read = parse_yaml(yaml_of(Json{{"key", text}}), "a.yaml", diagnostics);
  REQUIRE(read);
  CHECK(read->find("key")->scalar == text);
}

}  // namespace plughost
