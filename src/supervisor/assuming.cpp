#include "supervisor/assuming.hpp"

#include <set>
#include <utility>

#include "supervisor/held_units.hpp"

namespace plughost {

using Clock = EventLoop::Clock;

Assuming::Assuming(Platform& platform, Hooks hooks)
    : platform_(platform),
      hooks_(std::move(hooks)),
      pods_(platform.api_server),
      marks_(platform.loop, platform.api_server, platform.log),
      quiet_(platform.loop, [this] { tidy(); }) {}

void Assuming::read_checkpoint(
    std::function<void(const std::shared_ptr<const Checkpoint>& checkpoint)> done) {
  hooks_.checkpoint().read(Clock::now(), [done = std::move(done)](const CheckpointReader::Reading& reading) {
    done(reading.checkpoint);
  });
}

void Assuming::specify(const std::string& device, std::string text,
                       std::function<void(const std::string& trouble)> done) {
  specified_[device] = Clock::time_point::max();  // while it is being written
  hooks_.cdi().write_late(
      device, std::move(text),
      lifetime_.bound([this, device, done = std::move(done)](const CdiWriter::Outcome& outcome) {
        specified_[device] = Clock::now();
        done(outcome.common);
      }));
}

void Assuming::tidy_later() {
  if (!quiet_.armed()) quiet_.arm(kQuiet);
}

void Assuming::tidy() {
  hooks_.checkpoint().read(Clock::now(), lifetime_.bound([this](const CheckpointReader::Reading& reading) {
    if (!reading.checkpoint) return;
    std::set<std::string> needed = late_devices(*reading.checkpoint);
    std::erase_if(specified_, [&](const auto& item) { return item.second < reading.began; });
    for (const auto& [device, at] : specified_) needed.insert(device);
    hooks_.cdi().keep_late(std::move(needed));
  }));
}

}  // namespace plughost
