#include "kubernetes/plugin/served_resource.hpp"

#include <doctest/doctest.h>

using namespace plughost;

namespace {

struct CountingReader final : FeedReader {
  void on_news() override { ++lists; }
  void on_closed() override { ++closed; }
  int lists = 0;
  int closed = 0;
};

ResourceSnapshot snapshot_of(std::vector<std::string> ids, std::string path = "") {
  std::vector<Device> devices;
  for (std::string& id : ids) devices.push_back({.id = std::move(id), .attributes = {{"path", path}}});
  return {"example.com/x", Inventory(std::move(devices)), std::make_shared<const AllocationSpec>()};
}

}  // namespace

TEST_CASE("readers are notified of a new list, and not if only attributes of its devices changed") {
  InventoryFeed feed(snapshot_of({"a"}, "/one"));
  const auto reader = std::make_shared<CountingReader>();
  feed.readers().subscribe(reader);
  CHECK_FALSE(feed.publish(snapshot_of({"a"}, "/two")));
  CHECK(reader->lists == 0);
  CHECK(*feed.newest().snapshot->inventory.devices()[0].attribute("path") == "/two");
  REQUIRE(feed.publish(snapshot_of({"a", "b"})));
  feed.readers().notify();
  CHECK(reader->lists == 1);
}

TEST_CASE("a reader that has unsubscribed is not notified") {
  InventoryFeed feed(snapshot_of({"a"}));
  const auto reader = std::make_shared<CountingReader>();
  feed.readers().subscribe(reader);
  feed.readers().unsubscribe(reader.get());
  REQUIRE(feed.publish(snapshot_of({})));
  feed.readers().notify();
  feed.readers().close();
  CHECK(reader->lists == 0);
  CHECK(reader->closed == 0);
}

TEST_CASE("closing notifies every reader, and a later one") {
  InventoryFeed feed(snapshot_of({"a"}));
  const auto early = std::make_shared<CountingReader>();
  const auto late = std::make_shared<CountingReader>();
  feed.readers().subscribe(early);
  feed.readers().close();
  feed.readers().subscribe(late);
  CHECK(early->closed == 1);
  CHECK(late->closed == 1);
}
