#include "tools/doctor/doctor.hpp"

#include <fstream>
#include <iterator>
#include <set>

#include "places.hpp"
#include "unit/tools/doctor/made_node.hpp"

using namespace plughost;
using namespace plughost::test;

namespace {

// Returns the name and the question in each row of the page's table of checks.
std::vector<std::pair<std::string, std::string>> rows_of_page() {
  std::ifstream page(in_source("/docs/doctor.md"));
  std::vector<std::pair<std::string, std::string>> rows;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("| `")) continue;
    const std::size_t end = line.find("` | ");
    const std::size_t next = line.find(" | ", end + 4);
    REQUIRE(next != std::string::npos);
    rows.emplace_back(line.substr(3, end - 3), line.substr(end + 4, next - end - 4));
  }
  return rows;
}

}  // namespace

TEST_CASE("docs/doctor.md has every check, in order, with its question") {
  std::vector<std::pair<std::string, std::string>> expected;
  for (const Check& check : checks()) expected.emplace_back(check.name, check.asks);
  CHECK(rows_of_page() == expected);
}

TEST_CASE("every check has a unique name, and every finding has the name of a check") {
  std::set<std::string_view> names;
  for (const Check& check : checks()) names.insert(check.name);
  CHECK(names.size() == checks().size());
  const MadeNode node;
  const Findings all = examine(node.host, node.observed);
  REQUIRE_FALSE(all.empty());
  for (const Finding& finding : all) CHECK(names.contains(finding.check));
}

TEST_CASE("a healthy node has no problem and no warning") {
  MadeNode node;
  node.configure("- {name: example.com/x, count: 1}\n");
  node.kubelet();
  node.daemon();
  node.listens(kPodResources, kKubelet);
  node.tree.file("run/udev/control");
  node.tree.directory("run/systemd/system");
  node.tree.file("lib/systemd/system/plughost.service", "[Unit]\nBefore=kubelet.service\n");
  node.tree.link("etc/systemd/system/multi-user.target.wants/plughost.service", "/lib/x");
  for (const Finding& finding : examine(node.host, node.observed)) {
    CAPTURE(finding.check);
    CAPTURE(finding.what);
    CHECK(finding.level == Level::kOk);
  }
}
