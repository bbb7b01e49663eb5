#include "base/subprocess.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

namespace plughost {

namespace {

// A process that was killed ends within microseconds, unless it waits for hardware.
constexpr std::chrono::milliseconds kLast{100};

// One that writes lines without end is read this seldom: it is to keep neither the loop nor a processor.
constexpr std::chrono::milliseconds kPause{10};

// What a program may rely on. Ours is systemd's or somebody's shell, and is none of its business.
constexpr std::array<const char*, 3> kEnvironment = {
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", nullptr};

// posix_spawn's functions return the error.
void check_error(int error, const char* what) {
  errno = error;
  if (error != 0) throw_errno(what);
}

// How a child differs from us.
class Spawn {
 public:
  // input: -1 for none.
  Spawn(int input, int output, int errors) {
    check_error(::posix_spawn_file_actions_init(&actions_), "posix_spawn_file_actions_init");
    check_error(::posix_spawnattr_init(&attributes_), "posix_spawnattr_init");
    if (input < 0)
      ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    else
      ::posix_spawn_file_actions_adddup2(&actions_, input, STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, errors, STDERR_FILENO);
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
    check_error(::posix_spawn(&pid, arguments[0], &actions_, &attributes_, arguments.data(),
                              const_cast<char**>(kEnvironment.data())),
                arguments[0]);
    return pid;
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

struct Pipe {
  UniqueFd ours;  // to read from, without waiting
  UniqueFd theirs;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  check(::pipe2(ends.data(), O_CLOEXEC), "pipe2");
  Pipe made{UniqueFd{ends[0]}, UniqueFd{ends[1]}};
  check(::fcntl(made.ours.get(), F_SETFL, O_NONBLOCK), "fcntl");
  return made;
}

// A file that holds the text: nobody has to stand by while the program reads.
UniqueFd file_of(std::string_view text) {
  UniqueFd file{check(::memfd_create("input", MFD_CLOEXEC), "memfd_create")};
  while (!text.empty()) {
    const ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written < 0 && errno != EINTR) throw_errno("write");
    text.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

enum class Rest {
  kNothing,  // it was closed
  kLater,
  kNow,
};

// Hands what can be read now to take; no more than a pipe holds, or one that writes without end would keep
// the loop. Says whether there is more.
template <typename Take>
Rest read_some(int fd, Take take) {
  constexpr std::size_t kPipe = 64u << 10;
  for (std::size_t taken = 0; taken < kPipe;) {
    std::array<char, 4096> buffer;
    const ssize_t size = ::read(fd, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return size < 0 ? Rest::kLater : Rest::kNothing;
    taken += static_cast<std::size_t>(size);
    take(std::string_view(buffer.data(), static_cast<std::size_t>(size)));
  }
  return Rest::kNow;
}

}  // namespace

Subprocess::Subprocess(EventLoop& loop, const Program& program, EventLoop::Clock::duration deadline,
                       std::function<void(Result)> done, std::function<void()> overdue)
    : loop_(loop),
      done_(std::move(done)),
      overdue_(std::move(overdue)),
      on_line_(program.on_line),
      most_output_(program.most_output),
      excess_(program.excess),
      pause_(loop, [this] { watch_output(); }),
      timer_(loop, [this] { on_timer(); }) {
  try {
    start(program);
    extend(deadline);
  } catch (const std::system_error& error) {
    result_ = {.end = Result::End::kNotStarted, .number = error.code().value()};
    timer_.arm(EventLoop::Clock::duration::zero());
  }
}

Subprocess::~Subprocess() {
  if (pid_ == 0) return;
  kill_group();
  // One that was killed long ago and runs still waits for hardware, and will for longer than this.
  const auto killed = killed_ == EventLoop::Clock::time_point() ? EventLoop::Clock::now() : killed_;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(killed + kLast - EventLoop::Clock::now());
  pollfd ended{process_.get(), POLLIN, 0};
  if (left.count() > 0) ::poll(&ended, 1, static_cast<int>(left.count()));
  reap();
}

void Subprocess::start(const Program& program) {
  const UniqueFd input = program.input.empty() ? UniqueFd() : file_of(program.input);
  Pipe output = make_pipe();
  Pipe errors = program.errors == Program::Errors::kApart ? make_pipe() : Pipe();
  output_ = std::move(output.ours);
  errors_ = std::move(errors.ours);
  watch_output();
  if (errors_) errors_watch_.emplace(loop_, errors_.get(), EPOLLIN, [this](std::uint32_t) { read_errors(); });
  pid_ = Spawn(input ? input.get() : -1, output.theirs.get(),
               errors_ ? errors.theirs.get() : output.theirs.get())
             .run(program.command);
  try {
    // glibc 2.36 has the function, but its header declares it for C alone.
    process_ = UniqueFd{check(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)), "pidfd_open")};
    process_watch_.emplace(loop_, process_.get(), EPOLLIN, [this](std::uint32_t) { on_exit(); });
  } catch (const std::system_error&) {
    kill_group();
    ::waitpid(std::exchange(pid_, 0), nullptr, 0);
    output_watch_.reset();
    errors_watch_.reset();
    throw;
  }
}

// Until it is reaped, its number is no other's; and then 0 would be our own group.
void Subprocess::kill_group() const {
  if (pid_ != 0) ::kill(-pid_, SIGKILL);
}

bool Subprocess::reap() {
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return false;
  pid_ = 0;
  result_.end = WIFSIGNALED(status) ? Result::End::kSignalled : Result::End::kExited;
  result_.number = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
  return true;
}

void Subprocess::extend(EventLoop::Clock::duration deadline) {
  if (pid_ == 0 || killed_ != EventLoop::Clock::time_point()) return;
  if (deadline == kForEver)
    timer_.cancel();
  else
    timer_.arm(deadline);
}

void Subprocess::watch_output() {
  output_watch_.emplace(loop_, output_.get(), EPOLLIN, [this](std::uint32_t) { read_output(); });
}

void Subprocess::read_output() {
  const Rest rest = read_some(output_.get(), [this](std::string_view text) {
    if (on_line_)
      take_lines(text);
    else
      keep(text);
  });
  if (rest == Rest::kNothing || (rest == Rest::kNow && on_line_))
    output_watch_.reset();  // it would be ready from now on
  if (rest == Rest::kNow && on_line_) pause_.arm(kPause);
  if (result_.excess && excess_ == Program::Excess::kFatal) kill_group();
}

void Subprocess::keep(std::string_view text) {
  const std::size_t room = most_output_ - result_.output.size();
  if (text.size() > room) result_.excess = true;
  result_.output.append(text.substr(0, room));
}

// result_.output is the line that has begun.
void Subprocess::take_lines(std::string_view text) {
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    keep(text.substr(0, end));
    if (result_.excess) return;
    text.remove_prefix(end + 1);
    on_line_(result_.output);
    result_.output.clear();
  }
  keep(text);
}

void Subprocess::read_errors() {
  const Rest rest = read_some(errors_.get(), [this](std::string_view text) {
    result_.errors.append(text);
    if (result_.errors.size() > kMostErrors) result_.errors.erase(0, result_.errors.size() - kMostErrors);
  });
  if (rest == Rest::kNothing) errors_watch_.reset();
}

void Subprocess::on_exit() {
  kill_group();
  if (!reap()) return;
  if (output_watch_ || pause_.armed()) read_output();
  if (errors_watch_) read_errors();
  pause_.cancel();
  output_watch_.reset();
  errors_watch_.reset();
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
  killed_ = EventLoop::Clock::now();
  const auto overdue = std::move(overdue_);
  overdue();
}

}  // namespace plughost
