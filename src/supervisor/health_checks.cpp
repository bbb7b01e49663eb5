#include "supervisor/health_checks.hpp"

#include <algorithm>
#include <cstring>
#include <system_error>

#include "device/id.hpp"

namespace plughost {

namespace {

constexpr std::size_t kLongestVerdict = 200;
constexpr std::size_t kLongestCharacter = 4;

// The first line with something on it: control characters become spaces, and what is not UTF-8 '?'.
std::string first_line(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  text = text.substr(0, text.find('\n'));
  std::string line;
  while (!text.empty() && line.size() + kLongestCharacter <= kLongestVerdict) {
    std::size_t length = 1;
    while (length < kLongestCharacter && !valid_utf8(text.substr(0, length))) ++length;
    const std::string_view character = text.substr(0, length);
    const auto first = static_cast<unsigned char>(character[0]);
    if (!valid_utf8(character)) {
      length = 1;
      line += '?';
    } else if (first < ' ' || first == 0x7f) {
      line += ' ';
    } else {
      line += character;
    }
    text.remove_prefix(length);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string duration_text(std::chrono::milliseconds duration) {
  const auto count = duration.count();
  return count % 1000 == 0 ? std::to_string(count / 1000) + " s" : std::to_string(count) + " ms";
}

// The command for a device, or the placeholder that it has no value for.
struct Command {
  std::vector<std::string> words;
  std::string missing;
};

Command command_for(const HealthRecipe& recipe, const std::string& resource, const Device& device) {
  Command command;
  for (const Template& word : recipe.command) {
    auto text = word.expand(
        [&](std::string_view placeholder) -> std::optional<std::string> {
          if (placeholder == "resource") return resource;
          const std::string* value = device.attribute(placeholder);
          return value ? std::optional(*value) : std::nullopt;
        },
        &command.missing);
    if (!text) {
      command.words.clear();
      return command;
    }
    command.words.push_back(std::move(*text));
  }
  return command;
}

bool listed_as_healthy(std::span<const Device> listed, const std::string& id) {
  const auto found = std::ranges::lower_bound(listed, id, {}, &Device::id);
  return found != listed.end() && found->id == id && found->healthy();
}

}  // namespace

std::string health_verdict(const Subprocess::Result& result) {
  using enum Subprocess::Result::End;
  if (result.end == kNotStarted)
    return "the health check cannot be started: " + std::generic_category().message(result.number);
  if (result.end == kExited && result.number == 0) return {};
  if (std::string line = first_line(result.output); !line.empty()) return line;
  return result.end == kExited ? "the health check exited with " + std::to_string(result.number)
                               : "the health check was ended by signal " + std::to_string(result.number);
}

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
    Command command = command_for(recipe_, resource, device);
    Checks::node_type node = known.extract(device.id);
    const bool is_new = node.empty();
    Check& check = is_new ? followed[device.id] : followed.insert(std::move(node)).position->second;
    if (is_new) check.wait_until = now + recipe_.timeout;
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
      loop_, check.command, recipe_.timeout,
      [this, &check](const Subprocess::Result& result) { on_end(check, result); },
      [this, &check] { on_overdue(check); });
}

void HealthChecks::on_end(Check& check, const Subprocess::Result& result) {
  const bool judged = std::exchange(check.overdue, false);
  if (!judged) --running_;
  check.program.reset();
  queue_.emplace(check.due, &check);
  run_due();
  if (!judged) judge(check, health_verdict(result));
}

void HealthChecks::on_overdue(Check& check) {
  check.overdue = true;
  --running_;
  run_due();
  judge(check, "the health check was killed after " + duration_text(recipe_.timeout));
}

void HealthChecks::judge(Check& check, std::string verdict) {
  if (check.verdict == verdict) return;
  check.verdict = std::move(verdict);
  on_verdict_();
}

}  // namespace plughost
