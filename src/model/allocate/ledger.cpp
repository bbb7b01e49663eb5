#include "model/allocate/ledger.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace plughost {
namespace {

bool is_group(std::string_view unit) { return unit.starts_with(kIommuGroup); }

std::string words(const Ledger::Name& name, const std::string& told, std::string_view unit) {
  const std::string who = told.empty() ? "a container that has just got it" : told;
  const std::string as = name.resource + ' ' + name.id;
  if (!is_group(unit)) return "held by " + who + " as " + as;
  return "its IOMMU group " + std::string(unit.substr(kIommuGroup.size())) + " is held by " + who + " with " +
         as + ": one container can use it at a time";
}

}  // namespace

void Ledger::list(const std::string& resource, std::span<const Device> devices, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  std::map<Name, std::vector<std::string>> former;
  for (auto each = units_.lower_bound({resource, {}});
       each != units_.end() && each->first.resource == resource;) {
    for (const std::string& unit : each->second) {
      const auto its = by_unit_.find(unit);
      its->second.erase(each->first);
      if (its->second.empty()) by_unit_.erase(its);
    }
    former.insert(former.end(), units_.extract(each++));
  }
  bool concerned = !former.empty();
  for (const Device& device : devices) {
    if (device.hardware->units.empty()) continue;
    concerned = true;
    const Name name{resource, device.id};
    units_[name] = device.hardware->units;
    for (const std::string& unit : device.hardware->units) by_unit_[unit].insert(name);
    const auto held = held_.find(name);
    if (held == held_.end()) continue;
    // If a link now leads to other hardware, the container still has the former hardware.
    std::vector<std::string>& kept = held->second.kept;
    const auto before = former.find(name);
    if (before == former.end())
      kept.clear();
    else
      std::ranges::copy(before->second, std::back_inserter(kept));
    const std::vector<std::string>& units = device.hardware->units;
    std::erase_if(kept,
                  [&](const std::string& unit) { return std::ranges::find(units, unit) != units.end(); });
  }
  if (concerned) recompute(now);
}

void Ledger::keep(const std::string& resource) {
  const std::lock_guard lock(mutex_);
  for (auto held = held_.lower_bound({resource, {}}); held != held_.end() && held->first.resource == resource;
       ++held) {
    if (const auto listed = units_.find(held->first); listed != units_.end())
      held->second.kept = listed->second;
  }
}

std::string Ledger::give(const std::string& resource, std::span<const std::string> ids,
                         Clock::time_point now) {
  {
    const std::lock_guard lock(mutex_);
    if (givers_.contains(resource) || now > last_ + kSameContainer) {
      givers_.clear();
      ++container_;
      recompute(now);
    }
    // The kubelet allocates only what is free: the former holder has ended, but this has not been reported
    // yet.
    std::vector<std::map<Name, Given>::node_type> former;
    for (const std::string& id : ids) {
      const Name name{resource, id};
      if (!units_.contains(name)) continue;  // a shared device, which other containers may hold as well
      if (auto held = held_.extract(name)) former.push_back(std::move(held));
    }
    if (!former.empty()) recompute(now);
    for (const std::string& id : ids) {
      const auto blocked = blocked_.find({resource, id});
      if (blocked == blocked_.end()) continue;
      std::string why = id + ": " + blocked->second;
      for (auto& held : former) held_.insert(std::move(held));
      recompute(now);
      return why;
    }
    givers_.insert(resource);
    last_ = now;
    for (const std::string& id : ids) {
      Given& hold = held_[{resource, id}];
      hold.who.clear();
      hold.container = container_;
      hold.when = now;
    }
    recompute(now);
  }
  if (given_) given_();
  return {};
}

void Ledger::update_holds(const Holds& holds, Clock::time_point asked, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  std::map<Name, Given> held;
  for (const auto& [name, who] : holds) {
    const auto former = held_.find(name);
    Given& known = held[name];
    if (former != held_.end()) known = former->second;
    known.who = who;
  }
  for (auto& [name, given] : held_)
    if (given.when + kUntold > asked) held.try_emplace(name, std::move(given));
  held_ = std::move(held);
  recompute(now);
}

void Ledger::lead(const std::string& resource, const std::map<std::string, std::vector<std::string>>& units,
                  Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  bool concerned = false;
  for (auto held = held_.lower_bound({resource, {}}); held != held_.end() && held->first.resource == resource;
       ++held) {
    const auto found = units.find(held->first.id);
    auto leads_to = found == units.end() ? std::vector<std::string>() : found->second;
    if (std::exchange(held->second.units, leads_to) != leads_to) concerned = true;
  }
  if (concerned) recompute(now);
}

