#include "base/subprocess.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace plughost {

namespace {

// A process that was killed ends within microseconds, unless it waits for hardware.
constexpr int kLastMilliseconds = 100;

// posix_spawn's functions return the error.
void check_error(int error, const char* what) {
  errno = error;
  if (error != 0) throw_errno(what);
}

// How a child differs from us.
class Spawn {
 public:
  explicit Spawn(int output) {
    check_error(::posix_spawn_file_actions_init(&actions_), "posix_spawn_file_actions_init");
    check_error(::posix_spawnattr_init(&attributes_), "posix_spawnattr_init");
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, output, STDERR_FILENO);
    // Libraries' descriptors are not all close-on-exec.
    ::posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(&attributes_,
                               POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~Spawn() {
    ::posix_spawnattr_destroy(&attributes_);
    ::posix_spawn_file_actions_destroy(&actions_);
  }
  Spawn(const Spawn&) = delete;
  Spawn& operator=(const Spawn&) = delete;

  pid_t run(const std::vector<std::string>& command) const {
    std::vector<char*> arguments;
    for (const std::string& each : command) arguments.push_back(const_cast<char*>(each.c_str()));
    arguments.push_back(nullptr);
    pid_t pid = 0;
    check_error(::posix_spawn(&pid, arguments[0], &actions_, &attributes_, arguments.data(), ::environ),
                arguments[0]);
    return pid;
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

}  // namespace

Subprocess::Subprocess(EventLoop& loop, const std::vector<std::string>& command,
                       EventLoop::Clock::duration deadline, std::function<void(Result)> done,
                       std::function<void()> overdue)
    : loop_(loop),
      done_(std::move(done)),
      overdue_(std::move(overdue)),
      timer_(loop, [this] { on_timer(); }) {
  try {
    start(command);
    timer_.arm(deadline);
  } catch (const std::system_error& error) {
    result_ = {.end = Result::End::kNotStarted, .number = error.code().value(), .output = {}};
    timer_.arm(EventLoop::Clock::duration::zero());
  }
}

Subprocess::~Subprocess() {
  if (pid_ == 0) return;
  kill_group();
  // One that has been killed before and runs still waits for hardware, and will for longer than this.
  pollfd ended{process_.get(), POLLIN, 0};
  if (timer_.armed()) ::poll(&ended, 1, kLastMilliseconds);
  reap();
}

void Subprocess::start(const std::vector<std::string>& command) {
  std::array<int, 2> ends{};
  check(::pipe2(ends.data(), O_CLOEXEC), "pipe2");
  output_ = UniqueFd{ends[0]};
  const UniqueFd theirs{ends[1]};
  check(::fcntl(output_.get(), F_SETFL, O_NONBLOCK), "fcntl");
  output_watch_.emplace(loop_, output_.get(), EPOLLIN, [this](std::uint32_t) { read_output(); });
  pid_ = Spawn(theirs.get()).run(command);
  try {
    // glibc 2.36 has the function, but its header declares it for C alone.
    process_ = UniqueFd{check(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)), "pidfd_open")};
    process_watch_.emplace(loop_, process_.get(), EPOLLIN, [this](std::uint32_t) { on_exit(); });
  } catch (const std::system_error&) {
    kill_group();
    ::waitpid(std::exchange(pid_, 0), nullptr, 0);
    output_watch_.reset();
    throw;
  }
}

// Until it is reaped, its number is no other's.
void Subprocess::kill_group() const {
  ::kill(-pid_, SIGKILL);
}

bool Subprocess::reap() {
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return false;
  pid_ = 0;
  result_.end = WIFSIGNALED(status) ? Result::End::kSignalled : Result::End::kExited;
  result_.number = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
  return true;
}

void Subprocess::read_output() {
  for (;;) {
    std::array<char, 4096> buffer;
    const ssize_t size = ::read(output_.get(), buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return;
    if (size == 0) return output_watch_.reset();  // it would be ready from now on
    const std::size_t room = kMostOutput - result_.output.size();
    result_.output.append(buffer.data(), std::min(room, static_cast<std::size_t>(size)));
  }
}

void Subprocess::on_exit() {
  kill_group();
  if (!reap()) return;
  if (output_watch_) read_output();
  output_watch_.reset();
  process_watch_.reset();
  timer_.cancel();
  const auto done = std::move(done_);
  done(std::move(result_));
}

void Subprocess::on_timer() {
  if (pid_ == 0) {
    const auto done = std::move(done_);
    return done(std::move(result_));
  }
  kill_group();
  const auto overdue = std::move(overdue_);
  overdue();
}

}  // namespace plughost
