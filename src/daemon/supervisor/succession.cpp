#include "daemon/supervisor/succession.hpp"

#include <algorithm>

namespace plughost {

std::string Succession::objection() const {
  if (drains_.saved()) return {};
  return "the drained devices are not saved yet, and a new plughost would not know them: see the log";
}

Inheritance Succession::inheritance() const {
  Inheritance told;
  controllers_.for_each([&](const auto&, const auto& controller) { controller.add_to(told); });
  told.holds = held_.ledger()->holds(Ledger::Clock::now());
  return told;
}

bool Succession::owes_answer() const {
  bool owes = false;
  controllers_.for_each_resource(
      [&](const Resource& resource, const ResourceController&) { owes = owes || resource.owes_answer(); });
  return owes;
}

void Succession::stand_back(bool stands_back) {
  link_.stand_back(stands_back);
  controllers_.for_each([](const auto&, auto& controller) { controller.on_kubelet(); });
}

void Succession::leave() {
  controllers_.end_all();
  link_.directory().release();
}

void Succession::register_again() {
  link_.directory().remove_dead();
  stand_back(false);
  controllers_.for_each_resource(
      [](Resource& resource, const ResourceController&) { resource.register_again(); });
}

std::string Succession::missing(const Inheritance& from, std::span<const NotHere> others,
                                bool attached) const {
  for (const auto& item : from.resources) {
    const std::string& name = item.first;
    const std::string& entry = item.second;
    const auto is_open = [&](const NotHere& other) { return other.unknown && other.name == entry; };
    if (std::ranges::any_of(others, is_open)) return name + " waits for its `when`";
    const ResourceController* const controller = controllers_.find(entry);
    if (!controller) continue;  // this configuration has no such entry
    const Resource* served = nullptr;
    controller->publisher().for_each_resource([&](const Resource& resource) {
      if (resource.name() == name) served = &resource;
    });
    if (!served && !controller->settled()) return name + " has no list yet";
    if (served && attached && served->stage() != Stage::kAttached) return name + " is not attached yet";
  }
  return {};
}

void Succession::take_over(const Inheritance& last) {
  link_.directory().own();
  held_.ledger()->inherit(last.holds, Ledger::Clock::now());
  controllers_.for_each_resource(
      [](Resource& resource, const ResourceController&) { resource.on_taken_over(); });
  stand_back(false);
}

}  // namespace plughost
