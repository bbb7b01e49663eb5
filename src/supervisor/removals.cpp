#include "supervisor/removals.hpp"

#include <iterator>
#include <utility>

#include "supervisor/device_program.hpp"

namespace plughost {

namespace {

constexpr std::string_view kWhat = "the program of onRemove";

}  // namespace

Removals::Removals(EventLoop& loop, Log& log)
    : loop_(loop), log_(log), limit_(loop, [this] { on_limit(); }) {}

void Removals::run(const Offer& offer) {
  if (!offer.recipe->on_remove) return;
  const OnRemoveRecipe& recipe = *offer.recipe->on_remove;
  for (const Device& device : offer.inventory.devices()) {
    CommandLine line = command_line(recipe.command, offer.resource, device);
    Removal removal{.resource = offer.resource,
                    .device = device.id,
                    .command = std::move(line.words),
                    .timeout = recipe.timeout,
                    .program = nullptr};
    if (line.missing.empty())
      waiting_.push_back(std::move(removal));
    else
      tell(removal, "it has no {" + line.missing + "}, which onRemove needs");
  }
  go_on();
}

void Removals::finish(std::chrono::milliseconds limit, std::function<void()> done) {
  done_ = std::move(done);
  limit_.arm(running_.empty() ? EventLoop::Clock::duration::zero() : EventLoop::Clock::duration(limit));
}

void Removals::go_on() {
  while (!waiting_.empty() && running_.size() < kAtOnce) {
    const auto removal = running_.insert(running_.end(), std::move(waiting_.front()));
    waiting_.pop_front();
    removal->program = std::make_unique<Subprocess>(
        loop_, Program{.command = removal->command}, removal->timeout,
        [this, removal](const Subprocess::Result& result) { on_end(removal, verdict(kWhat, result)); },
        [this, removal] {
          on_end(removal, std::string(kWhat) + " was killed after " + duration_text(removal->timeout));
        });
  }
  // From the timer, since this may be within run().
  if (running_.empty() && done_) limit_.arm(EventLoop::Clock::duration::zero());
}

void Removals::on_end(Running::iterator removal, const std::string& trouble) {
  if (!trouble.empty()) tell(*removal, trouble);
  running_.erase(removal);
  go_on();
}

void Removals::on_limit() {
  for (const Removal& removal : running_) tell(removal, "there was no time for it to end");
  for (const Removal& removal : waiting_) tell(removal, "there was no time for it to begin");
  running_.clear();
  waiting_.clear();
  std::exchange(done_, nullptr)();
}

void Removals::tell(const Removal& removal, const std::string& trouble) {
  log_.warn("a device was not cleared away",
            {{"resource", removal.resource}, {"device", removal.device}, {"why", trouble}});
}

}  // namespace plughost
