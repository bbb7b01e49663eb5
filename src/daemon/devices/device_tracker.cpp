#include "daemon/devices/device_tracker.hpp"

#include <algorithm>

#include "model/device/assembly.hpp"

namespace plughost {
namespace {

using namespace std::chrono_literals;

// Returns the ids of the list's Unhealthy devices that a pod holds, or may hold.
std::set<std::string> held_devices(const Inventory& listed, const std::string& resource,
                                   const PodResources::Answer& answer) {
  std::set<std::string> held;
  for (const Device& device : listed.devices()) {
    if (!device.healthy() && (!answer.complete || !held_ids(*answer.holdings, resource, device).empty()))
      held.insert(device.id);
  }
  return held;
}

// Returns `former` if the contents are equal, and `list` otherwise.
Inventory newer(const Inventory& former, Inventory list) {
  if (list == former) return former;
  return list;
}

}  // namespace

std::vector<DeviceTracker::Listing> DeviceTracker::update(std::map<std::string, Seen> seen,
                                                          Clock::time_point now, const Terms& terms) {
  for (const auto& [resource, row] : rows_) seen.try_emplace(resource);
  complete_ = true;
  crowded_ = false;
  next_change_ = kNever;
  question_.reset();
  std::vector<Listing> listings;
  for (auto& [resource, there] : seen) {
    next_change_ = std::min(next_change_, there.waits_until);
    if (there.waits_until != kNever && !rows_.contains(resource)) {
      complete_ = false;
      continue;
    }
    if (rows_.size() >= kMostResources && !rows_.contains(resource)) {
      crowded_ = true;
      continue;
    }
    Row& row = rows_[resource];
    if (const auto inherited = inherited_.extract(resource)) {
      for (const auto& [id, changed] : inherited.mapped()) row.damping.inherit(id, changed);
    }
    row.bare = newer(row.bare, Inventory(settle(resource, row, std::move(there.devices), now, terms)));
    listings.push_back(list(resource, row));
  }
  return listings;
}

std::vector<DeviceTracker::Listing> DeviceTracker::reapply_overlays() {
  std::vector<Listing> listings;
  for (auto& [resource, row] : rows_) {
    Listing listing = list(resource, row);
    if (listing.now != listing.before) listings.push_back(std::move(listing));
  }
  return listings;
}

DeviceTracker::Listing DeviceTracker::list(const std::string& resource, Row& row) const {
  Inventory list = row.bare;
  if (std::ranges::any_of(overlays_, [&](const Overlay* overlay) { return overlay->touches(resource); })) {
    std::vector<Device> devices(list.devices().begin(), list.devices().end());
    for (const Overlay* overlay : overlays_) overlay->apply(resource, devices);
    list = newer(row.bare, Inventory(std::move(devices)));
  }
  Inventory before = row.listed;
  row.listed = newer(before, std::move(list));
  return {resource, std::move(before), row.listed};
}

std::vector<Device> DeviceTracker::settle(const std::string& resource, Row& row, std::vector<Device> devices,
                                          Clock::time_point now, const Terms& terms) {
  const auto before = row.bare.devices();
  // A device that is away stays Healthy while a pod holds it: it may be in the pod's network namespace.
  for (Device& device : devices)
    if (device.away && terms.held && terms.held(resource, device.id)) device.error.clear();
  const bool at_once = terms.named_after_devices && devices.empty() && !row.ever_held;
  const std::chrono::seconds forget_after = at_once ? 0s : terms.forget_after;
  const std::chrono::seconds later = at_once ? terms.forget_after : 0s;
  const auto stays = [&](const Device& device, Clock::time_point due) {
    const Verdict verdict = verdict_on(row, device, due, later, now);
    next_change_ = std::min(next_change_, verdict.recheck_at);
    if (verdict.ask_since) question_ = std::max(question_.value_or(*verdict.ask_since), *verdict.ask_since);
    return verdict.stays;
  };
  devices = row.remembered.merge(before, std::move(devices), now, forget_after, stays);
  // A shared device has several holders, and must not be allocated to more pods while it flaps.
  row.damping.apply(before, devices, now, [&](const std::string& id) {
    const Device* const device = device_of_id(devices, id);
    return (!device || device->replicas == 1) && terms.held && terms.held(resource, id);
  });
  next_change_ = std::min({next_change_, row.remembered.next_forgetting(), row.damping.next_release()});
  return devices;
}

DeviceTracker::Verdict DeviceTracker::verdict_on(const Row& row, const Device& device, Clock::time_point due,
                                                 std::chrono::seconds later, Clock::time_point now) const {
  if (asked_ >= due && !told_ && later > 0s) {
    due = Remembered::forget_at(due, later);
    if (now < due) return {.recheck_at = due};
  }
  if (asked_ < due || now >= ask_again_)
    return {.ask_since = ask_again_ <= now ? std::max(due, ask_again_) : due};
  if (!row.held.contains(device.id)) return {.stays = false};
  return {.recheck_at = ask_again_};
}

void DeviceTracker::record_held(const std::string& resource) {
  if (const auto row = rows_.find(resource); row != rows_.end()) row->second.ever_held = true;
}

void DeviceTracker::drop(const std::string& resource) { rows_.erase(resource); }

DeviceTracker::Flapping DeviceTracker::flapping() const {
  Flapping flapping;
  for (const auto& [resource, row] : rows_)
    if (auto ids = row.damping.flapping(); !ids.empty()) flapping.emplace(resource, std::move(ids));
  return flapping;
}

const Inventory& DeviceTracker::listed(const std::string& resource) const {
  static const Inventory kNothing;
  const auto row = rows_.find(resource);
  return row == rows_.end() ? kNothing : row->second.listed;
}

std::map<std::string, Inventory> DeviceTracker::lists() const {
  std::map<std::string, Inventory> lists;
  for (const auto& [resource, row] : rows_) lists.emplace(resource, row.listed);
  return lists;
}

void DeviceTracker::record_holders(const PodResources::Answer& answer, Clock::time_point now) {
  asking_ = false;
  question_.reset();
  asked_ = answer.asked;
  told_ = answer.holdings != nullptr;
  bool some_held = false;
  for (auto& [resource, row] : rows_) {
    if (told_) row.held = held_devices(row.bare, resource, answer);
    if (told_ && answer.holdings->contains(resource)) row.ever_held = true;
    some_held = some_held || !row.held.empty();
  }
  if (!some_held) pause_.reset();
  // Queries again soon: the answer is complete once the kubelet has settled.
  if (told_ && !answer.complete) pause_.reset();
  ask_again_ = some_held ? now + pause_.next() : kNever;
}

}  // namespace plughost
