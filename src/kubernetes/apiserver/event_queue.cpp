#include "kubernetes/apiserver/event_queue.hpp"

#include <algorithm>

#include "base/text/ascii.hpp"
#include "base/text/text.hpp"
#include "base/text/words.hpp"
#include "model/device/names.hpp"

namespace plughost {
namespace {

using WallClock = std::chrono::system_clock;

constexpr Word<EventReason> kReasons[] = {{"DeviceUnhealthy", EventReason::kDeviceUnhealthy},
                                          {"DeviceHealthy", EventReason::kDeviceHealthy},
                                          {"ReloadRefused", EventReason::kReloadRefused}};

constexpr std::string_view kBetween = "; ";
constexpr std::size_t kRoomForMore = 32;     // "; and 18446744073709551615 more"
constexpr std::size_t kLongestObject = 253;  // a DNS subdomain
constexpr std::size_t kHashDigits = 16;

// A retry uses the same name, so that an event is not written twice.
std::string event_name(const EventDraft& draft, const std::string& object) {
  const std::uint64_t hash = fnv1a(std::string(word_of(draft.reason)) + ' ' + draft.subject.pod_namespace +
                                   ' ' + utc_text(draft.first));
  std::string name = object.substr(0, kLongestObject - kHashDigits - 1);
  while (!name.empty() && !is_letter(name.back()) && !is_digit(name.back())) name.pop_back();
  return name + '.' + hex_digits(hash);
}

}  // namespace

std::string_view word_of(EventReason reason) { return word_of(kReasons, reason); }

Json event_json(const EventDraft& draft, const std::string& uid, const std::string& node) {
  const bool is_pod = !draft.subject.pod.empty();
  const std::string& object = is_pod ? draft.subject.pod : node;
  Json involved{{"apiVersion", "v1"}, {"kind", is_pod ? "Pod" : "Node"}, {"name", object}};
  if (is_pod) involved["namespace"] = draft.subject.pod_namespace;
  involved["uid"] = is_pod ? uid : node;
  return {{"apiVersion", "v1"},
          {"kind", "Event"},
          {"metadata",
           {{"name", event_name(draft, object)},
            // Events about objects without a namespace are in the namespace `default`.
            {"namespace", is_pod ? draft.subject.pod_namespace : "default"}}},
          {"involvedObject", std::move(involved)},
          {"reason", word_of(draft.reason)},
          {"message", draft.message},
          {"type", draft.reason == EventReason::kDeviceHealthy ? "Normal" : "Warning"},
          {"count", draft.count},
          {"firstTimestamp", utc_text(draft.first)},
          {"lastTimestamp", utc_text(draft.last)},
          {"source", {{"component", "plughost"}, {"host", node}}},
          {"reportingComponent", "plughost"},
          {"reportingInstance", node}};
}

void EventQueue::record(const EventSubject& subject, EventReason reason, std::string_view words,
                        WallClock::time_point at) {
  const std::string text = printable(words);
  const Key key{subject, reason};
  if (!waiting_.contains(key) && waiting_.size() == kMost) {
    const auto oldest =
        std::ranges::min_element(waiting_, {}, [](const auto& item) { return item.second.draft.last; });
    dropped_ += oldest->second.draft.count;
    waiting_.erase(oldest);
  }
  Waiting& waiting = waiting_[key];
  EventDraft& draft = waiting.draft;
  if (draft.count++ == 0) draft = {.subject = subject, .reason = reason, .count = 1, .first = at};
  draft.last = at;
  if (draft.message.find(text) != std::string::npos) return;
  constexpr std::size_t kRoom = EventDraft::kLongestMessage - kRoomForMore;
  if (draft.message.empty())
    draft.message = whole_characters(text, kRoom);
  else if (draft.message.size() + kBetween.size() + text.size() <= kRoom)
    draft.message.append(kBetween).append(text);
  else
    ++waiting.unsaid;
}

EventQueue::Clock::time_point EventQueue::due(const Key& key) const {
  const auto taken = taken_.find(key);
  return taken == taken_.end() ? Clock::time_point::min() : taken->second + kInterval;
}

std::optional<EventDraft> EventQueue::take(Clock::time_point now) {
  std::erase_if(taken_, [now](const auto& item) { return item.second + kInterval <= now; });
  auto next = waiting_.end();
  for (auto item = waiting_.begin(); item != waiting_.end(); ++item) {
    if (due(item->first) > now) continue;
    if (next == waiting_.end() || item->second.draft.first < next->second.draft.first) next = item;
  }
  if (next == waiting_.end()) return std::nullopt;
  taken_[next->first] = now;
  EventDraft draft = std::move(next->second.draft);
  if (next->second.unsaid > 0) draft.message += "; and " + std::to_string(next->second.unsaid) + " more";
  waiting_.erase(next);
  return draft;
}

EventQueue::Clock::time_point EventQueue::next_due() const {
  Clock::time_point next = kNever;
  for (const auto& [key, waiting] : waiting_) next = std::min(next, due(key));
  return next;
}

}  // namespace plughost
