#pragma once
// Between clients and a gRPC server, on a thread of its own: whoever sends headers without end is cut off
// before the server keeps them. Thread-safe.

#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "base/unique_fd.hpp"

namespace plughost {

class Relay {
 public:
  // What was answered in time reaches its client, if that takes it within this.
  static constexpr std::chrono::milliseconds kLastDeadline{200};

  // Called on the thread, for each client that is cut off.
  using CutOff = std::function<void()>;

  // Throws std::system_error: no thread, or no descriptor, is to be had.
  explicit Relay(CutOff on_cut_off);
  // The server has closed its ends by then, or will soon.
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // client is non-blocking. Returns the server's end of the connection, non-blocking, too. Throws
  // std::system_error.
  UniqueFd add(UniqueFd client);

 private:
  struct Core;
  std::unique_ptr<Core> core_;  // the thread's
  std::thread thread_;
};

}  // namespace plughost
