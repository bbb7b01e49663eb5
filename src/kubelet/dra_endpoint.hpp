#pragma once
// The driver's gRPC server and its socket in plugins_registry, where the kubelet finds it and asks what it
// is. Loop thread only.
//
// The socket listens before its name appears. A name is never used twice: the kubelet asks a name that did
// not answer only every two minutes in the end, and several of one driver may live, of which it calls the
// newest that is connected. So sockets that killed processes left go when the kubelet has registered ours.
// When somebody removes the name there is another.
//
// Over a restart the name stays, and nothing is registered anew, if a manager keeps the descriptor
// (DescriptorStore): systemd does for as long as the unit is to run again. So at the end of the process
// leave_to_successor() is called. Whether it is a restart is not known then: after a stop the unit removes
// the name (ExecStopPost). Where it does not, a name without a listener is left until the next start; the
// kubelet deletes the slices 30 s after the connection's end in either case. Without such a manager the name
// goes with the endpoint.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor_store.hpp"
#include "base/dir_watch.hpp"
#include "base/event_loop.hpp"
#include "base/lifetime.hpp"
#include "base/workers.hpp"
#include "kubelet/device_health.hpp"
#include "kubelet/dra_owner.hpp"
#include "kubelet/listener.hpp"

namespace plughost {

class HealthFeed;

class DraEndpoint {
 public:
  struct Parts {
    EventLoop& loop;
    Workers& workers;
    DirWatcher& directories;
    DescriptorStore& descriptors;
  };

  // Serves and listens at once; or, where directory is missing, when that comes. Nothing of owner is called
  // from within. Throws std::runtime_error if gRPC cannot start a server. parts and owner outlive it.
  DraEndpoint(Parts parts, DraOwner& owner, std::string driver, std::filesystem::path directory);
  // The name goes, unless it was left to a successor. Calls that wait end with an error; the server's last
  // breath is a worker's affair.
  ~DraEndpoint();
  DraEndpoint(const DraEndpoint&) = delete;
  DraEndpoint& operator=(const DraEndpoint&) = delete;

  // The whole list, whenever it may be another: whoever reads is told at once.
  void set_health(std::vector<PoolHealth> pools);
  // The process is about to end: the name outlives us if the manager keeps the descriptor.
  void leave_to_successor();
  // For a process that serves no driver, of whose predecessor the manager keeps sockets: they go.
  static void remove_left(DescriptorStore& descriptors);

  // Where the kubelet finds it; empty: nowhere now.
  std::filesystem::path socket() const { return listener_ ? listener_->path() : std::filesystem::path(); }

 private:
  struct Server;
  void on_names();
  void look();
  bool listen_as_before();
  void listen_anew();
  void use(const std::filesystem::path& socket, UniqueFd listening, std::string kept_as);
  void close_listener();
  void on_registration(const std::string& why);
  void on_connection(UniqueFd connection, const ucred& peer);
  void on_health_reader(int change);
  void trouble(const std::string& what);

  Parts parts_;
  DraOwner& owner_;
  Lifetime lifetime_;
  const std::string driver_;
  const std::filesystem::path directory_;
  std::uint32_t incarnation_;
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
  std::shared_ptr<HealthFeed> health_;
  std::shared_ptr<Server> server_;
  std::optional<Listener> listener_;
  std::string kept_as_;  // by the manager; empty: it is not
  bool left_ = false;
  std::string told_trouble_;
  std::size_t health_readers_ = 0;
  Timer retry_;
  Timer repeat_health_;
  std::unique_ptr<DirWatch> watch_;
};

}  // namespace plughost
