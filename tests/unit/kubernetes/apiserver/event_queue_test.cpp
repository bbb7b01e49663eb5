#include "kubernetes/apiserver/event_queue.hpp"

#include <doctest/doctest.h>

#include <set>

namespace plughost {
namespace {

using namespace std::chrono_literals;
using Clock = EventQueue::Clock;

const EventSubject kNode;
const EventSubject kPod{.pod_namespace = "ml", .pod = "train-0"};
const Clock::time_point kStart{1000s};
constexpr EventReason kSick = EventReason::kDeviceUnhealthy;
constexpr EventReason kWell = EventReason::kDeviceHealthy;

std::chrono::system_clock::time_point at(int seconds) {
  return std::chrono::system_clock::time_point(1795348800s + std::chrono::seconds(seconds));
}

TEST_CASE("an Event's message is printable, whatever a device reports") {
  EventQueue queue;
  queue.record(kNode, kSick, "worn\x1b[2J\nout", at(0));
  const auto event = queue.take(kStart);
  REQUIRE(event);
  CHECK(event->message == "worn\\x1B[2J\\x0Aout");
}

TEST_CASE(
    "the first Event of a reason and subject is due at once, and its repetitions are merged into one per "
    "minute") {
  EventQueue queue;
  CHECK(queue.next_due() == EventQueue::kNever);
  queue.record(kNode, kSick, "a", at(0));
  CHECK(queue.next_due() <= kStart);
  const auto first = queue.take(kStart);
  REQUIRE(first);
  CHECK(*first ==
        EventDraft{
            .subject = kNode, .reason = kSick, .message = "a", .count = 1, .first = at(0), .last = at(0)});
  CHECK(queue.next_due() == EventQueue::kNever);

  queue.record(kNode, kSick, "b", at(10));
  queue.record(kNode, kSick, "c", at(20));
  queue.record(kNode, kSick, "b", at(30));
  CHECK(queue.next_due() == kStart + 60s);
  CHECK_FALSE(queue.take(kStart + 60s - 1ns));
  const auto second = queue.take(kStart + 60s);
  REQUIRE(second);
  CHECK(
      *second ==
      EventDraft{
          .subject = kNode, .reason = kSick, .message = "b; c", .count = 3, .first = at(10), .last = at(30)});
  CHECK_FALSE(queue.take(kStart + 10min));
}

TEST_CASE("Events with different reasons or subjects do not wait for each other, and the oldest is first") {
  EventQueue queue;
  queue.record(kPod, kSick, "b", at(2));
  queue.record(kNode, kWell, "c", at(3));
  queue.record(kNode, kSick, "a", at(1));
  queue.record(kNode, kSick, "a", at(9));
  CHECK(queue.take(kStart)->message == "a");
  CHECK(queue.take(kStart)->subject == kPod);
  CHECK(queue.take(kStart)->reason == kWell);
  CHECK_FALSE(queue.take(kStart));
}

TEST_CASE("the number of waiting Events is limited: the oldest are dropped and counted") {
  EventQueue queue;
  const auto pod = [](std::size_t n) { return EventSubject{.pod_namespace = "x", .pod = std::to_string(n)}; };
  for (std::size_t n = 0; n < EventQueue::kMost; ++n)
    queue.record(pod(n), kSick, "a", at(static_cast<int>(n)));
  CHECK(queue.take_dropped() == 0);
  queue.record(pod(0), kSick, "again", at(1000));  // this Event is now the newest
  queue.record(pod(1), kSick, "a", at(1));
  queue.record(kNode, kSick, "a", at(2000));
  CHECK(queue.take_dropped() == 2);  // both Events of pod 1
  CHECK(queue.take_dropped() == 0);
  std::set<EventSubject> left;
  while (const auto draft = queue.take(kStart)) left.insert(draft->subject);
  CHECK(left.size() == EventQueue::kMost);
  CHECK(left.contains(kNode));
  CHECK(left.contains(pod(0)));
  CHECK_FALSE(left.contains(pod(1)));
}

TEST_CASE("a message has at most 1024 bytes of whole characters, and reports how much was cut") {
  EventQueue queue;
  std::string umlauts;
  while (umlauts.size() < 2000) umlauts += "ä";
  queue.record(kNode, kSick, "x" + umlauts, at(0));
  queue.record(kNode, kSick, "y", at(0));
  const auto first = queue.take(kStart);
  CHECK(first->message.size() <= EventDraft::kLongestMessage);
  CHECK(first->message.size() > EventDraft::kLongestMessage - 40);
  CHECK(first->message.ends_with("ä; and 1 more"));

  for (int n = 0; n < 500; ++n) queue.record(kNode, kWell, "device " + std::to_string(1000 + n), at(n));
  const auto second = queue.take(kStart);
  CHECK(second->count == 500);
  CHECK(second->message.size() <= EventDraft::kLongestMessage);
  CHECK(second->message.starts_with("device 1000; device 1001; "));
  CHECK(second->message.ends_with(" more"));
}

EventDraft draft() {
  return {.subject = kPod,
          .reason = kSick,
          .message = "x.com/gpu: a: hot",
          .count = 3,
          .first = at(0),
          .last = at(59)};
}

TEST_CASE(
    "an Event about a pod is in the pod's namespace and has the pod's uid, by which kubectl finds the "
    "Event") {
  Json event = event_json(draft(), "uid-1", "node-a");
  const std::string name = event["metadata"]["name"].text();
  CHECK(name.starts_with("train-0."));
  CHECK(name.size() == std::string("train-0.").size() + 16);
  event["metadata"] = Json{{"namespace", event["metadata"]["namespace"].text()}};
  CHECK(
      event.dump() ==
      R"({"apiVersion":"v1","kind":"Event","metadata":{"namespace":"ml"},"involvedObject":{"apiVersion":"v1","kind":"Pod","name":"train-0","namespace":"ml","uid":"uid-1"},"reason":"DeviceUnhealthy","message":"x.com/gpu: a: hot","type":"Warning","count":3,"firstTimestamp":"2026-11-22T12:00:00.000000Z","lastTimestamp":"2026-11-22T12:00:59.000000Z","source":{"component":"plughost","host":"node-a"},"reportingComponent":"plughost","reportingInstance":"node-a"})");
}

TEST_CASE("an Event about the node is in the namespace default, and has the name of the node as uid") {
  EventDraft of_node = draft();
  of_node.subject = kNode;
  of_node.reason = kWell;
  const Json event = event_json(of_node, "", "node-a");
  CHECK(event["metadata"]["namespace"].text() == "default");
  CHECK(event["metadata"]["name"].text().starts_with("node-a."));
  CHECK(event["involvedObject"].dump() ==
        R"({"apiVersion":"v1","kind":"Node","name":"node-a","uid":"node-a"})");
  CHECK(event["reason"].text() == "DeviceHealthy");
  CHECK(event["type"].text() == "Normal");
  of_node.reason = EventReason::kReloadRefused;
  CHECK(event_json(of_node, "", "node-a")["reason"].text() == "ReloadRefused");
  CHECK(event_json(of_node, "", "node-a")["type"].text() == "Warning");
}

TEST_CASE(
    "an Event's name is valid for any length of the object's name, the same in a retry, and otherwise "
    "unique") {
  const auto name_of = [](const EventDraft& draft) {
    return event_json(draft, "", "n")["metadata"]["name"].text();
  };
  EventDraft long_one = draft();
  long_one.subject.pod = std::string(235, 'a') + '-' + std::string(17, 'b');
  CHECK(name_of(long_one).size() == 252);
  CHECK(name_of(long_one).substr(0, 236) == std::string(235, 'a') + '.');
  long_one.subject.pod = std::string(253, 'a');
  CHECK(name_of(long_one).size() == 253);

  CHECK(name_of(draft()) == name_of(draft()));
  std::set<std::string> names{name_of(draft())};
  EventDraft other = draft();
  other.reason = kWell;
  names.insert(name_of(other));
  other = draft();
  other.first += 1us;
  names.insert(name_of(other));
  other = draft();
  other.last += 1us;
  other.count = 4;
  names.insert(name_of(other));  // the same draft, with a later occurrence added
  CHECK(names.size() == 3);
}

}  // namespace
}  // namespace plughost
