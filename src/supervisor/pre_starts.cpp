#include "supervisor/pre_starts.hpp"

#include <map>
#include <utility>
#include <vector>

#include "programs/command.hpp"
#include "programs/ending.hpp"

namespace plughost {
namespace {

constexpr Spoken kPreStartSpoken{.what = "the program of preStart",
                                 .words = Program::Errors::kWithOutput,
                                 .late = ": the start's devices were not ready within "};

}  // namespace

void PreStarts::run(const std::shared_ptr<const Offer>& offer, std::span<const std::string> ids,
                    Answer answer) {
  const ProgramRecipe& recipe = *offer->recipe->pre_start;
  std::map<std::string, std::vector<std::string>> commands;  // by the device's id
  for (const std::string& id : ids) {
    const Device* device = offer->inventory.find(id);
    if (!device) return answer("there is no device \"" + id + "\" any more");
    if (commands.contains(device->id)) continue;
    CommandLine line = command_line(recipe.command, offer->resource, *device);
    if (!line.missing.empty())
      return answer("device \"" + device->id + "\" has no {" + line.missing + "}, which preStart needs");
    commands[device->id] = std::move(line.words);
  }
  if (commands.empty()) return answer("");
  starts_.emplace_back(std::move(answer), programs_, commands.size());
  const auto start = std::prev(starts_.end());
  for (auto& [id, command] : commands) {
    start->programs.emplace_back(start->queue,
                                 Program{.command = std::move(command),
                                         .timeout = recipe.timeout,
                                         .timeout_from = Program::TimeoutFrom::kNow},
                                 [this, start, device = id](const Ending& ending) {
                                   on_end(start, device, why_failed(kPreStartSpoken, ending));
                                 });
  }
}

void PreStarts::on_end(Starts::iterator start, const std::string& id, const std::string& trouble) {
  if (!trouble.empty()) return finish(start, "device \"" + id + "\" is not ready: " + trouble);
  if (--start->left == 0) finish(start, "");
}

void PreStarts::finish(Starts::iterator start, std::string trouble) {
  const Answer answer = std::move(start->answer);
  starts_.erase(start);
  answer(std::move(trouble));
}

}  // namespace plughost
