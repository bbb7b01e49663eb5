#include "daemon/hooks/health_checks.hpp"

#include <algorithm>

#include "host/programs/program.hpp"
#include "model/device/inventory.hpp"

namespace plughost {
namespace {

constexpr Spoken kCheckSpoken{.what = "the health check", .words = Program::Errors::kWithOutput};
// The result of a check that uses its whole timeout arrives a little after the timeout.
constexpr std::chrono::milliseconds kVerdictSlack{200};

bool listed_as_healthy(std::span<const Device> listed, const std::string& id) {
  const Device* const device = device_of_id(listed, id);
  return device && device->healthy();
}

}  // namespace

HealthChecks::HealthChecks(Programs& programs, Log& log, std::function<void()> on_verdict)
    : log_(log),
      on_verdict_(std::move(on_verdict)),
      queue_(programs, Purpose::kHealth, kAtOnce),
      next_(programs.loop(), [this] { run_due(); }) {}

void HealthChecks::follow(const AllocationSpec& spec,
                          const std::map<std::string, std::vector<Device>>& resources) {
  static const std::vector<Device> kNone;
  for (auto& [resource, checks] : resources_) {
    if (!resources.contains(resource)) follow(spec, resource, kNone);
  }
  for (const auto& [resource, devices] : resources) follow(spec, resource, devices);
  std::erase_if(resources_, [](const auto& item) { return item.second.empty(); });
  if (!resources_.empty()) next_.arm(Clock::duration::zero());
}

void HealthChecks::follow(const AllocationSpec& spec, const std::string& resource,
                          const std::vector<Device>& devices) {
  Checks& known = resources_[resource];
  Checks followed;
  const auto now = Clock::now();
  for (const Device& device : devices) {
    const auto& health = terms_of(device, spec).health;
    if (!health) continue;
    CommandLine command = command_line(health->command, resource, device);
    Checks::node_type node = known.extract(device.id);
    const bool is_new = node.empty();
    Check& check = is_new ? followed[device.id] : followed.insert(std::move(node)).position->second;
    if (is_new) check.wait_until = now + health->timeout + kVerdictSlack;
    check.interval = health->interval;
    check.timeout = health->timeout;
    if (!is_new && check.command == command.words) continue;
    stop(check);
    check.resource = resource;
    check.command = std::move(command.words);
    if (!command.missing.empty()) {
      check.verdict = "its health cannot be checked: it has no {" + command.missing + "}";
      continue;
    }
    check.due = now;
    due_.emplace(check.due, &check);
  }
  for (auto& [id, check] : known) stop(check);
  known = std::move(followed);
}

// Kills the check's running program.
void HealthChecks::stop(Check& check) {
  due_.erase({check.due, &check});
  check.program.reset();
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
  const auto unknown = [&](const Device& device, const Check* check) {
    return check && !check->verdict && !listed_as_healthy(listed, device.id);
  };
  std::erase_if(devices, [&](const Device& device) {
    const Check* check = check_of(device);
    // A check cannot time out before its turn. Once it runs, it has a result at its timeout.
    return unknown(device, check) && (check->why_none.empty() || now < check->wait_until);
  });
  for (Device& device : devices) {
    const Check* check = check_of(device);
    if (unknown(device, check))
      device.error = check->why_none;
    else if (check && check->verdict)
      device.error = *check->verdict;
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
  while (!due_.empty() && due_.begin()->first <= now) {
    Check& check = *due_.begin()->second;
    due_.erase(due_.begin());
    start(check);
  }
  if (!due_.empty()) next_.arm_at(due_.begin()->first);
}

void HealthChecks::start(Check& check) {
  check.due = Clock::now() + check.interval;
  check.program = std::make_unique<Subprocess>(
      queue_, Program{.command = check.command, .timeout = check.timeout},
      [this, &check](const Ending& ending) { on_end(check, ending); }, [this, &check] { on_gone(check); });
}

void HealthChecks::on_end(Check& check, const Ending& ending) {
  if (ending.how != Ending::How::kOverdue) on_gone(check);
  const std::string why = why_failed(kCheckSpoken, ending);
  const bool lacks = ending.how == Ending::How::kNoMeans;
  record_means(check, lacks ? why : "");
  if (!lacks) return judge(check, why);
  // The wait counts from the check's own start, because its turn may have come last.
  if (check.why_none.empty())
    check.wait_until = Clock::now() - ending.timeout + check.timeout + kVerdictSlack;
  check.why_none = why;
  if (!check.verdict) on_verdict_();
}

void HealthChecks::on_gone(Check& check) {
  check.program.reset();
  due_.emplace(check.due, &check);
  run_due();
}

void HealthChecks::judge(Check& check, std::string verdict) {
  if (check.verdict == verdict) return;
  check.verdict = std::move(verdict);
  on_verdict_();
}

// Logs once for any number of checks.
void HealthChecks::record_means(const Check& check, const std::string& why) {
  if (means_ == why.empty()) return;
  means_ = why.empty();
  if (means_)
    log_.info("health checks run again", {{"resource", check.resource}});
  else
    log_.error("cannot run health checks: the last results stand",
               {{"resource", check.resource}, {"why", why}});
}

}  // namespace plughost
