#include "host/programs/launch.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/system/files.hpp"

// glibc's clone under its other name: the thread sanitizer treats `clone` as a fork and takes locks
// that a child in this memory would release. NOLINTNEXTLINE(bugprone-reserved-identifier)
extern "C" int __clone(int (*function)(void*), void* stack, int flags, void* argument, ...);

namespace plughost {
namespace {

// The environment of every program. This process's own comes from systemd or a shell and is not passed on.
constexpr std::array<const char*, 2> kEnvironment = {
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"};

// This process raises its soft limit. Programs get the kernel's default, for select(2), and may raise it.
constexpr rlim_t kDescriptors = 1024;

// The child runs in this process's memory, on its own stack, until it executes the program.
constexpr std::size_t kStack = 64u << 10;

struct Pipe {
  UniqueFd ours;  // non-blocking, for reading
  UniqueFd theirs;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  check(::pipe2(ends.data(), O_CLOEXEC), "pipe2");
  Pipe made{UniqueFd{ends[0]}, UniqueFd{ends[1]}};
  check(::fcntl(made.ours.get(), F_SETFL, O_NONBLOCK), "fcntl");
  return made;
}

// Returns a file with the text, so that no thread has to feed the program's input.
UniqueFd file_of(std::string_view text) {
  UniqueFd file{check(::memfd_create("input", MFD_CLOEXEC), "memfd_create")};
  write_all(file.get(), text);
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

// The child's instructions, and its results.
struct Plan {
  std::array<int, 3> standard;  // file descriptors, all of them at least 3
  const char* const* arguments;
  const char* const* environment;
  rlimit descriptors;
  rlim_t most_descriptors;  // this process's own limit
  std::atomic<pid_t>& pid;
  int before_exec = 0;  // the errno of a failed step
  int exec = 0;
};

// Closes descriptors one by one, for kernels older than 5.9.
bool close_each(rlim_t end) {
  for (rlim_t fd = STDERR_FILENO + 1; fd < end; ++fd) ::syscall(SYS_close, fd);
  return true;
}

// Runs as the child, in this process's memory, while the thread that called clone waits. Uses system calls
// only, and not the C library's wrappers, which sanitizers intercept.
int become(void* argument) {
  Plan& plan = *static_cast<Plan*>(argument);
  plan.pid.store(static_cast<pid_t>(::syscall(SYS_getpid)));
  // No handler of this process may run in the child. A sigaction of zeros means the default action.
  const std::array<unsigned long, 4> by_default{};
  constexpr std::size_t kSetSize = sizeof(std::uint64_t);
  for (int signal = 1; signal <= SIGRTMAX; ++signal)
    ::syscall(SYS_rt_sigaction, signal, by_default.data(), nullptr, kSetSize);
  bool sound = ::syscall(SYS_setpgid, 0, 0) == 0;
  for (int i = 0; i < 3 && sound; ++i)
    sound = ::syscall(SYS_dup3, plan.standard[static_cast<std::size_t>(i)], i, 0) == i;
  // Not all descriptors of libraries are close-on-exec.
  sound = sound && (::syscall(SYS_close_range, 3u, ~0u, 0u) == 0 || close_each(plan.most_descriptors));
  sound = sound && ::syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &plan.descriptors, nullptr) == 0;
  const std::uint64_t none = 0;
  sound = sound && ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, kSetSize) == 0;
  if (!sound) {
    plan.before_exec = errno;
  } else {
    ::syscall(SYS_execve, plan.arguments[0], plan.arguments, plan.environment);
    plan.exec = errno;
  }
  ::syscall(SYS_exit_group, 127);
  return 127;
}

// Moves a descriptor away from the standard descriptors, which the child replaces one by one.
UniqueFd above_standard(UniqueFd fd) {
  if (fd.get() > STDERR_FILENO) return fd;
  return UniqueFd{check(::fcntl(fd.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1), "fcntl")};
}

rlimit descriptor_limit() {
  rlimit limit{};
  check(::getrlimit(RLIMIT_NOFILE, &limit), "getrlimit");
  return limit;
}

// Blocks signals until the child has set its own dispositions.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &former_);
  }
  ~NoSignals() { ::pthread_sigmask(SIG_SETMASK, &former_, nullptr); }
  NoSignals& operator=(NoSignals&&) = delete;

