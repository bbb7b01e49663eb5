#include "assume/asking_pod.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include "base/text.hpp"
#include "device/quantity.hpp"

namespace plughost {
namespace {

// No node has so many units.
constexpr std::uint64_t kMostUnits = 1ull << 50;

std::string cut(const std::string& text) { return text.substr(0, AskingPod::kLongestText); }

std::optional<std::string> annotation(const Pod& pod, const std::string& key) {
  const auto found = pod.annotations.find(key);
  return found == pod.annotations.end() ? std::nullopt : std::optional(cut(found->second));
}

std::uint64_t units_of(const Pod::Container& container, std::string_view resource) {
  const auto limit = container.limits.find(resource);
  if (limit == container.limits.end()) return 0;
  return std::min(whole_quantity(limit->second).value_or(0), kMostUnits);
}

}  // namespace

std::uint64_t AskingPod::units() const {
  std::uint64_t sum = 0;
  for (const AskingContainer& container : containers) sum += container.init ? 0 : container.units;
  return sum;
}

std::uint64_t AskingPod::assumed_at() const {
  return number_in<std::uint64_t>(time.value_or("")).value_or(std::numeric_limits<std::uint64_t>::max());
}

const AskingContainer* AskingPod::next(const AnsweredContainers& answered) const {
  const auto found = std::ranges::find_if(containers, [&](const AskingContainer& each) {
    return !answered.contains({uid, each.name});
  });
  return found == containers.end() ? nullptr : &*found;
}

std::optional<AskingPod> asking_pod(const Pod& from, std::string_view resource, const AssumeTerms& terms) {
  AskingPod pod{.uid = cut(from.uid),
                .name = cut(from.name_space) + '/' + cut(from.name),
                .phase = cut(from.phase),
                .created = cut(from.created),
                .deleted = from.deleted,
                .containers = {},
                .names = terms.names.front(),
                .time = {},
                .assigned = {},
                .card = {}};
  for (const Pod::Container& container : from.containers) {
    const std::uint64_t units = units_of(container, resource);
    if (units == 0 || pod.containers.size() == AskingPod::kMostContainers) continue;
    pod.containers.push_back({.name = cut(container.name), .units = units, .init = container.init});
  }
  if (pod.uid.empty() || pod.containers.empty()) return std::nullopt;
  const auto used = std::ranges::find_if(
      terms.names, [&](const AssumeNames& names) { return from.annotations.contains(names.time); });
  if (used != terms.names.end()) pod.names = *used;
  pod.time = annotation(from, pod.names.time);
  pod.assigned = annotation(from, pod.names.assigned);
  pod.card = annotation(from, pod.names.card);
  return pod;
}

bool earlier(const AskingPod& one, const AskingPod& other) {
  const auto order = [](const AskingPod& pod) {
    return std::make_tuple(pod.assumed_at(), std::string_view(pod.created), std::string_view(pod.uid));
  };
  return order(one) < order(other);
}

}  // namespace plughost
