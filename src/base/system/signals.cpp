#include "base/system/signals.hpp"

#include <sys/epoll.h>
#include <sys/signalfd.h>

#include <csignal>

namespace plughost {
namespace {

sigset_t set_of(std::initializer_list<int> signals) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : signals) ::sigaddset(&set, signal);
  return set;
}

UniqueFd open_signalfd(std::initializer_list<int> signals) {
  const sigset_t set = set_of(signals);
  return UniqueFd{check(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), "signalfd")};
}

}  // namespace

void block_signals(std::initializer_list<int> signals) {
  const sigset_t set = set_of(signals);
  if (const int error = ::pthread_sigmask(SIG_BLOCK, &set, nullptr); error != 0)
    throw std::system_error(error, std::generic_category(), "pthread_sigmask");
  std::signal(SIGPIPE, SIG_IGN);
  // Whoever started us may have ignored it, and then nobody would be told how a child has ended.
  std::signal(SIGCHLD, SIG_DFL);
}

SignalWatch::SignalWatch(EventLoop& loop, std::initializer_list<int> signals,
                         std::function<void(int)> callback)
    : fd_(open_signalfd(signals)),
      callback_(std::move(callback)),
      watch_(loop, fd_.get(), EPOLLIN, [this](std::uint32_t) {
        signalfd_siginfo info;
        while (::read(fd_.get(), &info, sizeof info) == sizeof info)
          callback_(static_cast<int>(info.ssi_signo));
      }) {}

}  // namespace plughost
