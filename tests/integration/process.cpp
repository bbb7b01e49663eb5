#include "integration/process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

#include "integration/eventually.hpp"
#include "not_shown.hpp"
#include "places.hpp"

extern char** environ;

namespace plughost::test {

namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

bool has_all(const std::string& line, const std::vector<std::string_view>& parts) {
  return std::ranges::all_of(parts,
                             [&](std::string_view part) { return line.find(part) != std::string::npos; });
}

}  // namespace

Process::Process(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
                 const std::vector<std::string>& wrapper, const char* program) {
  // The child is killed when this process dies.
  std::vector<std::string> words{"setpriv", "--pdeathsig", "KILL", "--"};
  words.insert(words.end(), wrapper.begin(), wrapper.end());
  words.push_back(program);
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = environment;
  for (char** variable = environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);

  int ends[2];
  check(::pipe2(ends, O_CLOEXEC), "pipe2");
  output_ = UniqueFd(ends[0]);
  const UniqueFd childs_end(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, childs_end.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, childs_end.get(), STDERR_FILENO);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  const int error =
      ::posix_spawnp(&pid_, "setpriv", &actions, nullptr, pointers(words).data(), pointers(variables).data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::system_error(error, std::generic_category(), "posix_spawn");
  reader_ = std::thread([this] { read_output(); });
}

Process::~Process() {
  if (running()) {
    signal(SIGKILL);
    wait_for_exit(kLong);
  }
  reader_.join();
#ifdef PLUGHOST_EMULATED
  // CTest recognizes this output as a test that was not shown (tests/CMakeLists.txt).
  if (count_lines("started: Invalid argument") > 0)
    std::cerr << "qemu starts no programs as the daemon does\n";
#endif
}

void Process::signal(int number) const { ::kill(pid_, number); }

std::optional<int> Process::wait_for_exit(Milliseconds deadline) {
  eventually(
      [this] {
        if (exit_code_) return true;
        int status = 0;
        if (::waitpid(pid_, &status, WNOHANG) != pid_) return false;
        exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        return true;
      },
      deadline);
  if (exit_code_) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kLong, [this] { return closed_; });
  }
  return exit_code_;
}

std::vector<std::string> Process::lines() const {
  const std::lock_guard lock(mutex_);
  return lines_;
}

std::string Process::output() const {
  std::string all;
  for (const std::string& line : lines()) all += line + '\n';
  return all;
}

std::size_t Process::mark() const {
  const std::lock_guard lock(mutex_);
  return lines_.size();
}

bool Process::wait_for_line(const std::vector<std::string_view>& parts, Milliseconds deadline,
                            std::size_t from) const {
  std::unique_lock lock(mutex_);
  std::size_t next = from;
  return changed_.wait_for(lock, deadline, [&] {
    for (; next < lines_.size(); ++next) {
      if (has_all(lines_[next], parts)) return true;
    }
    return false;
  });
}

std::size_t Process::count_lines(std::string_view part, std::size_t from) const {
  const std::lock_guard lock(mutex_);
  return count_locked(part, from);
}

std::size_t Process::count_locked(std::string_view part, std::size_t from) const {
  std::size_t count = 0;
  for (std::size_t i = from; i < lines_.size(); ++i) count += has_all(lines_[i], {part}) ? 1 : 0;
  return count;
}

bool Process::comes_to_lines(std::string_view part, std::size_t count) const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kLong, [&] { return count_locked(part, 0) >= count; });
  return count_locked(part, 0) == count;
}

std::size_t Process::open_descriptors() const {
  const std::filesystem::directory_iterator entries("/proc/" + std::to_string(pid_) + "/fd");
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

std::size_t Process::resident_kilobytes() const {
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stoul(line.substr(6));
  }
  return 0;
}

Process::Milliseconds Process::processor_time() const {
  std::ifstream file("/proc/" + std::to_string(pid_) + "/stat");
  std::string text;
  std::getline(file, text);
  // proc(5): utime and stime are fields 14 and 15. The second field, in parentheses, may contain spaces.
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  long user = 0;
  long system = 0;
  fields >> user >> system;
  return Milliseconds((user + system) * 1000 / ::sysconf(_SC_CLK_TCK));
}

void Process::read_output() {
  std::string rest;
  char buffer[4096];
  for (;;) {
    const ssize_t length = ::read(output_.get(), buffer, sizeof buffer);
    if (length < 0 && errno == EINTR) continue;
    const std::lock_guard lock(mutex_);
    if (length <= 0) {
      if (!rest.empty()) lines_.push_back(rest);
      closed_ = true;
      changed_.notify_all();
      return;
    }
    rest.append(buffer, static_cast<std::size_t>(length));
    for (std::size_t end = rest.find('\n'); end != std::string::npos; end = rest.find('\n')) {
      lines_.push_back(rest.substr(0, end));
      rest.erase(0, end + 1);
    }
    changed_.notify_all();
  }
}

Finished run_plughost(const std::vector<std::string>& arguments, const std::vector<std::string>& wrapper) {
  Process process(arguments, {}, wrapper);
  return {process.wait_for_exit(kLong).value_or(-1), process.output()};
}

void need_mounts() {
  const int status = std::system(
      "unshare --mount -- sh -ec 'd=$(mktemp -d); mount -t tmpfs none $d; mount -o remount,ro $d; umount $d; "
      "rmdir $d' 2>/dev/null");
  if (status != 0) not_shown("nothing can be mounted in a namespace of its own here");
}

std::vector<std::string> mounted(std::string script, const std::string& directory) {
  for (std::size_t at = script.find("{}"); at != std::string::npos; at = script.find("{}"))
    script.replace(at, 2, directory);
  return {"unshare", "--mount", "--", "sh", "-ec", script + "; exec \"$@\"", "sh"};
}

}  // namespace plughost::test
