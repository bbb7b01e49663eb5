#include "host/programs/detached.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string_view>

namespace plughost {
namespace {

// From the child: the program's pid, then the errno of a start that has failed.
struct Report {
  pid_t pid = 0;
  int error = 0;
};

std::vector<const char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  pointers.push_back(nullptr);
  return pointers;
}

// Runs in a child of this process, and must not allocate memory: another thread may have held the lock.
[[noreturn]] void become(const char* const* arguments, const char* const* environment, int told) {
  struct sigaction by_default {};
  by_default.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &by_default, nullptr);
  Report report{.pid = ::getpid()};
  ssize_t written = ::write(told, &report, sizeof report);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // Not all descriptors of libraries are close-on-exec. `told` is.
  for (int fd = STDERR_FILENO + 1; fd < told; ++fd) ::close(fd);
  ::syscall(SYS_close_range, static_cast<unsigned>(told) + 1, ~0u, 0u);
  ::execve(arguments[0], const_cast<char* const*>(arguments), const_cast<char* const*>(environment));
  report.error = errno;
  written = ::write(told, &report, sizeof report);
  ::_exit(written < 0 ? 126 : 127);
}

// Returns false at the end of the pipe.
bool read_report(int pipe, Report& report) {
  ssize_t got = 0;
  do {
    got = ::read(pipe, &report, sizeof report);
  } while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(sizeof report);
}

}  // namespace

void DetachedProgram::kill() const {
  if (process) ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0);
}

DetachedProgram start_detached(const std::vector<std::string>& command,
                               const std::vector<std::string>& left_out) {
  const std::vector<const char*> arguments = pointers_to(command);
  std::vector<const char*> environment;
  for (char** variable = ::environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    if (std::ranges::find(left_out, text.substr(0, text.find('='))) == left_out.end())
      environment.push_back(*variable);
  }
  environment.push_back(nullptr);
  std::array<int, 2> ends{};
  check(::pipe2(ends.data(), O_CLOEXEC), "pipe2");
  const UniqueFd ours{ends[0]};
  UniqueFd theirs{ends[1]};
  const pid_t child = ::fork();
  if (child == 0) {
    const pid_t program = ::fork();
    if (program == 0) become(arguments.data(), environment.data(), theirs.get());
    ::_exit(program < 0 ? 1 : 0);
  }
  check(child, "fork");
  theirs = {};
  // Reaped before the report is read: init is the program's parent from then on.
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  Report report;
  if (!read_report(ours.get(), report)) throw std::runtime_error("cannot start " + command[0]);
  DetachedProgram started{.pid = report.pid, .process = {}};
  started.process = UniqueFd{static_cast<int>(::syscall(SYS_pidfd_open, report.pid, 0))};
  const bool ended = !started.process && errno == ESRCH;
  if (read_report(ours.get(), report) && report.error != 0)
    throw std::system_error(report.error, std::generic_category(), "cannot start " + command[0]);
  if (ended) throw std::runtime_error(command[0] + " has ended at once");
  return started;
}

std::vector<std::string> own_command() {
  std::ifstream file("/proc/self/cmdline");
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  if (words.empty()) throw std::runtime_error("/proc/self/cmdline cannot be read");
  if (words[0].find('/') != std::string::npos) return words;
  // After an upgrade the kernel adds this to the path of the replaced program.
  constexpr std::string_view kReplaced = " (deleted)";
  words[0] = std::filesystem::read_symlink("/proc/self/exe").string();
  if (words[0].ends_with(kReplaced)) words[0].resize(words[0].size() - kReplaced.size());
  return words;
}

}  // namespace plughost
