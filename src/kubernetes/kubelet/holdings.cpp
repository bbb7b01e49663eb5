#include "kubernetes/kubelet/holdings.hpp"

#include <algorithm>
#include <iterator>

#include "model/device/names.hpp"

namespace plughost {
namespace {

std::vector<HoldersOfIds::Held> held_of(std::initializer_list<std::pair<std::string, Holder>> from) {
  std::vector<HoldersOfIds::Held> held;
  for (const auto& [id, holder] : from)
    held.push_back({.id = id, .holder = std::make_shared<const Holder>(holder)});
  return held;
}

bool of_one_pod(const HoldersOfIds::Held& one, const HoldersOfIds::Held& other) {
  return one.id == other.id && one.holder->pod_namespace == other.holder->pod_namespace &&
         one.holder->pod == other.holder->pod;
}

}  // namespace

struct HoldersOfIds::Content {
  std::string texts;
  std::vector<Held> held;  // the ids refer to texts
};

HoldersOfIds::HoldersOfIds(std::vector<Held> held) {
  if (held.empty()) return;
  std::ranges::stable_sort(held, {}, &Held::id);
  std::size_t bytes = 0;
  for (const Held& each : held) bytes += each.id.size();
  const auto content = std::make_shared<Content>();
  std::vector<Held>& sorted = content->held;
  sorted.reserve(held.size());
  content->texts.reserve(bytes);
  for (Held& each : held) {
    auto same = sorted.end();
    while (same != sorted.begin() && std::prev(same)->id == each.id && !of_one_pod(*std::prev(same), each))
      --same;
    if (same != sorted.begin() && of_one_pod(*std::prev(same), each))
      std::prev(same)->holder = std::move(each.holder);
    else
      sorted.push_back({.id = append_copy(content->texts, each.id), .holder = std::move(each.holder)});
  }
  content_ = content;
}

std::span<const HoldersOfIds::Held> HoldersOfIds::all() const {
  return content_ ? std::span<const Held>(content_->held) : std::span<const Held>();
}

bool HoldersOfIds::operator==(const HoldersOfIds& other) const {
  return content_ == other.content_ || std::ranges::equal(all(), other.all());
}

HoldersOfIds::HoldersOfIds(std::initializer_list<std::pair<std::string, Holder>> held)
    : HoldersOfIds(held_of(held)) {}

std::span<const HoldersOfIds::Held> HoldersOfIds::of(std::string_view id) const {
  const auto first = std::ranges::lower_bound(all(), id, {}, &Held::id);
  return {first, std::ranges::upper_bound(first, end(), id, {}, &Held::id)};
}

std::span<const HoldersOfIds::Held> HoldersOfIds::beginning_with(std::string_view beginning) const {
  const auto cut = [&](const Held& held) { return held.id.substr(0, beginning.size()); };
  const auto first = std::ranges::lower_bound(all(), beginning, {}, cut);
  return {first, std::ranges::upper_bound(first, end(), beginning, {}, cut)};
}

std::vector<const HoldersOfIds::Held*> held_ids(const Holdings& holdings, std::string_view resource,
                                                const Device& device) {
  std::vector<const HoldersOfIds::Held*> ids;
  const auto found = holdings.find(resource);
  if (found == holdings.end()) return ids;
  const bool whole = device.replicas == 1;
  for (const auto& held :
       whole ? found->second.of(device.id) : found->second.beginning_with(device.id + "::")) {
    const auto replica = parse_replica_id(held.id);
    if (whole || (replica && replica->id == device.id && replica->n < device.replicas)) ids.push_back(&held);
  }
  return ids;
}

Holdings HoldingsBuilder::build() && {
  Holdings holdings;
  for (auto& [resource, held] : held_) holdings.emplace(resource, HoldersOfIds(std::move(held)));
  return holdings;
}

}  // namespace plughost
