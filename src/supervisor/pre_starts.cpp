#include "supervisor/pre_starts.hpp"

#include <algorithm>

#include "supervisor/device_program.hpp"

namespace plughost {

namespace {

constexpr std::string_view kWhat = "the program of preStart";

}  // namespace

void PreStarts::run(const std::shared_ptr<const Offer>& offer, std::span<const std::string> ids,
                    Answer answer) {
  const PreStartRecipe& recipe = *offer->recipe->pre_start;
  Start start{.offer = offer, .due = EventLoop::Clock::now() + recipe.timeout, .answer = std::move(answer)};
  for (const std::string& id : ids) {
    const Device* device = offer->inventory.find(id);
    if (!device) return start.answer("there is no device \"" + id + "\" any more");
    const auto known = [&](const auto& each) { return each.first == device->id; };
    if (std::ranges::any_of(start.waiting, known)) continue;
    CommandLine line = command_line(recipe.command, offer->resource, *device);
    if (!line.missing.empty())
      return start.answer("device \"" + device->id + "\" has no {" + line.missing +
                          "}, which preStart needs");
    start.waiting.emplace_back(device->id, std::move(line.words));
  }
  std::ranges::reverse(start.waiting);  // taken from the end
  starts_.push_back(std::move(start));
  go_on(std::prev(starts_.end()));
}

void PreStarts::go_on(Starts::iterator start) {
  while (!start->waiting.empty() && start->running.size() < kAtOnce) {
    auto [id, words] = std::move(start->waiting.back());
    start->waiting.pop_back();
    start->running[id] = std::make_unique<Subprocess>(
        loop_, Program{.command = std::move(words)}, start->due - EventLoop::Clock::now(),
        [this, start, device = id](const Subprocess::Result& result) {
          on_end(start, device, verdict(kWhat, result));
        },
        [this, start, device = id] {
          on_end(start, device,
                 std::string(kWhat) + " was killed: the start's devices were not ready within " +
                     duration_text(start->offer->recipe->pre_start->timeout));
        });
  }
  if (start->running.empty()) finish(start, "");
}

void PreStarts::on_end(Starts::iterator start, const std::string& id, const std::string& trouble) {
  if (!trouble.empty()) return finish(start, "device \"" + id + "\" is not ready: " + trouble);
  start->running.erase(id);
  go_on(start);
}

void PreStarts::finish(Starts::iterator start, std::string trouble) {
  const Answer answer = std::move(start->answer);
  starts_.erase(start);
  answer(std::move(trouble));
}

}  // namespace plughost
