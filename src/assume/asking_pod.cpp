#include "assume/asking_pod.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include "base/number.hpp"
#include "device/quantity.hpp"

namespace plughost {
namespace {

// No node has so many units.
constexpr std::uint64_t kMostUnits = 1ull << 50;

std::string cut(const std::string& text) {
  return text.substr(0, AskingPod::kLongestText);
}

std::optional<std::string> annotation(const Json& annotations, const std::string& key) {
  const Json& value = annotations[key];
  if (value.is_null()) return std::nullopt;
  return cut(value.text());
}

std::uint64_t units_of(const Json& container, std::string_view resource) {
  const Json& limit = container["resources"]["limits"][resource];
  if (limit.number() > 0) return std::min(static_cast<std::uint64_t>(limit.number()), kMostUnits);
  return std::min(whole_quantity(limit.text()).value_or(0), kMostUnits);
}

void add(const Json& containers, bool init, std::string_view resource, AskingPod& pod) {
  for (const Json& container : containers.array()) {
    const std::uint64_t units = units_of(container, resource);
    if (units == 0 || pod.containers.size() == AskingPod::kMostContainers) continue;
    pod.containers.push_back({.name = cut(container["name"].text()), .units = units, .init = init});
  }
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

std::optional<AskingPod> asking_pod(const Json& json, std::string_view resource, const AssumeTerms& terms) {
  const Json& metadata = json["metadata"];
  const Json& annotations = metadata["annotations"];
  AskingPod pod;
  pod.uid = cut(metadata["uid"].text());
  pod.name = cut(metadata["namespace"].text()) + '/' + cut(metadata["name"].text());
  pod.phase = cut(json["status"]["phase"].text());
  pod.created = cut(metadata["creationTimestamp"].text());
  pod.deleted = !metadata["deletionTimestamp"].is_null();
  add(json["spec"]["initContainers"], true, resource, pod);
  add(json["spec"]["containers"], false, resource, pod);
  if (pod.uid.empty() || pod.containers.empty()) return std::nullopt;
  const auto used = std::ranges::find_if(
      terms.names, [&](const AssumeNames& names) { return !annotations[names.time].is_null(); });
  pod.names = used == terms.names.end() ? terms.names.front() : *used;
  pod.time = annotation(annotations, pod.names.time);
  pod.assigned = annotation(annotations, pod.names.assigned);
  pod.card = annotation(annotations, pod.names.card);
  return pod;
}

bool earlier(const AskingPod& one, const AskingPod& other) {
  const auto order = [](const AskingPod& pod) {
    return std::make_tuple(pod.assumed_at(), std::string_view(pod.created), std::string_view(pod.uid));
  };
  return order(one) < order(other);
}

}  // namespace plughost
