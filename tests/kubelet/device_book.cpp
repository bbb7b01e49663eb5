#include "kubelet/device_book.hpp"

#include <algorithm>

namespace plughost {
namespace {

constexpr std::int64_t kNoNumaNode = -1;

}  // namespace

std::size_t DeviceBook::Resource::healthy() const {
  return static_cast<std::size_t>(std::ranges::count_if(*devices, &ListedDevice::healthy));
}

const ListedDevice* DeviceBook::Resource::find(const std::string& id) const {
  const auto found = std::ranges::lower_bound(*devices, id, {}, &ListedDevice::id);
  return found != devices->end() && found->id == id ? &*found : nullptr;
}

std::vector<std::string> DeviceBook::Holding::unique_ids() const {
  std::set<std::string> unique;
  for (const auto& [node, on_node] : ids) unique.insert(on_node.begin(), on_node.end());
  return {unique.begin(), unique.end()};
}

DeviceBook::DeviceBook(std::vector<Holding> holdings, const std::vector<std::string>& resources,
                       Clock::time_point now)
    : holdings_(std::move(holdings)) {
  for (const std::string& resource : resources) resources_[resource].stopped = now;
  forget_marks();
}

void DeviceBook::connect(const std::string& resource, const EndpointOptions& options) {
  Resource& connected = resources_[resource];
  connected.options = options;
  connected.stopped.reset();
}

void DeviceBook::disconnect(const std::string& resource, Clock::time_point now) {
  const auto found = resources_.find(resource);
  if (found == resources_.end()) return;
  auto devices = *found->second.devices;
  for (ListedDevice& device : devices) device.healthy = false;
  found->second.devices = std::make_shared<const std::vector<ListedDevice>>(std::move(devices));
  found->second.stopped = now;
}

void DeviceBook::replace_list(const std::string& resource, std::vector<ListedDevice> devices) {
  const auto found = resources_.find(resource);
  if (found == resources_.end()) return;
  found->second.devices = std::make_shared<const std::vector<ListedDevice>>(std::move(devices));
}

std::vector<std::string> DeviceBook::forget_stopped_before(Clock::time_point moment) {
  std::vector<std::string> forgotten;
  for (const auto& [name, resource] : resources_) {
    if (resource.stopped && *resource.stopped <= moment) forgotten.push_back(name);
  }
  for (const std::string& name : forgotten) resources_.erase(name);
  return forgotten;
}

std::optional<DeviceBook::Clock::time_point> DeviceBook::first_stop() const {
  std::optional<Clock::time_point> first;
  for (const auto& [name, resource] : resources_) {
    if (resource.stopped && (!first || *resource.stopped < *first)) first = resource.stopped;
  }
  return first;
}

DeviceBook::Choice DeviceBook::choose(const std::string& pod, const std::string& container,
                                      const std::string& resource, std::size_t count) const {
  const auto held = std::ranges::find_if(holdings_, [&](const Holding& holding) {
    return holding.pod == pod && holding.container == container && holding.resource == resource;
  });
  const std::vector<std::string> held_ids =
      held == holdings_.end() ? std::vector<std::string>{} : held->unique_ids();
  if (held != holdings_.end() && held_ids.size() != count) {
    return {"pod \"" + pod + "\" container \"" + container + "\" changed request for resource \"" + resource +
                "\" from " + std::to_string(held_ids.size()) + " to " + std::to_string(count),
            nullptr,
            {}};
  }
  const Resource* known = find(resource);
  if (!known) return {"cannot allocate unregistered device " + resource, nullptr, {}};
  if (known->healthy() == 0)
    return {"no healthy devices present; cannot allocate unhealthy devices " + resource, nullptr, {}};
  if (held != holdings_.end()) {
    const bool all_healthy = std::ranges::all_of(held_ids, [&](const std::string& id) {
      const ListedDevice* device = known->find(id);
      return device && device->healthy;
    });
    if (!all_healthy) {
      return {
          "previously allocated devices are no longer healthy; cannot allocate unhealthy devices " + resource,
          nullptr,
          {}};
    }
    return {"", &*held, {}};
  }
  const auto marked = allocated_.find(resource);
  Choice choice;
  for (const ListedDevice& device : *known->devices) {
    const bool in_use = marked != allocated_.end() && marked->second.contains(device.id);
    if (device.healthy && !in_use) choice.available.push_back(device.id);
  }
  if (choice.available.size() < count) {
    choice.error = "requested number of devices unavailable for " + resource +
                   ". Requested: " + std::to_string(count) +
                   ", Available: " + std::to_string(choice.available.size());
  }
  return choice;
}

void DeviceBook::mark_allocated(const std::string& resource, const std::vector<std::string>& ids) {
  allocated_[resource].insert(ids.begin(), ids.end());
}

void DeviceBook::forget_marks() {
  allocated_.clear();
  for (const Holding& holding : holdings_) mark_allocated(holding.resource, holding.unique_ids());
}

const DeviceBook::Holding& DeviceBook::hold(const std::string& pod, const std::string& container,
                                            const std::string& resource, const std::vector<std::string>& ids,
                                            std::string answer) {
  Holding holding{pod, container, resource, {}, std::move(answer)};
  const Resource* known = find(resource);
  for (const std::string& id : ids) {
    const ListedDevice* device = known ? known->find(id) : nullptr;
    if (!device || device->numa_nodes.empty()) holding.ids[kNoNumaNode].push_back(id);
    if (!device) continue;
    for (const std::int64_t node : device->numa_nodes) holding.ids[node].push_back(id);
  }
  return holdings_.emplace_back(std::move(holding));
}

bool DeviceBook::end(const std::string& pod) {
  bool found = false;
  for (Holding& holding : holdings_) {
    if (holding.pod != pod || holding.ended) continue;
    found = holding.ended = true;
  }
  return found;
}

std::set<std::string> DeviceBook::pods() const {
  std::set<std::string> pods;
  for (const Holding& holding : holdings_) pods.insert(holding.pod);
  return pods;
}

void DeviceBook::forget_ended() {
  if (std::erase_if(holdings_, [](const Holding& holding) { return holding.ended; }) > 0) forget_marks();
}

const DeviceBook::Resource* DeviceBook::find(const std::string& resource) const {
  const auto found = resources_.find(resource);
  return found == resources_.end() ? nullptr : &found->second;
}

}  // namespace plughost
