#pragma once
// Signals as events of the loop.

#include <functional>
#include <initializer_list>

#include "base/system/event_loop.hpp"

namespace plughost {

// Blocks the signals in this thread and those that it starts: call it before the first other thread is
// started (gRPC and loggers start some). From then on SIGPIPE is ignored, and SIGCHLD is not. Throws
// std::system_error.
void block_signals(std::initializer_list<int> signals);

// Loop thread only. Calls back with the signal's number. The signals have been blocked.
class SignalWatch {
 public:
  SignalWatch(EventLoop& loop, std::initializer_list<int> signals, std::function<void(int)> callback);

 private:
  UniqueFd fd_;
  std::function<void(int)> callback_;
  IoWatch watch_;
};

}  // namespace plughost
