#pragma once
// A resource's gRPC server, which lives as long as the resource, and its listener, which is bound anew for
// each kubelet. Loop thread only.

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/event_loop.hpp"
#include "base/workers.hpp"
#include "device/allocation.hpp"
#include "kubelet/call_tally.hpp"
#include "kubelet/inventory_feed.hpp"
#include "kubelet/listener.hpp"
#include "kubelet/plugin_options.hpp"

namespace plughost {

class Endpoint {
 public:
  // A stream's connection.
  struct Peer {
    std::uint32_t incarnation = 0;  // of the listener that accepted it
    pid_t process = 0;              // 0: not to be seen from here
  };
  struct Events {  // called in the loop
    std::function<void(Peer)> stream_opened;
    std::function<void(Peer)> stream_closed;
    // plugins_registry only: the kubelet does not take the resource.
    std::function<void(const std::string& why)> refused;
    // A container with these devices is about to start: see PluginService::Hooks. Only where the offer's
    // recipe has something to prepare.
    std::function<void(std::shared_ptr<const Offer> offer, const std::vector<std::string>& ids,
                       std::function<void(std::string trouble)> answer)>
        starting;
    // A container is to get these devices, and a program of the offer's recipe has a part in the answer.
    std::function<void(std::shared_ptr<const Offer> offer, const std::vector<std::string>& ids,
                       std::function<void(std::variant<Allocation, std::string> outcome)> answer)>
        allocating;
    // A connection that was turned away or cannot be accepted, as a sentence.
    std::function<void(const std::string& what)> trouble;
  };
  // Runs on gRPC's threads; see PluginService::Hooks.
  using CheckAnswer = std::function<std::string(const Allocation&)>;

  // How the kubelet learns of the endpoint.
  enum class Announcement { kRegister, kPluginsRegistry };

  // Serves at once, but listens nowhere yet. Throws std::runtime_error if gRPC cannot start a server.
  // loop and workers outlive it.
  Endpoint(EventLoop& loop, Workers& workers, std::string resource, std::shared_ptr<InventoryFeed> feed,
           std::shared_ptr<CallTally> calls, PluginOptions options, Announcement announcement,
           CheckAnswer check_answer, Events events);
  // The listener's file is removed and the streams end; the server's last breath is a worker's affair.
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

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
  struct Served;
  void listen();
  void on_connection(UniqueFd connection, const ucred& peer);

  EventLoop& loop_;
  Workers& workers_;
  std::string resource_;
  Events events_;
  std::shared_ptr<const bool> alive_;
  std::shared_ptr<Served> served_;
  std::filesystem::path socket_;
  std::uint32_t incarnation_;
  std::optional<Listener> listener_;
};

}  // namespace plughost
