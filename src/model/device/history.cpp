#include "model/device/history.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "model/device/inventory.hpp"

namespace plughost {

Remembered::Clock::time_point Remembered::forget_at(Clock::time_point since,
                                                    std::chrono::seconds forget_after) {
  const auto left = std::chrono::duration_cast<std::chrono::seconds>(Clock::time_point::max() - since);
  return forget_after < left ? since + forget_after : Clock::time_point::max();
}

std::vector<Device> Remembered::merge(std::span<const Device> before, std::vector<Device> scanned,
                                      Clock::time_point now, std::chrono::seconds forget_after,
                                      const Stays& stays) {
  sort_by_id(scanned);

  std::vector<Device> gone;
  std::map<std::string, Clock::time_point> gone_since;
  next_ = Clock::time_point::max();
  std::size_t bytes = 0;
  for_each_pair(before, scanned, [&](const Device* old, const Device* here) {
    if (here || bytes > kListLimit) return;
    const auto known = gone_since_.find(old->id);
    const Clock::time_point since = known == gone_since_.end() ? now : known->second;
    const Clock::time_point due = forget_at(since, forget_after);
    if (due <= now && !(stays && stays(*old, due))) return;
    // Present devices come first: a list that exceeds a message would lose all of them.
    if (gone.empty()) {
      for (const Device& present : scanned) bytes += wire_size(present);
    }
    bytes += wire_size(*old);
    if (bytes > kListLimit) return;
    gone.push_back(*old);
    gone.back().gone = true;
    gone.back().error = "it is gone: unplugged, removed, or left out by its entry";
    gone_since.emplace(old->id, since);
    if (due > now) next_ = std::min(next_, due);
  });
  gone_since_ = std::move(gone_since);
  if (gone.empty()) return scanned;

  const auto present = static_cast<std::ptrdiff_t>(scanned.size());
  std::ranges::move(gone, std::back_inserter(scanned));
  std::ranges::inplace_merge(scanned, scanned.begin() + present, {}, &Device::id);
  return scanned;
}

void Damping::record(const std::string& id, bool was_healthy, bool is_healthy, Clock::time_point now,
                     const Held& held) {
  const auto known = tracks_.find(id);
  if ((known == tracks_.end() ? was_healthy : known->second.healthy) == is_healthy) return;
  if (held && held(id)) {
    if (known != tracks_.end()) known->second.healthy = is_healthy;
    return;
  }
  Track& track = tracks_[id];
  track.healthy = is_healthy;
  std::rotate(track.changes.begin(), track.changes.begin() + 1, track.changes.end());
  track.changes.back() = now;
  const Clock::time_point oldest = track.changes.front();
  if (oldest != kNever && now - oldest < kWindow) track.flaps = true;
}

void Damping::apply(std::span<const Device> before, std::vector<Device>& devices, Clock::time_point now,
                    const Held& held) {
  for (auto& [id, track] : tracks_) {
    if (track.over(now)) track = {.healthy = track.healthy};  // later changes are counted afresh
  }

  for_each_pair(before, devices, [&](const Device* old, const Device* device) {
    const bool healthy = device && device->healthy();
    // A device that was never seen before has not changed.
    record((device ? device : old)->id, old ? old->healthy() : healthy, healthy, now, held);
  });
  std::erase_if(tracks_, [](const auto& item) { return item.second.calm(); });

  next_ = Clock::time_point::max();
  for (const auto& [id, track] : tracks_) {
    if (!track.flaps) continue;
    next_ = std::min(next_, track.changes.back() + kCalm);
    const auto device = std::ranges::lower_bound(devices, id, {}, &Device::id);
    if (device == devices.end() || device->id != id || !device->healthy()) continue;
    device->error = "flapping: it changed more than " + std::to_string(kMostChanges) +
                    " times in a minute; Healthy again after " + std::to_string(kCalm.count()) +
                    " s without a change";
  }
}

std::map<std::string, Damping::Clock::time_point> Damping::flapping() const {
  std::map<std::string, Clock::time_point> changed;
  for (const auto& [id, track] : tracks_)
    if (track.flaps) changed.emplace(id, track.changes.back());
  return changed;
}

void Damping::inherit(const std::string& id, Clock::time_point changed) {
  Track& track = tracks_[id];
  track = {.healthy = true, .flaps = true};
  track.changes.back() = changed;
}

void HealthTimes::record(std::span<const Device> before, std::span<const Device> after,
                         Clock::time_point now) {
  if (first_ == Clock::time_point{}) {
    first_ = now;
    return;
  }
  for_each_pair(before, after, [&](const Device* old, const Device* device) {
    if (!device)
      changed_.erase(old->id);
    else if (!old || old->healthy() != device->healthy())
      changed_[device->id] = now;
  });
}

HealthTimes::Clock::time_point HealthTimes::since(std::string_view id) const {
  const auto found = changed_.find(id);
  return found == changed_.end() ? first_ : found->second;
}

void BadSpells::record(std::span<const Device> devices, Clock::time_point now) {
  auto former = std::exchange(spells_, {});
  for (const Device& device : devices) {
    if (device.error.empty() || device.drained()) continue;
    if (auto spell = former.extract(device.id))
      spells_.insert(std::move(spell));
    else
      spells_.emplace(device.id, Spell{.since = now});
  }
}

std::vector<std::string> BadSpells::take_due(Clock::time_point now, const Patience& after) {
  std::vector<std::string> due;
  for (auto& [id, spell] : spells_) {
    const auto patience = spell.told ? std::nullopt : after(id);
    if (!patience || now < spell.since + *patience) continue;
    spell.told = true;
    due.push_back(id);
  }
  return due;
}

BadSpells::Clock::time_point BadSpells::next_due(const Patience& after) const {
  Clock::time_point next = kNever;
  for (const auto& [id, spell] : spells_) {
    if (const auto patience = spell.told ? std::nullopt : after(id))
      next = std::min(next, spell.since + *patience);
  }
  return next;
}

std::optional<BadSpells::Clock::time_point> BadSpells::since(std::string_view id) const {
  const auto spell = spells_.find(id);
  return spell == spells_.end() ? std::nullopt : std::optional(spell->second.since);
}

}  // namespace plughost
