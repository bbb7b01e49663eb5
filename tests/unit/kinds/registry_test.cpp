#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "base/text/template.hpp"
#include "kinds/kind.hpp"

namespace plughost {
namespace {

TEST_CASE("every kind has a key of its own and can be read") {
  std::set<std::string_view> keys;
  for (const Kind& kind : kinds()) {
    keys.insert(kind.key);
    CHECK((kind.read != nullptr));
  }
  CHECK(keys ==
        std::set<std::string_view>{"directory", "count", "gpu", "groups", "pci", "rdma", "udev", "exec"});
  CHECK(kinds().size() == keys.size());
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
