#include "child.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <system_error>

namespace plughost::bench {

namespace fs = std::filesystem;

namespace {

// Returns the number of a line such as "Name:   123 kB".
double field(const fs::path& file, const std::string& name) {
  std::ifstream text(file);
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with(name + ":")) return std::stod(line.substr(name.size() + 1));
  }
  return 0;
}

fs::path proc(pid_t pid) { return fs::path("/proc") / std::to_string(pid); }

}  // namespace

Child::Child(const fs::path& config, const fs::path& plugin_directory) {
  const std::string log = (config.parent_path() / "daemon.log").string();
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND,
                                     0600);
  // setpriv executes the daemon. The kernel kills the daemon when the benchmark ends, even by a crash.
  std::array<std::string, 11> arguments{"setpriv",
                                        "--pdeathsig",
                                        "KILL",
                                        PLUGHOST_BINARY,
                                        "run",
                                        "--config",
                                        config,
                                        "--plugin-directory",
                                        plugin_directory,
                                        "--control",
                                        config.parent_path() / "control.sock"};
  std::array<char*, 12> argv{};
  std::ranges::transform(arguments, argv.begin(), [](std::string& argument) { return argument.data(); });
  const int error = ::posix_spawnp(&pid_, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::system_error(error, std::generic_category(), argv[0]);
}

Child::~Child() {
  ::kill(pid_, SIGTERM);
  ::waitpid(pid_, nullptr, 0);
}

Memory Child::memory() const {
  return {field(proc(pid_) / "status", "VmRSS"), field(proc(pid_) / "status", "RssAnon"),
          field(proc(pid_) / "status", "VmHWM")};
}

double Child::cpu_ms() const {
  std::ifstream stat(proc(pid_) / "stat");
  std::string skipped;
  std::getline(stat, skipped, ')');
  for (int i = 0; i < 11; ++i) stat >> skipped;
  double user = 0;
  double system = 0;
  stat >> user >> system;
  return (user + system) * 1000 / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

unsigned long long Child::wakeups() const {
  double sum = 0;
  for (const auto& task : fs::directory_iterator(proc(pid_) / "task"))
    sum += field(task.path() / "status", "voluntary_ctxt_switches");
  return static_cast<unsigned long long>(sum);
}

std::size_t Child::threads() const {
  return static_cast<std::size_t>(field(proc(pid_) / "status", "Threads"));
}

std::size_t Child::descriptors() const {
  const fs::directory_iterator entries(proc(pid_) / "fd");
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

}  // namespace plughost::bench
