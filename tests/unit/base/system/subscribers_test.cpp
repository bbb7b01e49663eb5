#include "base/system/subscribers.hpp"

#include <doctest/doctest.h>

#include <memory>

namespace plughost {
namespace {

TEST_CASE("a subscriber is notified until its subscription ends") {
  Subscribers subscribers;
  CHECK(subscribers.empty());
  int told = 0;
  auto subscription = std::make_unique<Subscription>(subscribers, [&] { ++told; });
  CHECK_FALSE(subscribers.empty());
  subscribers.notify();
  CHECK(told == 1);
  subscription.reset();
  subscribers.notify();
  CHECK(told == 1);
  CHECK(subscribers.empty());
}

TEST_CASE("a callback may end its own subscription and others', and begin new ones") {
  Subscribers subscribers;
  std::unique_ptr<Subscription> first;
  std::unique_ptr<Subscription> second;
  std::unique_ptr<Subscription> third;
  int told = 0;
  first = std::make_unique<Subscription>(subscribers, [&] {
    first.reset();
    second.reset();
    third = std::make_unique<Subscription>(subscribers, [&] { told += 10; });
  });
  second = std::make_unique<Subscription>(subscribers, [&] { ++told; });
  subscribers.notify();
  CHECK(told == 0);
  subscribers.notify();
  CHECK(told == 10);
}

}  // namespace
}  // namespace plughost
