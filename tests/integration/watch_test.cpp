// Checks `watch`: an edited file takes effect without a reload request.

#include <doctest/doctest.h>

#include <filesystem>

#include "integration/node.hpp"
#include "integration/resource_names.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

void start_watching(Node& node) {
  node.set_top("watch: true\n");
  node.configure(counted(kA, 2));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({kA}));
}

bool says(Node& node, std::string_view words) { return node.daemon().wait_for_line({words}, kLong); }

}  // namespace

TEST_CASE(
    "with `watch`, a file that is written in place, replaced, or joined by a second file is applied without "
    "a reload request") {
  Node node;
  start_watching(node);
  node.configure(counted(kA, 3));
  REQUIRE(node.count(kA, 3));
  std::filesystem::copy(node.configuration(), node.path("next"));
  node.configure(counted(kA, 4));
  REQUIRE(node.count(kA, 4));
  std::filesystem::rename(node.path("next"), node.configuration());
  REQUIRE(node.count(kA, 3));
  node.files().file("plugins.d/b.yaml", "resources:\n" + counted(kB, 5));
  REQUIRE(node.count(kB, 5));
  node.files().remove("plugins.d/b.yaml");
  CHECK(node.wait_for([](const KubeletState& state) { return state.of(kB).streams == 0; }));
  CHECK(node.of(kA).registrations.size() == 1);
}

TEST_CASE("a ConfigMap that is switched as the kubelet does is applied") {
  Node node;
  node.set_top("watch: true\n");
  node.configure(counted(kA, 2));
  node.files().directory("..first");
  node.files().directory("..second");
  std::filesystem::copy(node.configuration(), node.path("..first/config.yaml"));
  node.configure(counted(kA, 3));
  std::filesystem::rename(node.configuration(), node.path("..second/config.yaml"));
  node.files().link("..data", "..first");
  node.files().link("config.yaml", "..data/config.yaml");
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.count(kA, 2));
  node.files().link("..next", "..second");
  std::filesystem::rename(node.path("..next"), node.path("..data"));
  node.files().remove("..first");
  CHECK(node.count(kA, 3));
}

TEST_CASE("a mount that vanishes with the file is an error without effect, and the next mount is applied") {
  Node node;
  node.set_top("watch: true\n");
  node.configure(counted(kA, 3));
  node.files().directory("next");
  std::filesystem::rename(node.configuration(), node.path("next/config.yaml"));
  node.configure(counted(kA, 2));
  node.files().directory("mount");
  std::filesystem::rename(node.configuration(), node.path("mount/config.yaml"));
  node.files().link("config.yaml", "mount/config.yaml");
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.count(kA, 2));
  std::filesystem::rename(node.path("mount"), node.path("gone"));
  REQUIRE(node.daemon().wait_for_line({"error", "config.yaml", "No such file or directory"}, kLong));
  REQUIRE(says(node, "configuration not reloaded: the old one stays in force"));
  CHECK(node.of(kA).lists == 1);
  std::filesystem::rename(node.path("next"), node.path("mount"));
  CHECK(node.count(kA, 3));
  CHECK(node.of(kA).registrations.size() == 1);
}

TEST_CASE(
    "a half-written file is an error with its position, has no effect, and is read again when it changes") {
  Node node;
  start_watching(node);
  node.files().file("config.yaml", "watch: true\nresources: [{name: ");
  REQUIRE(says(node, "config.yaml:2:"));
  CHECK(says(node, "configuration not reloaded"));
  CHECK(node.of(kA).lists == 1);
  // A file that is written with its present content leads to no second report.
  node.files().file("config.yaml", "watch: true\nresources: [{name: ");
  node.configure(counted(kA, 7));
  CHECK(node.count(kA, 7));
  CHECK(node.daemon().comes_to_lines("configuration not reloaded", 1));
}

TEST_CASE("a file that is written with its present text leads to no reload, and SIGHUP does") {
  Node node;
  start_watching(node);
  node.configure(counted(kA, 2));
  node.configure(counted(kA, 2));
  REQUIRE(node.reload());
  CHECK(node.daemon().comes_to_lines("configuration reloaded", 1));
}

TEST_CASE("without `watch` a file is read only at a reload") {
  Node node;
  node.configure(counted(kA, 2));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({kA}));
  node.configure(counted(kA, 3));
  CHECK_FALSE(node.count(kA, 3, 400ms));
}
