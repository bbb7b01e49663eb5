#include "kinds/exec_program.hpp"

#include <iterator>
#include <system_error>

#include "device/output_line.hpp"

namespace plughost {

namespace {

constexpr std::size_t kMostOutput = 4u << 20;

}  // namespace

std::vector<std::string> words_as(const std::string& user) {
  if (user.empty()) return {};
  // posix_spawn cannot change who a child is, and to look users up can block. At / this only does that.
  return {"/usr/sbin/chroot", "--userspec=" + user + ':', "/"};
}

std::string read_user(Fields& fields) {
  std::string user = fields.text("user", "");
  if (fields.has("user") && (user.empty() || user.find_first_of(": /") != std::string::npos))
    fields.error("user", "the name of a user is expected here, as in nobody");
  return user;
}

Program ExecProgram::program() const {
  Program program{.command = command,
                  .errors = Program::Errors::kApart,
                  .most_output = kMostOutput,
                  .excess = Program::Excess::kFatal};
  const std::vector<std::string> before = words_as(user);
  program.command.insert(program.command.begin(), before.begin(), before.end());
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
