#pragma once
// A resource's gRPC server, which lives as long as the resource, and its listener, which is bound anew for
// each kubelet. Loop thread only, but for OwnerInLoop.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/system/event_loop.hpp"
#include "base/system/unix_socket.hpp"
#include "base/system/workers.hpp"
#include "kubernetes/plugin/served_resource.hpp"
#include "model/allocate/allocation.hpp"
#include "model/allocate/resource_snapshot.hpp"
#include "model/device/names.hpp"

namespace plughost {

// Who is at the other end of an endpoint's connections. Thread-safe.
struct Caller {
  std::uint32_t incarnation = 0;  // of the listener that accepted the connection
  pid_t process = 0;              // 0: not to be seen from here

  bool operator==(const Caller&) const = default;
};

class Callers {
 public:
  void record(int connection, Caller caller) {
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

// What an endpoint tells its owner, and asks of it. Loop thread only, but for OwnerInLoop.

// How a call of Allocate went. What the other side has said is short by now, whatever it was.
struct AnsweredAllocate {
  std::size_t containers = 0;
  std::size_t count = 0;  // of ids, in all containers
  std::string ids;        // the first of them
  std::string refusal;    // why nothing was given; empty: all of them were
};

// What an endpoint tells its owner, and asks of it.
class EndpointOwner {
 public:
  // Called once, from any thread: why a container cannot start; empty: it can. Where it is dropped, the start
  // fails, too.
  using StartDone = std::function<void(std::string error)>;
  // Called once, from any thread: what a program adds to an allocation, or a whole one, or why there is none.
  // Where it is dropped, the allocation fails, too.
  using AllocationDone = std::function<void(std::variant<Allocation, std::string> outcome)>;

  // Who opens a stream does this first, and one that opens none may: with kRegister it asks for the options,
  // and with kPluginsRegistry it is the kubelet's plugin registry.
  virtual void on_dialed(Caller by) = 0;
  virtual void on_stream_opened(Caller by) = 0;
  virtual void on_stream_closed(Caller by) = 0;
  // plugins_registry only: the kubelet does not take the resource.
  virtual void on_registry_refused(Caller by, const std::string& why) = 0;
  // A connection that was turned away or cannot be accepted, as a sentence.
  virtual void on_connection_error(const std::string& what) = 0;
  // An Allocate has its answer.
  virtual void on_allocated(const AnsweredAllocate& call) = 0;
  // A container is to get these devices, and the snapshot's spec has an assume: the whole answer is the
  // owner's.
  virtual void request_card(SharedSnapshot snapshot, const IdSet& ids, AllocationDone done) = 0;
  // A container with these devices is about to start, and the snapshot's spec has an assume.
  virtual void prepare_card(SharedSnapshot snapshot, const IdSet& ids, StartDone done) = 0;
  // A container with these devices is about to start, and the snapshot's spec has a program to run before.
  virtual void prepare_start(SharedSnapshot snapshot, const std::vector<std::string>& ids,
                             StartDone done) = 0;
  // A container is to get these devices, and a program of the snapshot's spec has a part in the answer.
  virtual void run_allocation_program(SharedSnapshot snapshot, const std::vector<std::string>& ids,
                                      AllocationDone done) = 0;

 protected:
  ~EndpointOwner() = default;
};

// The way to the owner from gRPC's threads. Thread-safe.
class OwnerInLoop {
 public:
  using Call = std::function<void(EndpointOwner& owner)>;

  // lifetime: of whoever wants to hear of it.
  OwnerInLoop(EventLoop::Poster post, EndpointOwner& owner, const Lifetime& lifetime)
      : post_(std::move(post)), reach_(lifetime.bound([&owner](const Call& call) { call(owner); })) {}

  // Calls in the loop, later; never, if nobody wants to hear of it by then.
  void post(Call call) const {
    post_([reach = reach_, call = std::move(call)] { reach(call); });
  }

 private:
  EventLoop::Poster post_;
  std::function<void(const Call& call)> reach_;
};

class Endpoint {
 public:
  // Serves at once, but listens nowhere yet. Throws std::runtime_error if gRPC cannot start a server.
  // loop, workers and owner outlive it.
  Endpoint(EventLoop& loop, Workers& workers, EndpointOwner& owner, ServedResource resource);
  // The listener's file is removed and the streams end; the server's last breath is a worker's affair.
  ~Endpoint();
  Endpoint& operator=(Endpoint&&) = delete;

  // Listens in directory, under a name that no kubelet has seen; the former listener is gone, its connections
  // stay. Throws std::system_error, and listens nowhere then.
  void listen_anew(const std::filesystem::path& directory);
  // The same name again, for when the file was removed under a kubelet that still knows it.
  void listen_again();
  // Can the listener be reached by its name?
  bool reachable() const { return listener_ && listener_->reachable(); }
  // The listener's file name; empty if there never was one.
  std::string socket_name() const { return socket_.filename().string(); }
  std::uint32_t incarnation() const { return incarnation_; }

 private:
  struct Server;
  void on_connection(UniqueFd connection, const ucred& peer);

  EventLoop& loop_;
  Workers& workers_;
  EndpointOwner& owner_;
  const ServedResource resource_;
  Lifetime lifetime_;
  std::shared_ptr<Server> server_;
  std::filesystem::path socket_;
  std::uint32_t incarnation_;
  std::optional<Listener> listener_;
};

}  // namespace plughost