void Ledger::refresh(Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  recompute(now);
}

template <typename Visit>
void Ledger::for_each_related(const std::string& unit, Visit visit) const {
  for (std::size_t end = unit.size(); end != 0 && end != unit.npos; end = unit.rfind('/', end - 1))
    if (const auto its = by_unit_.find(unit.substr(0, end)); its != by_unit_.end()) visit(its->second);
  const std::string below = unit + '/';
  for (auto its = by_unit_.lower_bound(below); its != by_unit_.end() && its->first.starts_with(below); ++its)
    visit(its->second);
}

bool Ledger::undecided(const std::string& resource, std::span<const std::string> ids) const {
  if (complete_) return false;
  const std::lock_guard lock(mutex_);
  bool others = false;
  for (const std::string& id : ids) {
    if (const auto listed = units_.find({resource, id}); listed != units_.end())
      for (const std::string& unit : listed->second)
        for_each_related(unit, [&](const std::set<Name>& names) {
          for (const Name& name : names) others = others || name.resource != resource;
        });
  }
  return others;
}

void Ledger::recompute(Clock::time_point now) {
  const auto former = std::exchange(blocked_, {});
  contested_ = false;
  for (const auto& [name, hold] : held_) {
    for (const auto* units : {&hold.units, &hold.kept})
      for (const std::string& unit : *units) block(name, hold, unit, now);
    if (const auto listed = units_.find(name); listed != units_.end())
      for (const std::string& unit : listed->second) block(name, hold, unit, now);
  }
  if (blocked_ != former) ++version_;
}

void Ledger::block(const Name& holder, const Given& hold, const std::string& unit, Clock::time_point now) {
  const bool being_admitted = hold.container == container_ && container_ > 0 && now <= last_ + kSameContainer;
  const auto block_all = [&](const std::set<Name>& names) {
    for (const Name& name : names) {
      if (const auto other = held_.find(name); other != held_.end()) {
        contested_ = contested_ || (name != holder && (hold.who.empty() || other->second.who != hold.who));
        continue;
      }
      // The same container may request the rest of a group in a moment, through other resources.
      if (is_group(unit) && being_admitted && !givers_.contains(name.resource)) continue;
      blocked_.try_emplace(name, words(holder, hold.who, unit));
    }
  };
  for_each_related(unit, block_all);
}

std::vector<Ledger::Hold> Ledger::holds(Clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  std::vector<Hold> holds;
  for (const auto& [name, given] : held_) {
    Hold& hold = holds.emplace_back(Hold{.name = name, .who = given.who});
    if (given.when + kUntold > now)
      hold.age = std::chrono::duration_cast<std::chrono::milliseconds>(now - given.when);
  }
  return holds;
}

void Ledger::inherit(std::span<const Hold> holds, Clock::time_point now) {
  {
    const std::lock_guard lock(mutex_);
    for (const Hold& hold : holds) {
      Given& given = held_[hold.name];
      if (given.who.empty()) given.who = hold.who;
      if (hold.age < kUntold) given.when = std::max(given.when, now - hold.age);
    }
    recompute(now);
    complete_ = true;
  }
  if (given_) given_();
}

std::uint64_t Ledger::version() const {
  const std::lock_guard lock(mutex_);
  return version_;
}

bool Ledger::held(const Name& name) const {
  const std::lock_guard lock(mutex_);
  return held_.contains(name);
}

bool Ledger::open() const {
  const std::lock_guard lock(mutex_);
  return !blocked_.empty() || contested_ ||
         std::ranges::any_of(held_, [](const auto& item) { return item.second.who.empty(); });
}

bool Ledger::touches(const std::string& resource) const {
  const std::lock_guard lock(mutex_);
  const auto first = blocked_.lower_bound({resource, {}});
  return first != blocked_.end() && first->first.resource == resource;
}

void Ledger::apply(const std::string& resource, std::vector<Device>& devices) const {
  const std::lock_guard lock(mutex_);
  for (auto each = blocked_.lower_bound({resource, {}});
       each != blocked_.end() && each->first.resource == resource; ++each) {
    const auto device = std::ranges::lower_bound(devices, each->first.id, {}, &Device::id);
    if (device == devices.end() || device->id != each->first.id) continue;
    // The device may have the holder as a reason already, if it had a different id when it was allocated.
    if (std::ranges::find(device->reasons, Reason::Who::kHolder, &Reason::who) == device->reasons.end())
      device->reasons.push_back(Reason::holder(each->second, {0}));
  }
}

}  // namespace plughost
