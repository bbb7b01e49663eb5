#include "host/hardware/node_labels.hpp"

#include <doctest/doctest.h>

#include "unit/temp_dir.hpp"

namespace plughost {
namespace {

using Labels = std::map<std::string, std::string>;

TEST_CASE("labels are read in the form of the downward API, and as people write them") {
  const NodeLabels found = node_labels_of(
      "# of this node\n\nexample.com/rack=\"a 1\"\r\n zone = north\ntier=\nmode=\"a=\\\"b\\\"\"");
  CHECK(found.error.empty());
  CHECK(found.node.empty());
  CHECK(found.labels ==
        Labels{{"example.com/rack", "a 1"}, {"zone", "north"}, {"tier", ""}, {"mode", "a=\"b\""}});
}

TEST_CASE("labels are read from a Node object, its metadata, or a map") {
  const Labels rack{{"rack", "a1"}};
  const NodeLabels node = node_labels_of(
      R"({"kind": "Node", "metadata": {"name": "n1", "labels": {"rack": "a1"}}, "status": {"n": 1}})");
  CHECK(node.node == "n1");
  CHECK(node.labels == rack);
  const NodeLabels metadata = node_labels_of(R"( {"name": "n2", "labels": {"rack": "a1"}})");
  CHECK(metadata.node == "n2");
  CHECK(metadata.labels == rack);
  const NodeLabels map = node_labels_of(R"({"rack": "a1"})");
  CHECK(map.node.empty());
  CHECK(map.labels == rack);
  CHECK(map.error.empty());
}

TEST_CASE("a node's name is the name of the Node object, or else its hostname label") {
  CHECK(node_labels_of("kubernetes.io/hostname=n3").node == "n3");
  CHECK(node_labels_of(R"({"metadata": {"name": "n1", "labels": {"kubernetes.io/hostname": "n3"}}})").node ==
        "n1");
}

TEST_CASE("a file of labels that is cut off is an error, and not used") {
  CHECK(node_labels_of("rack=a1\nzo").error == "line 2 is not key=value: zo");
  CHECK(node_labels_of("=a").error == R"(line 1 is not key=value: "=a")");
  CHECK(node_labels_of("rack=a1\nzo").labels.empty());
  CHECK_FALSE(node_labels_of(R"({"rack": "a1")").error.empty());
  CHECK_FALSE(node_labels_of("rack=\"a1").error.empty());
  CHECK(node_labels_of(R"({"rack": 1})").error == "the value of rack is not text");
  CHECK(node_labels_of("{\"rack\": " + std::string(1 << 19, '[')).error ==
        "this JSON is nested more than 64 deep");
}

TEST_CASE("an empty file has no labels") {
  CHECK(node_labels_of("").error.empty());
  CHECK(node_labels_of("{}").error.empty());
}

TEST_CASE("the error about an unreadable file names the file") {
  const test::TempDir dir;
  const HostRoot host(dir.path());
  CHECK(read_node_labels(host, "/none").error == "/none: it cannot be read");
  CHECK(read_node_labels(host, "").error == "`nodeLabels` names no file");
  dir.file("labels", "zo");
  CHECK(read_node_labels(host, "/labels").error == "/labels: line 1 is not key=value: zo");
  dir.file("labels", "rack=a1");
  CHECK(read_node_labels(host, "/labels").labels == Labels{{"rack", "a1"}});
}

}  // namespace
}  // namespace plughost
