// Checks the labels of the node, as Node Feature Discovery reads them.

#include <doctest/doctest.h>

#include <csignal>
#include <fstream>
#include <map>

#include "integration/node.hpp"
#include "integration/resource_names.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

const std::string kLabels = "labels: {count: \"{count}\", x.com/name: \"{name}\"}";

// Returns the labels that Node Feature Discovery derives from the directory.
std::map<std::string, std::string> labels(const Node& node, const std::string& directory = "features.d") {
  std::map<std::string, std::string> found;
  std::error_code none;
  for (const auto& file : std::filesystem::directory_iterator(node.files().at(directory), none)) {
    if (file.path().filename().string().starts_with('.')) continue;
    std::ifstream lines(file.path());
    for (std::string line; std::getline(lines, line);)
      if (!line.starts_with('#')) found[line.substr(0, line.find('='))] = line.substr(line.find('=') + 1);
  }
  return found;
}

using Labels = std::map<std::string, std::string>;

struct LabelsRig {
  explicit LabelsRig(const std::string& more = {}) {
    node.files().file("gophers/amy");
    configure(more);
    node.start_kubelet();
    node.start_daemon();
    REQUIRE(node.attached({kGopher}));
  }
  void configure(const std::string& more = {}, const std::string& directory = "features.d") {
    node.set_top("labels: {directory: " + node.path(directory) + "}\n");
    node.configure(listed(kGopher, node.path("gophers"), "forgetAfter: 0s, " + kLabels + more));
  }
  bool becomes(const Labels& wanted) {
    return eventually([&] { return labels(node) == wanted; });
  }

  Node node;
};

const Labels kOne{{"feature.node.kubernetes.io/count", "1"}, {"x.com/name", "amy"}};

}  // namespace

TEST_CASE("labels change with the list, and are removed with the last device") {
  LabelsRig running;
  CHECK(running.becomes(kOne));
  running.node.files().file("gophers/bob");
  CHECK(running.becomes({{"feature.node.kubernetes.io/count", "2"}}));
  CHECK(running.node.daemon().wait_for_line({"label left out", "x.com/name: the devices differ"}, kLong));
  running.node.files().remove("gophers/amy");
  CHECK(running.becomes({{"feature.node.kubernetes.io/count", "1"}, {"x.com/name", "bob"}}));
  running.node.files().remove("gophers/bob");
  CHECK(running.becomes({}));
}

TEST_CASE(
    "labels stay when plughost ends, and are removed with their entry by a reload or by the next process") {
  LabelsRig running(", onRemove: {exec: [/bin/sleep, \"1.5\"]}");
  Node& node = running.node;
  REQUIRE(running.becomes(kOne));
  node.files().file("gophers/bob");  // causes a write
  REQUIRE(node.count(kGopher, 2));
  node.daemon().signal(SIGTERM);
  CHECK(node.daemon().wait_for_exit(kLong) == 0);
  CHECK_FALSE(labels(node).empty());
  node.start_daemon();
  REQUIRE(node.attached({kGopher}));
  CHECK(running.becomes({{"feature.node.kubernetes.io/count", "2"}}));
  node.configure(listed(kGopher, node.path("gophers")));
  REQUIRE(node.reload());
  CHECK(running.becomes({}));

  running.configure();
  REQUIRE(node.reload());
  REQUIRE(running.becomes({{"feature.node.kubernetes.io/count", "2"}}));
  node.end_daemon();
  node.configure(listed(kGopher, node.path("gophers")));
  node.start_daemon();
  CHECK(running.becomes({}));
}

TEST_CASE("a reload with a new directory writes the labels there, and removes them from the former one") {
  LabelsRig running;
  REQUIRE(running.becomes(kOne));
  running.configure("", "other.d");
  REQUIRE(running.node.reload());
  CHECK(eventually([&] { return labels(running.node, "other.d") == kOne; }));
  CHECK(running.becomes({}));
}

TEST_CASE("labels that cannot be written are an error, and do not affect the devices") {
  Node node;
  node.files().file("gophers/amy");
  node.files().file("features.d", "no directory");
  node.set_top("labels: {directory: " + node.path("features.d") + "}\n");
  node.configure(listed(kGopher, node.path("gophers"), kLabels));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({kGopher}));
  CHECK(node.daemon().wait_for_line({"cannot write the node's labels", "Not a directory"}, kLong));
  node.files().remove("features.d");
  CHECK(eventually([&] { return labels(node) == kOne; }));
  CHECK(node.daemon().wait_for_line({"node labels written"}, kLong));
}
