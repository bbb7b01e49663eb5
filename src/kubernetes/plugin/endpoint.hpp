#pragma once
// A resource's gRPC server, which lives as long as the resource, and its listener, which is bound anew for
// each kubelet. Loop thread only.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/system/event_loop.hpp"
#include "base/system/unix_socket.hpp"
#include "base/system/workers.hpp"
#include "kubernetes/plugin/endpoint_owner.hpp"
#include "kubernetes/plugin/served_resource.hpp"

namespace plughost {

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
