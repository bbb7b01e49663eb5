#pragma once
// A resource's gRPC server, which lives as long as the resource, and its listener, which is replaced for each
// kubelet. Loop thread only, except OwnerInLoop.
//
// Each kubelet needs a new socket, because a kubelet removes its predecessor's sockets. Usual plugins make a
// new gRPC server for each socket, with its threads and completion queues. Here the server lives as long as
// its resource, without a port, and only the listening socket is replaced; accepted connections are handed to
// the server. 64 resources have sent their lists 36.5 ms after a kubelet listens (./dev bench --real).

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

// The peer of an endpoint's connection. Thread-safe.
struct Caller {
  std::uint32_t incarnation = 0;  // of the listener that accepted the connection
  pid_t process = 0;              // 0: in another pid namespace

  bool operator==(const Caller&) const = default;
};

class Callers {
 public:
  void record(int connection, Caller caller) {
    const std::lock_guard lock(mutex_);
    by_peer_["fd:" + std::to_string(connection)] = caller;
  }
  // `peer` is grpc::ServerContextBase::peer(), which identifies a connection by its file descriptor.
  Caller of(const std::string& peer) const {
    const std::lock_guard lock(mutex_);
    const auto found = by_peer_.find(peer);
    return found == by_peer_.end() ? Caller{} : found->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Caller> by_peer_;  // never cleared: descriptors are few and reused
};

// The result of an Allocate call. Texts from the peer are shortened.
struct AnsweredAllocate {
  std::size_t containers = 0;
  std::size_t count = 0;  // number of ids in all containers
  std::string ids;        // the first ids
  std::string refusal;    // why the call was refused; empty if it was not
};

// The endpoint's callbacks and requests to its owner.
class EndpointOwner {
 public:
  // Called once, from any thread, with the reason why a container cannot start, or an empty text if it can.
  // Dropping the callback fails the start.
  using StartDone = std::function<void(std::string error)>;
  // Called once, from any thread, with a program's addition to an allocation, a whole allocation, or the
  // reason why there is none. Dropping the callback fails the allocation.
  using AllocationDone = std::function<void(std::variant<Allocation, std::string> outcome)>;

  // Called when a peer has connected. A stream need not follow: with kRegister the peer requests the options
  // first, and with kPluginsRegistry the peer may be the kubelet's plugin registry.
  virtual void on_dialed(Caller by) = 0;
  virtual void on_stream_opened(Caller by) = 0;
  virtual void on_stream_closed(Caller by) = 0;
  // Called with plugins_registry only, when the kubelet refuses the resource.
  virtual void on_registry_refused(Caller by, const std::string& why) = 0;
  // Called when a connection was refused or could not be accepted. `what` is a sentence.
  virtual void on_connection_error(const std::string& what) = 0;
  // Called when an Allocate has been answered.
  virtual void on_allocated(const AnsweredAllocate& call) = 0;
  // Called before a container gets these devices, if the snapshot's spec has `assume`: the owner provides the
  // whole answer.
  virtual void request_card(SharedSnapshot snapshot, const IdSet& ids, AllocationDone done) = 0;
  // Called before a container with these devices starts, if the snapshot's spec has `assume`.
  virtual void prepare_card(SharedSnapshot snapshot, const IdSet& ids, StartDone done) = 0;
  // Called before a container with these devices starts, if the snapshot's spec has a `preStart` program.
  virtual void prepare_start(SharedSnapshot snapshot, const std::vector<std::string>& ids,
                             StartDone done) = 0;
  // Called before a container gets these devices, if a program of the snapshot's spec adds to the answer.
  virtual void run_allocation_program(SharedSnapshot snapshot, const std::vector<std::string>& ids,
                                      AllocationDone done) = 0;

 protected:
  ~EndpointOwner() = default;
};

// Calls the owner in the loop on behalf of gRPC's threads. Thread-safe.
class OwnerInLoop {
 public:
  using Call = std::function<void(EndpointOwner& owner)>;

  // `lifetime` is the owner's.
  OwnerInLoop(EventLoop::Poster post, EndpointOwner& owner, const Lifetime& lifetime)
      : post_(std::move(post)), reach_(lifetime.bound([&owner](const Call& call) { call(owner); })) {}

  // Runs `call` in the loop, later; never after the lifetime has ended.
  void post(Call call) const {
    post_([reach = reach_, call = std::move(call)] { reach(call); });
  }

 private:
  EventLoop::Poster post_;
  std::function<void(const Call& call)> reach_;
};

class Endpoint {
 public:
  // Serves at once, but does not listen yet. Throws std::runtime_error if gRPC cannot start a server. `loop`,
  // `workers` and `owner` must outlive the endpoint.
  Endpoint(EventLoop& loop, Workers& workers, EndpointOwner& owner, ServedResource resource);
  // Removes the listener's file and ends the streams. A worker destroys the server.
  ~Endpoint();
  Endpoint& operator=(Endpoint&&) = delete;

  // Listens in `directory` under a name that no kubelet has seen. The former listener ends, but its
  // connections stay. After a std::system_error the endpoint does not listen.
  void listen_anew(const std::filesystem::path& directory);
  // Listens under the same name again, because the file was removed while the kubelet still knows it.
  void listen_again();
  // Returns true if the listener can be reached by its name.
  bool reachable() const { return listener_ && listener_->reachable(); }
  // The file name of the listener; empty if there never was one.
  std::string socket_name() const { return socket_.filename().string(); }
  std::uint32_t incarnation() const { return incarnation_; }
  // Returns true if an Allocate has no answer yet.
  bool owes_answer() const;

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
