#include "daemon/hooks/device_programs.hpp"

#include <algorithm>
#include <utility>

#include "daemon/status/status.hpp"
#include "host/programs/program.hpp"

namespace plughost {

namespace {

using Clock = EventLoop::Clock;

constexpr Spoken kUnhealthySpoken{.what = "the program of whenUnhealthy",
                                  .words = Program::Errors::kWithOutput};

std::chrono::system_clock::time_point wall_time(Clock::time_point time) {
  return std::chrono::system_clock::now() -
         std::chrono::duration_cast<std::chrono::system_clock::duration>(Clock::now() - time);
}

}  // namespace

std::string unhealthy_document(const std::string& resource, const Device& device,
                               std::chrono::system_clock::time_point since,
                               const PodResources::Answer& holders) {
  return Json{{"resource", resource},
              {"device", device.id},
              {"reason", device.reason()},
              {"since", time_json(since)},
              {"holders", holders_json(device, resource, holders.holdings.get())},
              {"holdersUnknown", holders.holdings ? "" : holders.why}}
             .dump() +
         '\n';
}

UnhealthyPrograms::UnhealthyPrograms(Programs& programs, Log& log, QueryHolders query_holders)
    : log_(log),
      query_holders_(std::move(query_holders)),
      queue_(programs, Purpose::kUnhealthy, kAtOnce),
      due_(programs.loop(), [this] { on_due(); }) {}

void UnhealthyPrograms::follow(const ResourceSnapshot& snapshot) {
  const auto wants_it = [&](const Device& each) {
    return terms_of(each, *snapshot.spec).when_unhealthy.has_value();
  };
  if (!snapshot.spec->when_unhealthy && std::ranges::none_of(snapshot.inventory.devices(), wants_it))
    return forget(snapshot.resource);
  Watched& watched = watched_[snapshot.resource];
  watched.inventory = snapshot.inventory;
  watched.spec = snapshot.spec;
  watched.spells.record(snapshot.inventory.devices(), Clock::now());
  arm();
}

BadSpells::Patience UnhealthyPrograms::Watched::patience() const {
  return [this](const std::string& id) -> std::optional<Clock::duration> {
    const auto& wants = terms_of(*device_of_id(inventory.devices(), id), *spec).when_unhealthy;
    return wants ? std::optional<Clock::duration>(wants->after) : std::nullopt;
  };
}

void UnhealthyPrograms::forget(const std::string& resource) {
  if (watched_.erase(resource) > 0) arm();
}

void UnhealthyPrograms::arm() {
  Clock::time_point next = BadSpells::kNever;
  for (const auto& [resource, watched] : watched_)
    next = std::min(next, watched.spells.next_due(watched.patience()));
  if (next == BadSpells::kNever)
    due_.cancel();
  else
    due_.arm_at(next);
}

void UnhealthyPrograms::on_due() {
  std::vector<Due> all;
  for (auto& [resource, watched] : watched_) {
    for (std::string& id : watched.spells.take_due(Clock::now(), watched.patience())) {
      const auto since = *watched.spells.since(id);
      all.push_back({.resource = resource, .device = std::move(id), .since = since});
    }
  }
  arm();
  if (all.empty()) return;
  query_holders_(lifetime_.bound([this, all = std::move(all)](const PodResources::Answer& holders) {
    for (const Due& due : all) start(due, holders);
  }));
}

void UnhealthyPrograms::start(const Due& due, const PodResources::Answer& holders) {
  const auto watched = watched_.find(due.resource);
  if (watched == watched_.end() || watched->second.spells.since(due.device) != due.since) return;
  const Device* const device = device_of_id(watched->second.inventory.devices(), due.device);
  const auto& wants = terms_of(*device, *watched->second.spec).when_unhealthy;
  if (!wants) return;  // the entry has changed meanwhile
  CommandLine line = command_line(wants->program.command, due.resource, *device);
  Run run{.resource = due.resource, .device = due.device, .program = nullptr};
  if (!line.missing.empty())
    return log_result(run, "the device has no {" + line.missing + "}, which whenUnhealthy needs");
  const auto begun = runs_.insert(runs_.end(), std::move(run));
  begun->program = std::make_unique<Subprocess>(
      queue_,
      Program{.command = std::move(line.words),
              .input = unhealthy_document(due.resource, *device, wall_time(due.since), holders),
              .timeout = wants->program.timeout},
      [this, begun](const Ending& ending) { on_end(begun, why_failed(kUnhealthySpoken, ending)); });
}

void UnhealthyPrograms::on_end(Runs::iterator run, const std::string& error) {
  log_result(*run, error);
  runs_.erase(run);
}

void UnhealthyPrograms::log_result(const Run& run, const std::string& error) {
  if (error.empty())
    log_.info("whenUnhealthy program finished", {{"resource", run.resource}, {"device", run.device}});
  else
    log_.warn("the whenUnhealthy program failed",
              {{"resource", run.resource}, {"device", run.device}, {"why", error}});
}

namespace {

constexpr Spoken kRemovalSpoken{.what = "the program of onRemove", .words = Program::Errors::kWithOutput};

}  // namespace

RemovalPrograms::RemovalPrograms(Programs& programs, Log& log)
    : log_(log),
      queue_(programs, Purpose::kRemove, kAtOnce),
      limit_(programs.loop(), [this] { on_limit(); }) {}

void RemovalPrograms::run(const ResourceSnapshot& snapshot) {
  for (const Device& device : snapshot.inventory.devices()) {
    const auto& spec = terms_of(device, *snapshot.spec).on_remove;
    if (!spec) continue;
    CommandLine line = command_line(spec->command, snapshot.resource, device);
    Removal removal{.resource = snapshot.resource, .device = device.id, .program = nullptr};
    if (!line.missing.empty()) {
      log_result(removal, "it has no {" + line.missing + "}, which onRemove needs");
      continue;
    }
    const auto begun = removals_.insert(removals_.end(), std::move(removal));
    begun->program = std::make_unique<Subprocess>(
        queue_, Program{.command = std::move(line.words), .timeout = spec->timeout},
        [this, begun](const Ending& ending) { on_end(begun, why_failed(kRemovalSpoken, ending)); });
  }
}

void RemovalPrograms::finish(std::chrono::milliseconds limit, std::function<void()> done) {
  done_ = std::move(done);
  limit_.arm(removals_.empty() ? EventLoop::Clock::duration::zero() : EventLoop::Clock::duration(limit));
}

void RemovalPrograms::on_end(Removals::iterator removal, const std::string& error) {
  if (!error.empty()) log_result(*removal, error);
  removals_.erase(removal);
  if (removals_.empty() && done_) limit_.arm(EventLoop::Clock::duration::zero());
}

void RemovalPrograms::on_limit() {
  for (const Removal& removal : removals_)
    log_result(removal,
               std::string("there was no time for it to ") + (removal.program->begun() ? "end" : "begin"));
  removals_.clear();
  std::exchange(done_, nullptr)();
}

void RemovalPrograms::log_result(const Removal& removal, const std::string& error) {
  log_.warn("the onRemove program failed",
            {{"resource", removal.resource}, {"device", removal.device}, {"why", error}});
}

}  // namespace plughost
