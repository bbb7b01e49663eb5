#pragma once
// Asks a running daemon. Blocks; any thread.

#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "plughost/v1/control.pb.h"

namespace plughost {

// The daemon does not answer. what() says where it was looked for, why, and what to do.
struct NoAnswer : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class ControlClient {
 public:
  // Throws NoAnswer if nobody listens there, or may not be asked.
  explicit ControlClient(std::filesystem::path socket);
  ~ControlClient();

  // Each throws NoAnswer.
  v1::Status status();
  v1::ReloadResponse reload(const std::string& log_level);
  // Calls tell for each until it says false, or the daemon ends; then NoAnswer is thrown.
  void watch_status(const std::function<bool(const v1::Status&)>& tell);
  // The newest ones, at most limit (0: all there are); with follow those to come, until tell says false.
  enum class Follow { kNo, kYes };
  void events(unsigned limit, Follow follow, const std::function<bool(const v1::Event&)>& tell);

 private:
  struct Connection;
  std::filesystem::path socket_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace plughost
