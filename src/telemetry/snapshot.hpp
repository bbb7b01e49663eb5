#pragma once
// The daemon's status at one moment, and its JSON. Thread-safe.

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "status/status.hpp"

namespace plughost {

class Snapshot {
 public:
  explicit Snapshot(DaemonStatus status) : status_(std::move(status)) {}

  const DaemonStatus& status() const { return status_; }
  // On one line. Made once, by the thread that asks first: a node's devices may take it some milliseconds.
  const std::string& json() const {
    std::call_once(made_, [this] { json_ = status_.json().dump(); });
    return json_;
  }

 private:
  const DaemonStatus status_;
  mutable std::once_flag made_;
  mutable std::string json_;
};

}  // namespace plughost
