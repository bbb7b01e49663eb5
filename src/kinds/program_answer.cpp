#include "kinds/program_answer.hpp"

#include <system_error>

#include "device/output_line.hpp"

namespace plughost {

std::string after_colon(const std::string& text) {
  return text.empty() ? "" : ": " + text;
}

std::string why_no_answer(const ProgramRun::Outcome& outcome, std::chrono::milliseconds timeout) {
  using End = Subprocess::Result::End;
  const Subprocess::Result& result = outcome.result;
  const std::string said = after_colon(last_line(result.errors));
  switch (outcome.end) {
    case ProgramRun::Outcome::End::kStopped:
      return "nobody waits for the program any more";
    case ProgramRun::Outcome::End::kOverdue:
      return "the program was killed after " + std::to_string(timeout.count()) + " ms" + said;
    case ProgramRun::Outcome::End::kEnded:
      break;
  }
  if (result.excess) return "the program was killed: it printed more than 4 MiB" + said;
  switch (result.end) {
    case End::kNotStarted:
      return "the program cannot be started: " + std::generic_category().message(result.number);
    case End::kSignalled:
      return "the program was ended by signal " + std::to_string(result.number) + said;
    case End::kExited:
      return result.number == 0 ? "" : "the program exited with " + std::to_string(result.number) + said;
  }
  return {};
}

}  // namespace plughost