 private:
  sigset_t former_{};
};

// Returns true for errors of execve(2) that are not caused by the program.
bool lacks(int number) {
  return number == EAGAIN || number == ENOMEM || number == EMFILE || number == ENFILE || number == ETXTBSY;
}

}  // namespace

Launch::Launch(const Program& program) : program_(program) { program_.on_line = nullptr; }

bool Launch::begun() const {
  const std::lock_guard lock(mutex_);
  return begun_;
}

bool Launch::has_child() const {
  const std::lock_guard lock(mutex_);
  return child_.pid != 0;
}

bool Launch::may_begin() {
  const std::lock_guard lock(mutex_);
  begun_ = true;
  return !given_up_;
}

void Launch::run() {
  try {
    if (may_begin()) return start();
    number_ = ECANCELED;
  } catch (const std::system_error& error) {
    number_ = error.code().value();
  }
  how_ = Ending::How::kNoMeans;
}

void Launch::start() {
  UniqueFd input = program_.input.empty()
                       ? UniqueFd{check(::open("/dev/null", O_RDONLY | O_CLOEXEC), "/dev/null")}
                       : file_of(program_.input);
  Pipe output = make_pipe();
  Pipe errors = program_.errors == Program::Errors::kApart ? make_pipe() : Pipe();
  input = above_standard(std::move(input));
  output.theirs = above_standard(std::move(output.theirs));
  if (errors.theirs) errors.theirs = above_standard(std::move(errors.theirs));
  std::vector<const char*> arguments;
  for (const std::string& each : program_.command) arguments.push_back(each.c_str());
  arguments.push_back(nullptr);
  // If a name occurs twice, some programs use the first value and others the last.
  std::vector<const char*> environment;
  for (const std::string& each : program_.environment) environment.push_back(each.c_str());
  for (const std::string_view each : kEnvironment) {
    const std::string_view name = each.substr(0, each.find('=') + 1);
    const bool given = std::ranges::any_of(program_.environment,
                                           [&](const std::string& other) { return other.starts_with(name); });
    if (!given) environment.push_back(each.data());
  }
  environment.push_back(nullptr);
  const UniqueFd& second = errors.theirs ? errors.theirs : output.theirs;
  const rlimit ours = descriptor_limit();
  Plan plan{.standard = {input.get(), output.theirs.get(), second.get()},
            .arguments = arguments.data(),
            .environment = environment.data(),
            .descriptors = {.rlim_cur = std::min(ours.rlim_max, kDescriptors), .rlim_max = ours.rlim_max},
            .most_descriptors = ours.rlim_cur,
            .pid = pid_};
  const auto stack = std::make_unique<std::byte[]>(kStack);
  int process = -1;
  pid_t pid = 0;
  {
    const NoSignals quiet;
    // The calling thread waits until the child executes its program or ends. Nothing of this process is
    // copied.
    pid = ::__clone(become, stack.get() + kStack, CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, &plan,
                    &process);
  }
  check(pid, "clone");
  UniqueFd pidfd{process};
  const int number = plan.before_exec != 0 ? plan.before_exec : plan.exec;
  {
    const std::lock_guard lock(mutex_);
    returned_ = true;
    if (given_up_) ::kill(-pid, SIGKILL);
    if (number == 0)
      child_ = {.pid = pid,
                .process = std::move(pidfd),
                .output = std::move(output.ours),
                .errors = std::move(errors.ours)};
  }
  if (number == 0) return;
  ::waitpid(pid, nullptr, 0);
  how_ = plan.before_exec != 0 || lacks(number) ? Ending::How::kNoMeans : Ending::How::kNotStarted;
  number_ = number;
}

void Launch::give_up() {
  const std::lock_guard lock(mutex_);
  given_up_ = true;
  // Before clone() has returned, the child is not reaped, so the pid is still that of the child.
  if (const pid_t pid = pid_.load(); pid != 0 && !returned_) ::kill(pid, SIGKILL);
}

}  // namespace plughost
