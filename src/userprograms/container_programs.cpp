#include "userprograms/container_programs.hpp"

#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "kinds/exec/document.hpp"
#include "programs/program.hpp"

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

namespace {

constexpr Spoken kAllocationSpoken{.late = ": it gave no answer within "};

AllocationPrograms::Outcome outcome_of(const Ending& ending) {
  if (std::string why = why_failed(kAllocationSpoken, ending); !why.empty()) return "allocate: " + why;
  try {
    return read_allocation_document(ending.output);
  } catch (const DocumentError& error) {
    return "allocate: what the program printed cannot be used: " + std::string(error.what()) +
           last_words(ending.errors);
  }
}

}  // namespace

void AllocationPrograms::ask(const Offer& offer, std::span<const std::string> ids, Answer answer) {
  const ProgramRecipe& recipe = *offer.recipe->allocate;
  Program program = document_program(command_line(recipe.command, offer.resource, {}).words);
  program.input = allocation_request(offer, ids);
  program.timeout = recipe.timeout;
  program.timeout_from = Program::TimeoutFrom::kNow;
  const auto call = calls_.insert(calls_.end(), Call{.program = nullptr, .answer = std::move(answer)});
  call->program = std::make_unique<Subprocess>(
      queue_, std::move(program), [this, call](const Ending& ending) { finish(call, outcome_of(ending)); });
}

void AllocationPrograms::finish(Calls::iterator call, Outcome outcome) {
  const Answer answer = std::move(call->answer);
  calls_.erase(call);
  answer(std::move(outcome));
}

AllocationPrograms::Outcome allocate_with_program(const Offer& offer, std::span<const std::string> ids) {
  const auto allocated = [&](const Allocation& more) -> AllocationPrograms::Outcome {
    auto outcome = allocate(offer.resource, *offer.recipe, offer.inventory, ids, more);
    if (auto* refusal = std::get_if<Refusal>(&outcome)) return std::move(refusal->text);
    return std::get<Allocation>(std::move(outcome));
  };
  auto without = allocated({});
  if (std::holds_alternative<std::string>(without) || !offer.recipe->allocate) return without;
  EventLoop loop;
  Programs programs(loop);
  AllocationPrograms asked(programs);
  AllocationPrograms::Outcome outcome;
  asked.ask(offer, ids, [&](AllocationPrograms::Outcome said) {
    outcome = std::move(said);
    loop.stop();
  });
  loop.run();
  if (const auto* more = std::get_if<Allocation>(&outcome)) return allocated(*more);
  return "resource " + offer.resource + ": " + std::get<std::string>(outcome);
}

}  // namespace plughost
