#include "model/device/device_changes.hpp"

#include "model/device/inventory.hpp"

namespace plughost {
namespace {

using Kind = DeviceChange::Kind;

// nullptr: it is not listed.
void compare(const Device* before, const Device* after, std::vector<DeviceChange>& changes) {
  const auto is_there = [](const Device* device) { return device && !device->gone; };
  const bool was_there = is_there(before);
  const bool was_well = was_there && before->healthy();
  const std::string& id = (after ? after : before)->id;
  const auto tell = [&](Kind kind) {
    changes.push_back({.kind = kind, .id = id, .why = after ? after->reason() : ""});
  };
  if (is_there(after)) {
    if (!was_there) tell(Kind::kAppeared);
    if (!after->healthy() && (!was_there || was_well)) tell(Kind::kUnhealthy);
    if (after->healthy() && was_there && !was_well) tell(Kind::kHealthy);
    return;
  }
  if (was_there) tell(Kind::kGone);
  if (!after) tell(Kind::kForgotten);
}

}  // namespace

std::vector<DeviceChange> device_changes(std::span<const Device> before, std::span<const Device> after) {
  std::vector<DeviceChange> changes;
  for_each_pair(before, after, [&](const Device* old, const Device* now) { compare(old, now, changes); });
  return changes;
}

std::vector<DeviceChange> device_changes_of_first(std::span<const Device> list) {
  std::vector<DeviceChange> changes = device_changes({}, list);
  std::erase_if(changes, [](const DeviceChange& change) { return change.kind == Kind::kAppeared; });
  return changes;
}

ChangedGroup group_of(std::span<const DeviceChange> changes, DeviceChange::Kind kind) {
  FirstNames names;
  std::string why;
  bool differ = false;
  for (const DeviceChange& change : changes) {
    if (change.kind != kind) continue;
    if (names.count() == 0) why = change.why;
    differ = differ || change.why != why;
    names.add(change.id);
  }
  if (differ) why += ", and others";
  return {.count = names.count(), .names = names.text(), .why = std::move(why)};
}

}  // namespace plughost
