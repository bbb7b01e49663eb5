#pragma once
// Who is at the other end of an endpoint's connections. Thread-safe.

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace plughost {

struct Caller {
  std::uint32_t incarnation = 0;  // of the listener that accepted the connection
  pid_t process = 0;              // 0: not to be seen from here

  bool operator==(const Caller&) const = default;
};

class Callers {
 public:
  void note(int connection, Caller caller) {
    const std::lock_guard lock(mutex_);
    by_peer_["fd:" + std::to_string(connection)] = caller;
  }
  // peer: grpc::ServerContextBase::peer(), which names a connection that gRPC was handed by its descriptor.
  Caller of(const std::string& peer) const {
    const std::lock_guard lock(mutex_);
    const auto found = by_peer_.find(peer);
    return found == by_peer_.end() ? Caller{} : found->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Caller> by_peer_;  // never forgotten: descriptors are few and reused
};

}  // namespace plughost
