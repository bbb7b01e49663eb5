#include "supervisor/allocation_programs.hpp"

#include <iterator>
#include <utility>

#include "kinds/exec_document.hpp"
#include "kinds/exec_program.hpp"
#include "supervisor/device_program.hpp"

namespace plughost {

namespace {

AllocationPrograms::Outcome outcome_of(const Subprocess::Result& result) {
  if (std::string why = why_ended(result); !why.empty()) return "allocate: " + why;
  try {
    return read_allocation_document(result.output);
  } catch (const DocumentError& error) {
    return "allocate: what the program printed cannot be used: " + std::string(error.what()) +
           last_words(result.errors);
  }
}

}  // namespace

void AllocationPrograms::ask(const Offer& offer, std::span<const std::string> ids, Answer answer) {
  const AllocateRecipe& recipe = *offer.recipe->allocate;
  CommandLine line = command_line(recipe.command, offer.resource, {});
  Program program = ExecProgram{.command = std::move(line.words), .user = {}}.program();
  program.input = allocation_request(offer, ids);
  const auto call = calls_.insert(calls_.end(), Call{.program = nullptr, .answer = std::move(answer)});
  call->program = std::make_unique<Subprocess>(
      loop_, program, recipe.timeout,
      [this, call](const Subprocess::Result& result) { finish(call, outcome_of(result)); },
      [this, call, limit = recipe.timeout] {
        finish(call, "allocate: the program was killed: it gave no answer within " + duration_text(limit) +
                         last_words(call->program->errors()));
      });
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
  AllocationPrograms programs(loop);
  AllocationPrograms::Outcome outcome;
  programs.ask(offer, ids, [&](AllocationPrograms::Outcome said) {
    outcome = std::move(said);
    loop.stop();
  });
  loop.run();
  if (const auto* more = std::get_if<Allocation>(&outcome)) return allocated(*more);
  return "resource " + offer.resource + ": " + std::get<std::string>(outcome);
}

}  // namespace plughost
