#include "kubernetes/pods/assuming.hpp"

#include <utility>

#include "kubernetes/pods/held_units.hpp"

namespace plughost {

using Clock = EventLoop::Clock;

Assuming::Assuming(Context context, std::filesystem::path pods_api)
    : context_(std::move(context)),
      pods_(context_.loop, context_.api_server, std::move(pods_api)),
      quiet_(context_.loop, [this] { tidy(); }) {}

void Assuming::read_checkpoint(
    std::function<void(const std::shared_ptr<const Checkpoint>& checkpoint)> done) {
  context_.checkpoint().read(
      Clock::now(),
      [done = std::move(done)](const CheckpointReader::Reading& reading) { done(reading.checkpoint); });
}

void Assuming::specify(const std::string& name, std::string text,
                       std::function<void(const std::string& error)> done) {
  specified_[name] = Clock::time_point::max();  // while it is being written
  context_.write_late(name, std::move(text),
                      lifetime_.bound([this, name, done = std::move(done)](const std::string& error) {
                        specified_[name] = Clock::now();
                        done(error);
                      }));
}

void Assuming::tidy_later() {
  if (!quiet_.armed()) quiet_.arm(kQuiet);
}

void Assuming::tidy() {
  context_.checkpoint().read(Clock::now(), lifetime_.bound([this](const CheckpointReader::Reading& reading) {
    if (!reading.checkpoint) return;
    std::set<std::string> needed = late_devices(*reading.checkpoint);
    std::erase_if(specified_, [&](const auto& item) { return item.second < reading.began; });
    for (const auto& [name, at] : specified_) needed.insert(name);
    context_.remove_other_late(std::move(needed));
  }));
}

}  // namespace plughost
