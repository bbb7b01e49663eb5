#include <doctest/doctest.h>

#include "platform/node_events.hpp"

namespace plughost {
namespace {

using News = std::vector<HealthNews>;
constexpr EventReason kSick = EventReason::kDeviceUnhealthy;
constexpr EventReason kWell = EventReason::kDeviceHealthy;

Inventory list(std::initializer_list<Device> devices) {
  return Inventory(std::vector<Device>(devices));
}

Device sick(const std::string& id, const std::string& why) {
  return {.id = id, .trouble = why};
}

TEST_CASE("the node hears of all devices whose health is another one, a pod of those that it holds") {
  const Holdings holdings{
      {"x.com/gpu",
       {{"a", {"ml", "train", "main"}}, {"b", {"ml", "train", "side"}}, {"c", {"web", "shop", "main"}}}},
      {"x.com/other", {{"a", {"web", "other", "main"}}}}};
  const Inventory before = list({{.id = "a"}, {.id = "b"}, sick("c", "cold"), {.id = "d"}});
  const Inventory after = list({sick("a", "hot"), {.id = "b"}, {.id = "c"}, sick("d", "hot")});
  CHECK(health_news("x.com/gpu", before, after, &holdings) ==
        News{{.subject = {}, .reason = kSick, .text = "x.com/gpu: a, d: Unhealthy: hot"},
             {.subject = {}, .reason = kWell, .text = "x.com/gpu: c: Healthy again"},
             {.subject = {"ml", "train"}, .reason = kSick, .text = "x.com/gpu: a: Unhealthy: hot"},
             {.subject = {"web", "shop"}, .reason = kWell, .text = "x.com/gpu: c: Healthy again"}});
}

TEST_CASE("where nobody knows who holds what, or only the pod's uid, the node alone hears of it") {
  const Inventory before = list({{.id = "a"}});
  const Inventory after = list({sick("a", "hot")});
  const News of_node{{.subject = {}, .reason = kSick, .text = "x.com/gpu: a: Unhealthy: hot"}};
  CHECK(health_news("x.com/gpu", before, after, nullptr) == of_node);
  const Holdings by_uid{{"x.com/gpu", {{"a", {"", "8d6a-uid", "main"}}}}};
  CHECK(health_news("x.com/gpu", before, after, &by_uid) == of_node);
}

TEST_CASE("a pod that holds several shares of a device hears of it once") {
  Device shared{.id = "a", .replicas = 3};
  const Inventory before = list({shared});
  shared.trouble = "hot";
  const Holdings holdings{{"x.com/gpu", {{"a::0", {"ml", "train", "x"}}, {"a::2", {"ml", "train", "y"}}}}};
  const News news = health_news("x.com/gpu", before, list({shared}), &holdings);
  REQUIRE(news.size() == 2);
  CHECK(news[1].subject == EventSubject{"ml", "train"});
  CHECK(news[1].text == "x.com/gpu: a: Unhealthy: hot");
}

TEST_CASE("a device that goes while a pod holds it is told of, and once more when it is back") {
  const Holdings holdings{{"x.com/gpu", {{"a", {"ml", "train", "main"}}}}};
  const Inventory there = list({{.id = "a"}});
  const Inventory without = list({{.id = "a", .trouble = "it is gone: unplugged", .gone = true}});
  CHECK(health_news("x.com/gpu", there, without, &holdings) ==
        News{{.subject = {}, .reason = kSick, .text = "x.com/gpu: a: it is gone: unplugged"},
             {.subject = {"ml", "train"}, .reason = kSick, .text = "x.com/gpu: a: it is gone: unplugged"}});
  CHECK(health_news("x.com/gpu", without, there, &holdings) ==
        News{{.subject = {}, .reason = kWell, .text = "x.com/gpu: a: Healthy again"},
             {.subject = {"ml", "train"}, .reason = kWell, .text = "x.com/gpu: a: Healthy again"}});
  const Inventory sick_again = list({sick("a", "hot")});
  CHECK(health_news("x.com/gpu", without, sick_again, nullptr) ==
        News{{.subject = {}, .reason = kSick, .text = "x.com/gpu: a: Unhealthy: hot"}});
  CHECK(health_news("x.com/gpu", without, list({}), nullptr).empty());
}

TEST_CASE("lists of the same health are no news") {
  const Inventory same = list({{.id = "a"}, sick("b", "hot")});
  CHECK(health_news("x.com/gpu", same, same, nullptr).empty());
  CHECK(health_news("x.com/gpu", list({}), list({{.id = "a"}}), nullptr).empty());
}

}  // namespace
}  // namespace plughost
