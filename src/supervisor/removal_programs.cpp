#include "supervisor/removal_programs.hpp"

#include <utility>

#include "programs/command.hpp"
#include "programs/ending.hpp"

namespace plughost {
namespace {

constexpr Spoken kRemovalSpoken{.what = "the program of onRemove", .words = Program::Errors::kWithOutput};

}  // namespace

RemovalPrograms::RemovalPrograms(Programs& programs, Log& log)
    : log_(log),
      queue_(programs, Purpose::kRemove, kAtOnce),
      limit_(programs.loop(), [this] { on_limit(); }) {}

void RemovalPrograms::run(const Offer& offer) {
  if (!offer.recipe->on_remove) return;
  const ProgramRecipe& recipe = *offer.recipe->on_remove;
  for (const Device& device : offer.inventory.devices()) {
    CommandLine line = command_line(recipe.command, offer.resource, device);
    Removal removal{.resource = offer.resource, .device = device.id, .program = nullptr};
    if (!line.missing.empty()) {
      tell(removal, "it has no {" + line.missing + "}, which onRemove needs");
      continue;
    }
    const auto begun = removals_.insert(removals_.end(), std::move(removal));
    begun->program = std::make_unique<Subprocess>(
        queue_, Program{.command = std::move(line.words), .timeout = recipe.timeout},
        [this, begun](const Ending& ending) { on_end(begun, why_failed(kRemovalSpoken, ending)); });
  }
}

void RemovalPrograms::finish(std::chrono::milliseconds limit, std::function<void()> done) {
  done_ = std::move(done);
  limit_.arm(removals_.empty() ? EventLoop::Clock::duration::zero() : EventLoop::Clock::duration(limit));
}

void RemovalPrograms::on_end(Removals::iterator removal, const std::string& trouble) {
  if (!trouble.empty()) tell(*removal, trouble);
  removals_.erase(removal);
  if (removals_.empty() && done_) limit_.arm(EventLoop::Clock::duration::zero());
}

void RemovalPrograms::on_limit() {
  for (const Removal& removal : removals_)
    tell(removal, std::string("there was no time for it to ") + (removal.program->begun() ? "end" : "begin"));
  removals_.clear();
  std::exchange(done_, nullptr)();
}

void RemovalPrograms::tell(const Removal& removal, const std::string& trouble) {
  log_.warn("a device was not cleared away",
            {{"resource", removal.resource}, {"device", removal.device}, {"why", trouble}});
}

}  // namespace plughost
