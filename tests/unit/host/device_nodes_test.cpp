#include "host/device_nodes.hpp"

#include <doctest/doctest.h>

#include "unit/temp_dir.hpp"

using namespace plughost;

namespace {

std::string trouble_with(const HostRoot& host, const std::string& path) {
  Allocation allocation;
  allocation.nodes = {{path, path, "rw"}};
  return missing_device_node(host, allocation);
}

}  // namespace

TEST_CASE("a device node that is there, also behind a link, can be given") {
  const test::TempDir tree;
  tree.link("dev/modem", "/dev/null");
  CHECK(trouble_with(HostRoot(), "/dev/null").empty());
  CHECK(trouble_with(HostRoot(tree.path()), "/dev/modem").empty());
}

TEST_CASE("a device node that is gone, or is none any more, is named") {
  const test::TempDir tree;
  tree.file("dev/plain");
  const HostRoot host(tree.path());
  CHECK(trouble_with(host, "/dev/gone") == "its device node /dev/gone is gone: No such file or directory");
  CHECK(trouble_with(host, "/dev/plain") == "/dev/plain is no device node any more");
}

TEST_CASE("what is not below /dev is not looked at: its file system may hang") {
  CHECK(trouble_with(HostRoot(), "/mnt/nowhere/node").empty());
}
