#include "model/assume/pod.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <ratio>
#include <tuple>

#include "base/text/quantity.hpp"
#include "base/text/text.hpp"

namespace plughost {
namespace {

// A quantity may be a JSON number.
std::string quantity(const Json& value) {
  return value.text().empty() && value.number() != 0 ? std::to_string(value.number()) : value.text();
}

void add(const Json& containers, bool init, Pod& pod) {
  for (const Json& container : containers.array()) {
    Pod::Container& added =
        pod.containers.emplace_back(Pod::Container{.name = container["name"].text(), .init = init});
    for (const auto& [resource, limit] : container["resources"]["limits"].object())
      added.limits.emplace(resource, quantity(limit));
  }
}

// A limit that is larger than the units of any node.
constexpr std::uint64_t kMostUnits = 1ull << 50;

std::string cut(const std::string& text) { return text.substr(0, AskingPod::kLongestText); }

std::optional<std::string> annotation(const Pod& pod, const std::string& key) {
  const auto found = pod.annotations.find(key);
  return found == pod.annotations.end() ? std::nullopt : std::optional(cut(found->second));
}

std::uint64_t written_time(const AskingPod& pod) {
  return number_in<std::uint64_t>(pod.time.value_or("")).value_or(std::numeric_limits<std::uint64_t>::max());
}

// Returns nanoseconds since 1970 for a text in the API server's form, "2026-11-23T12:00:00Z"; 0 for any other
// text.
std::uint64_t nanoseconds_of(std::string_view utc) {
  using namespace std::chrono;
  if (utc.size() != 20) return 0;
  const auto number = [&](std::size_t at, std::size_t length) {
    return number_in<unsigned>(utc.substr(at, length)).value_or(0);
  };
  const year_month_day date(year(static_cast<int>(number(0, 4))), month(number(5, 2)), day(number(8, 2)));
  const auto at = sys_days(date) + hours(number(11, 2)) + minutes(number(14, 2)) + seconds(number(17, 2));
  const bool valid = date.ok() && at.time_since_epoch().count() > 0;
  return valid ? static_cast<std::uint64_t>(at.time_since_epoch().count()) * std::nano::den : 0;
}

std::uint64_t units_of(const Pod::Container& container, std::string_view resource) {
  const auto limit = container.limits.find(resource);
  if (limit == container.limits.end()) return 0;
  return std::min(whole_quantity(limit->second).value_or(0), kMostUnits);
}

constexpr const char* kVisible = "NVIDIA_VISIBLE_DEVICES";
constexpr const char* kIndex = "ALIYUN_COM_GPU_MEM_IDX";
constexpr const char* kNoCard = "-1";

}  // namespace

Pod pod_of(const Json& json) {
  const Json& metadata = json["metadata"];
  Pod pod{.uid = metadata["uid"].text(),
          .name_space = metadata["namespace"].text(),
          .name = metadata["name"].text(),
          .created = metadata["creationTimestamp"].text(),
          .deleted = !metadata["deletionTimestamp"].is_null(),
          .phase = json["status"]["phase"].text()};
  for (const auto& [key, value] : metadata["annotations"].object())
    pod.annotations.emplace(key, value.text());
  add(json["spec"]["initContainers"], true, pod);
  add(json["spec"]["containers"], false, pod);
  return pod;
}

std::uint64_t AskingPod::units() const {
  std::uint64_t sum = 0;
  for (const AskingContainer& container : containers) sum += container.init ? 0 : container.units;
  return sum;
}

std::uint64_t AskingPod::assumed_at() const { return std::max(written_time(*this), nanoseconds_of(created)); }

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
                .names = terms.names.front()};
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
    return std::make_tuple(pod.assumed_at(), std::string_view(pod.created), written_time(pod),
                           std::string_view(pod.uid));
  };
  return order(one) < order(other);
}

bool marked(const AskingPod& pod) { return pod.assigned == "true"; }

std::string mark_patch(const AssumeTerms& terms, const AskingPod& pod, std::int64_t now) {
  Json::Object annotations{{pod.names.assigned, "true"}};
  if (terms.dialect == Dialect::kGpushare) annotations.emplace_back(pod.names.time, std::to_string(now));
  return Json{{"metadata", Json{{"uid", pod.uid}, {"annotations", std::move(annotations)}}}}.dump();
}

std::vector<const AskingPod*> to_be_marked(std::span<const AskingPod* const> pods,
                                           const AnsweredContainers& holding) {
  std::vector<const AskingPod*> found;
  std::ranges::copy_if(pods, std::back_inserter(found), [&](const AskingPod* pod) {
    return pod->time && !marked(*pod) && !pod->ended() && !pod->next(holding);
  });
  return found;
}

