#include "supervisor/health_checks.hpp"

#include <algorithm>

#include "supervisor/device_program.hpp"

namespace plughost {

namespace {

constexpr std::string_view kWhat = "the health check";
// A check that takes all its time has its verdict a moment later.
constexpr std::chrono::milliseconds kVerdictSlack{200};

bool listed_as_healthy(std::span<const Device> listed, const std::string& id) {
  const auto found = std::ranges::lower_bound(listed, id, {}, &Device::id);
  return found != listed.end() && found->id == id && found->healthy();
}

}  // namespace

HealthChecks::HealthChecks(EventLoop& loop, std::function<void()> on_verdict)
    : loop_(loop), on_verdict_(std::move(on_verdict)), next_(loop, [this] { run_due(); }) {}

void HealthChecks::follow(const Recipe& recipe, const std::map<std::string, std::vector<Device>>& resources) {
  if (recipe.health) recipe_ = *recipe.health;
  static const std::vector<Device> kNone;
  for (auto item = resources_.begin(); item != resources_.end();) {
    const bool followed = recipe.health && resources.contains(item->first);
    if (!followed) follow(item->first, kNone);
    item = followed ? std::next(item) : resources_.erase(item);
  }
  if (!recipe.health) return;
  for (const auto& [resource, devices] : resources) follow(resource, devices);
  next_.arm(Clock::duration::zero());
}

void HealthChecks::follow(const std::string& resource, const std::vector<Device>& devices) {
  Checks& known = resources_[resource];
  Checks followed;
  const auto now = Clock::now();
  for (const Device& device : devices) {
    CommandLine command = command_line(recipe_.command, resource, device);
    Checks::node_type node = known.extract(device.id);
    const bool is_new = node.empty();
    Check& check = is_new ? followed[device.id] : followed.insert(std::move(node)).position->second;
    if (is_new) check.wait_until = now + recipe_.timeout + kVerdictSlack;
    if (!is_new && check.command == command.words) continue;
    drop(check);
    check.command = std::move(command.words);
    if (!command.missing.empty()) {
      check.verdict = "its health cannot be checked: it has no {" + command.missing + "}";
      continue;
    }
    check.due = now;
    queue_.emplace(check.due, &check);
  }
  for (auto& [id, check] : known) drop(check);
  known = std::move(followed);
}

// Its program is killed if it runs.
void HealthChecks::drop(Check& check) {
  queue_.erase({check.due, &check});
  if (check.program && !check.overdue) --running_;
  check.program.reset();
  check.overdue = false;
}

void HealthChecks::apply(const std::string& resource, std::span<const Device> listed,
                         std::vector<Device>& devices) const {
  const auto checks = resources_.find(resource);
  if (checks == resources_.end()) return;
  const auto now = Clock::now();
  const auto check_of = [&](const Device& device) -> const Check* {
    const auto found = checks->second.find(device.id);
    return found == checks->second.end() || !device.healthy() ? nullptr : &found->second;
  };
  std::erase_if(devices, [&](const Device& device) {
    const Check* check = check_of(device);
    return check && !check->verdict && now < check->wait_until && !listed_as_healthy(listed, device.id);
  });
  for (Device& device : devices) {
    const Check* check = check_of(device);
    if (check && check->verdict) device.trouble = *check->verdict;
  }
}

HealthChecks::Clock::time_point HealthChecks::waits_until(const std::string& resource) const {
  auto first = Clock::time_point::max();
  const auto checks = resources_.find(resource);
  if (checks == resources_.end()) return first;
  const auto now = Clock::now();
  for (const auto& [id, check] : checks->second) {
    if (!check.verdict && now < check.wait_until) first = std::min(first, check.wait_until);
  }
  return first;
}

void HealthChecks::run_due() {
  const auto now = Clock::now();
  while (running_ < kAtOnce && !queue_.empty() && queue_.begin()->first <= now) {
    Check& check = *queue_.begin()->second;
    queue_.erase(queue_.begin());
    start(check);
  }
  if (running_ < kAtOnce && !queue_.empty()) next_.arm_at(queue_.begin()->first);
}

void HealthChecks::start(Check& check) {
  ++running_;
  check.due = Clock::now() + recipe_.interval;
  check.program = std::make_unique<Subprocess>(
      loop_, Program{.command = check.command}, recipe_.timeout,
      [this, &check](const Subprocess::Result& result) { on_end(check, result); },
      [this, &check] { on_overdue(check); });
}

void HealthChecks::on_end(Check& check, const Subprocess::Result& result) {
  const bool judged = std::exchange(check.overdue, false);
  if (!judged) --running_;
  check.program.reset();
  queue_.emplace(check.due, &check);
  run_due();
  if (!judged) judge(check, verdict(kWhat, result));
}

void HealthChecks::on_overdue(Check& check) {
  check.overdue = true;
  --running_;
  run_due();
  judge(check, std::string(kWhat) + " was killed after " + duration_text(recipe_.timeout));
}

void HealthChecks::judge(Check& check, std::string verdict) {
  if (check.verdict == verdict) return;
  check.verdict = std::move(verdict);
  on_verdict_();
}

}  // namespace plughost
