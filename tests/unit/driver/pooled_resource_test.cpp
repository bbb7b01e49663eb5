#include "driver/pooled_resource.hpp"

#include <doctest/doctest.h>

#include <thread>

namespace plughost {
namespace {

Offer offer_of(const std::string& trouble) {
  Device sick{.id = "a"};
  sick.trouble = trouble;
  return {.resource = "example.com/camera", .inventory = Inventory({sick, Device{.id = "b"}}), .recipe = {}};
}

// The clock shows another time than when it was called.
void let_time_pass() {
  const auto before = std::chrono::system_clock::now();
  while (std::chrono::system_clock::now() == before) std::this_thread::yield();
}

TEST_CASE("a pool's resource has the newest offer, and knows since when each device is as well as it is") {
  const auto began = std::chrono::system_clock::now();
  PooledResource resource(offer_of(""));
  CHECK(resource.name() == "example.com/camera");
  const auto first = resource.health_times().since("a");
  CHECK(first >= began);
  CHECK(resource.health_times().since("b") == first);
  let_time_pass();
  resource.publish(offer_of("it is hot"));
  CHECK(resource.offer()->inventory.devices()[0].trouble == "it is hot");
  const auto sick = resource.health_times().since("a");
  CHECK(sick > first);
  CHECK(resource.health_times().since("b") == first);
  let_time_pass();
  resource.publish(offer_of("it is hot"));
  CHECK(resource.health_times().since("a") == sick);
}

}  // namespace
}  // namespace plughost
