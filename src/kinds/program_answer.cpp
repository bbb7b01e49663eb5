#include "kinds/program_answer.hpp"

#include "kinds/exec_program.hpp"

namespace plughost {

std::string why_no_answer(const ProgramRun::Outcome& outcome, std::chrono::milliseconds timeout) {
  switch (outcome.end) {
    case ProgramRun::Outcome::End::kStopped:
      return "nobody waits for the program any more";
    case ProgramRun::Outcome::End::kOverdue:
      return "the program was killed after " + std::to_string(timeout.count()) + " ms" +
             last_words(outcome.result.errors);
    case ProgramRun::Outcome::End::kEnded:
      return why_ended(outcome.result);
  }
  return {};
}

}  // namespace plughost
