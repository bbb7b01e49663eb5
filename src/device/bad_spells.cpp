#include "device/bad_spells.hpp"

#include <algorithm>
#include <utility>

namespace plughost {

void BadSpells::note(std::span<const Device> devices, Clock::time_point now) {
  auto former = std::exchange(spells_, {});
  for (const Device& device : devices) {
    if (device.trouble.empty() || device.drained) continue;
    if (auto spell = former.extract(device.id))
      spells_.insert(std::move(spell));
    else
      spells_.emplace(device.id, Spell{.since = now});
  }
}

std::vector<std::string> BadSpells::take_due(Clock::time_point now, Clock::duration after) {
  std::vector<std::string> due;
  for (auto& [id, spell] : spells_) {
    if (spell.told || now < spell.since + after) continue;
    spell.told = true;
    due.push_back(id);
  }
  return due;
}

BadSpells::Clock::time_point BadSpells::next_due(Clock::duration after) const {
  Clock::time_point next = kNever;
  for (const auto& [id, spell] : spells_) {
    if (!spell.told) next = std::min(next, spell.since + after);
  }
  return next;
}

std::optional<BadSpells::Clock::time_point> BadSpells::since(std::string_view id) const {
  const auto spell = spells_.find(id);
  return spell == spells_.end() ? std::nullopt : std::optional(spell->second.since);
}

}  // namespace plughost