AssumeTerms terms_of(Dialect dialect) {
  AssumeTerms terms;
  terms.dialect = dialect;
  switch (dialect) {
    case Dialect::kDoslab:
      terms.names = {{.time = "DOSLAB_IO_GPU_ASSUME_TIME",
                      .assigned = "DOSLAB_IO_GPU_ASSIGNED",
                      .card = "DOSLAB_IO_GPU_UUID"},
                     {.time = "doslab.io/gpu-assume-time",
                      .assigned = "doslab.io/gpu-assigned",
                      .card = "doslab.io/gpu-uuid"}};
      terms.card_is = CardIs::kUuid;
      break;
    case Dialect::kGpushare:
      terms.names = {{.time = "ALIYUN_COM_GPU_MEM_ASSUME_TIME",
                      .assigned = "ALIYUN_COM_GPU_MEM_ASSIGNED",
                      .card = "ALIYUN_COM_GPU_MEM_IDX"}};
      terms.card_is = CardIs::kIndex;
      break;
    case Dialect::kVolcano:
      terms.names = {{.time = "volcano.sh/predicate-time",
                      .assigned = "volcano.sh/gpu-assigned",
                      .card = "volcano.sh/gpu-index"}};
      terms.card_is = CardIs::kIndexes;
      break;
  }
  return terms;
}

// Volcano's scheduler never writes the annotation.
bool waits_unsaid(Dialect dialect) { return dialect == Dialect::kVolcano; }

std::map<std::string, std::string> card_env(const AssumeTerms& terms, const AssumedCard& card,
                                            std::uint64_t units, std::uint64_t pod_units, bool by_uuid) {
  std::map<std::string, std::string> env;
  if (terms.sets_visible) env[kVisible] = by_uuid || terms.card_is == CardIs::kUuid ? card.uuid : card.index;
  switch (terms.dialect) {
    case Dialect::kDoslab:
      env["DOSLAB_IO_GPU_UUID"] = card.uuid;
      env["DOSLAB_IO_GPU_RESOURCE_USED_BY_POD"] = std::to_string(pod_units);
      env["DOSLAB_IO_GPU_RESOURCE_USED_BY_CONTAINER"] = std::to_string(units);
      env["DOSLAB_IO_GPU_RESOURCE_TOTAL"] = std::to_string(card.total_units);
      break;
    case Dialect::kGpushare:
      env[kIndex] = card.index;
      env["ALIYUN_COM_GPU_MEM_POD"] = std::to_string(pod_units);
      env["ALIYUN_COM_GPU_MEM_CONTAINER"] = std::to_string(units);
      env["ALIYUN_COM_GPU_MEM_DEV"] = std::to_string(card.units);
      break;
    case Dialect::kVolcano:
      env["VOLCANO_GPU_ALLOCATED"] = std::to_string(units * terms.unit);
      env["VOLCANO_GPU_MEMORY_TOTAL"] = std::to_string(card.memory);
      break;
  }
  return env;
}

std::string card_in(const AssumeTerms& terms, const std::map<std::string, std::string>& env) {
  const auto index = env.find(kIndex);
  if (index != env.end() && index->second == kNoCard) return "";
  const bool by_uuid = terms.card_is == CardIs::kUuid;
  const char* name = kVisible;
  if (by_uuid && terms.dialect == Dialect::kDoslab) name = "DOSLAB_IO_GPU_UUID";
  if (!by_uuid && terms.dialect == Dialect::kGpushare) name = kIndex;
  // Without sets_visible, this variable configures how cards are mounted, and names no card.
  if (name == std::string_view(kVisible) && !terms.sets_visible) return "";
  const auto found = env.find(name);
  return found == env.end() ? "" : found->second;
}

std::map<std::string, std::string> no_card_env(const AssumeTerms& terms, std::uint64_t units,
                                               std::uint64_t card_units) {
  const std::string count = std::to_string(units);
  const std::string unit = terms.unit % 1024 == 0 ? "GiB" : "MiB";
  return {{kVisible, "no-gpu-has-" + count + unit + "-to-run"},
          {kIndex, kNoCard},
          {"ALIYUN_COM_GPU_MEM_POD", count},
          {"ALIYUN_COM_GPU_MEM_CONTAINER", count},
          {"ALIYUN_COM_GPU_MEM_DEV", std::to_string(card_units)}};
}

}  // namespace plughost
