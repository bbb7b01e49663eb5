#include "model/device/inventory.hpp"

#include <algorithm>
#include <numeric>

#include "base/text/text.hpp"

namespace plughost {
namespace {

std::size_t varint_size(std::uint64_t value) {
  std::size_t bytes = 1;
  for (; value >= 0x80; value >>= 7) ++bytes;
  return bytes;
}

// Returns the size of a length-delimited protobuf field whose number is below 16.
std::size_t field_size(std::size_t payload) { return 1 + varint_size(payload) + payload; }

using Kind = DeviceChange::Kind;

// A device that is not listed is nullptr.
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

void sort_by_id(std::vector<Device>& devices) {
  if (std::ranges::is_sorted(devices, {}, &Device::id)) return;
  // Devices are large, so each device is moved only once.
  std::vector<std::size_t> order(devices.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) -> const std::string& { return devices[i].id; });
  std::vector<Device> sorted;
  sorted.reserve(devices.size());
  for (const std::size_t i : order) sorted.push_back(std::move(devices[i]));
  devices = std::move(sorted);
}

Inventory::Inventory(std::vector<Device> devices) {
  if (devices.empty()) return;
  sort_by_id(devices);
  const auto same_id = [](const Device& a, const Device& b) { return a.id == b.id; };
  devices.erase(std::unique(devices.begin(), devices.end(), same_id), devices.end());
  devices_ = std::make_shared<const std::vector<Device>>(std::move(devices));
}

std::size_t Inventory::id_count() const {
  std::size_t count = 0;
  for (const Device& device : devices()) count += device.replicas;
  return count;
}

const Device* device_of_id(std::span<const Device> devices, std::string_view id) {
  const auto found = std::ranges::lower_bound(devices, id, {}, &Device::id);
  return found != devices.end() && found->id == id ? &*found : nullptr;
}

const Device* find_device(std::span<const Device> devices, std::string_view id) {
  if (const Device* device = device_of_id(devices, id); device && device->replicas == 1) return device;
  const auto replica = parse_replica_id(id);
  if (!replica) return nullptr;
  const Device* device = device_of_id(devices, replica->id);
  return device && device->replicas > 1 && replica->n < device->replicas ? device : nullptr;
}

unsigned share_of(const Device& device, std::string_view id) {
  const auto replica = device.replicas > 1 ? parse_replica_id(id) : std::nullopt;
  return replica ? replica->n : 0;
}

bool Inventory::lists_same_as(const Inventory& other) const {
  return devices_ == other.devices_ ||
         std::ranges::equal(devices(), other.devices(), [](const Device& a, const Device& b) {
           if (a.id != b.id || a.replicas != b.replicas || a.numa_nodes != b.numa_nodes) return false;
           const bool whole = a.reasons.empty() && b.reasons.empty();
           if (whole || !a.in_service() || !b.in_service()) return a.healthy() == b.healthy();
           for (unsigned n = 0; n < a.replicas; ++n)
             if (a.healthy_share(n) != b.healthy_share(n)) return false;
           return true;
         });
}

bool Inventory::operator==(const Inventory& other) const {
  return devices_ == other.devices_ || std::ranges::equal(devices(), other.devices());
}

std::string replica_id(const Device& device, unsigned n) {
  return device.replicas == 1 ? device.id : device.id + "::" + std::to_string(n);
}

std::optional<ReplicaName> parse_replica_id(std::string_view text) {
  const std::size_t colons = text.rfind("::");
  if (colons == std::string_view::npos) return std::nullopt;
  const std::string_view digits = text.substr(colons + 2);
  if (digits.starts_with('0') && digits != "0") return std::nullopt;
  const auto n = number_in<unsigned>(digits);
  return n ? std::optional(ReplicaName{.id = text.substr(0, colons), .n = *n}) : std::nullopt;
}

std::string_view device_behind(std::string_view id) {
  const auto share = parse_replica_id(id);
  return share ? share->id : id;
}

std::size_t wire_size(const Device& device) {
  std::size_t nodes = 0;
  for (const int node : device.numa_nodes) {
    nodes += field_size(1 + varint_size(static_cast<std::uint64_t>(node)));
  }
  // Uses the longest id, and the longer word for the health, which may change.
  const std::size_t id =
      device.id.size() + (device.replicas > 1 ? 2 + std::to_string(device.replicas - 1).size() : 0);
  const std::size_t topology = device.numa_nodes.empty() ? 0 : field_size(nodes);
  return device.replicas *
         field_size(field_size(id) + field_size(std::string_view("Unhealthy").size()) + topology);
}

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
