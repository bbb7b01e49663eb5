#include "daemon/publish/resource_publisher.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace plughost;

namespace {

ListedIds list(const std::string& resource, std::vector<Device> devices) {
  ResourceSnapshot snapshot;
  snapshot.resource = resource;
  snapshot.inventory = Inventory(std::move(devices));
  return {std::make_shared<const ResourceSnapshot>(std::move(snapshot)), resource + ".yaml:1:1"};
}

}  // namespace

TEST_CASE("lists without a common id have no shared id") {
  CHECK(shared_ids({}).count == 0);
  const std::vector<ListedIds> one = {list("a", {{.id = "x"}, {.id = "y"}})};
  CHECK(shared_ids(one).count == 0);
  const std::vector<ListedIds> two = {list("a", {{.id = "x"}}), list("b", {{.id = "y"}})};
  const SharedIds shared = shared_ids(two);
  CHECK(shared.count == 0);
  CHECK(shared.one == nullptr);
  CHECK(shared.other == nullptr);
}

TEST_CASE("ids that several lists have are counted once each, and the first id is reported with its lists") {
  const std::vector<ListedIds> lists = {list("a", {{.id = "q"}, {.id = "x"}, {.id = "z"}}),
                                        list("b", {{.id = "x"}, {.id = "z"}}),
                                        list("c", {{.id = "q"}, {.id = "x"}, {.id = "z"}})};
  const SharedIds shared = shared_ids(lists);
  CHECK(shared.count == 3);
  CHECK(shared.first == "q");
  CHECK(shared.one == &lists[0]);
  CHECK(shared.other == &lists[2]);
}

TEST_CASE("an id in three lists is reported with the first two") {
  const std::vector<ListedIds> lists = {list("a", {}), list("b", {{.id = "x"}}), list("c", {{.id = "x"}}),
                                        list("d", {{.id = "x"}})};
  const SharedIds shared = shared_ids(lists);
  CHECK(shared.count == 1);
  CHECK(shared.one == &lists[1]);
  CHECK(shared.other == &lists[2]);
}
