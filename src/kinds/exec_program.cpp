#include "kinds/exec_program.hpp"

#include <iterator>
#include <system_error>

#include "device/output_line.hpp"

namespace plughost {

namespace {

constexpr std::size_t kMostOutput = 4u << 20;

}  // namespace

Program ExecProgram::program() const {
  Program program{.command = command,
                  .errors = Program::Errors::kApart,
                  .most_output = kMostOutput,
                  .excess = Program::Excess::kFatal};
  // posix_spawn cannot change who a child is, and to look users up can block. At / this only does that.
  if (!user.empty())
    program.command.insert(program.command.begin(), {"/usr/sbin/chroot", "--userspec=" + user + ':', "/"});
  return program;
}

std::string why_ended(const Subprocess::Result& result) {
  using End = Subprocess::Result::End;
  const std::string said = last_words(result.errors);
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

std::string last_words(const std::string& errors) {
  const std::string line = last_line(errors);
  return line.empty() ? "" : ": " + line;
}

}  // namespace plughost
