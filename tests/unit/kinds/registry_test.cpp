#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

#include "base/text/template.hpp"
#include "kinds/kind.hpp"
#include "places.hpp"
#include "unit/kinds/entry.hpp"

namespace plughost {
namespace {

TEST_CASE("every kind has its own key and can be read") {
  std::set<std::string_view> keys;
  for (const Kind& kind : kinds()) {
    keys.insert(kind.key);
    CHECK((kind.read != nullptr));
  }
  CHECK(keys ==
        std::set<std::string_view>{"directory", "count", "gpu", "groups", "pci", "rdma", "udev", "exec"});
  CHECK(kinds().size() == keys.size());
}

TEST_CASE("a kind's row matches docs/configuration.md") {
  std::ifstream file(test::in_source("/docs/configuration.md"));
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const std::size_t table = page.find("\n## Entries\n");
  for (const KindRow& row : kind_rows()) {
    CAPTURE(row.key);
    const std::size_t begin = page.find("\n| `" + std::string(row.key) + "` | ", table);
    REQUIRE(begin != std::string::npos);
    const std::string cells = page.substr(begin + 1, page.find('\n', begin + 1) - begin - 1);
    CHECK(cells.ends_with("*. " + std::string(row.lists) + " |"));
  }
}

TEST_CASE("the row of each kind names all that a source of this kind needs from the sandbox") {
  using test::list;
  using test::map;
  using test::text;
  const std::map<std::string_view, Node> values{
      {"directory", map({{"path", text("/srv")}})},
      {"count", text("1")},
      {"gpu", map({{"vendor", text("nvidia")}})},
      {"groups", list({map({{"paths", list({map({{"path", text("/dev/fuse")}})})}})})},
      {"pci", map({{"vendors", list({text("8086")})}})},
      {"rdma", map({})},
      {"udev", map({{"subsystem", text("video4linux")}})},
      {"exec", map({{"discover", list({text("/bin/true")})}, {"user", text("nobody")}})},
  };
  for (const KindRow& row : kind_rows()) {
    CAPTURE(row.key);
    const test::Entry entry = test::read_entry(std::string(row.key), values.at(row.key));
    CHECK(entry.problems == std::vector<std::string>{});
    REQUIRE(entry.source);
    CHECK(entry.source->sandbox_needs() == row.needs);
  }
}

TEST_CASE("a kind's default id names only what its devices have") {
  for (const Kind& kind : kinds()) {
    const Template id(kind.default_id);
    for (const std::string_view name : id.placeholders()) {
      const bool general = name == "resource" || name == "n" || name == "id";
      CHECK((general || std::ranges::count(kind.attributes, name) == 1));
    }
  }
}

}  // namespace
}  // namespace plughost
