#include "kubelet/endpoint.hpp"

#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>

#include <climits>
#include <map>
#include <mutex>
#include <random>

#include "kubelet/plugin_service.hpp"
#include "kubelet/registry_service.hpp"
#include "kubelet/socket_name.hpp"

namespace plughost {

namespace {

// Streams have ended by then, as a rule: what is left is a peer that does not read.
constexpr std::chrono::milliseconds kShutdownDeadline{200};
constexpr std::chrono::seconds kShutdownIsWedged{5};

// gRPC names the peer of a descriptor that it was handed so.
std::string peer_name(int fd) {
  return "fd:" + std::to_string(fd);
}

}  // namespace

// What gRPC's threads use, and what a worker takes down when the endpoint goes.
struct Endpoint::Served {
  Served(EventLoop& loop, std::weak_ptr<const bool> its_endpoint, const std::string& resource,
         std::shared_ptr<InventoryFeed> its_feed, std::shared_ptr<CallTally> calls, PluginOptions options,
         Announcement announcement, CheckAnswer check_answer, const Events& events)
      : endpoint(std::move(its_endpoint)),
        feed(std::move(its_feed)),
        post(loop.poster()),
        plugin(feed, std::move(calls), options,
               {std::move(check_answer),
                [this, opened = events.stream_opened](const std::string& name) { tell(opened, name); },
                [this, closed = events.stream_closed](const std::string& name) { tell(closed, name); },
                in_loop(events.starting), in_loop(events.allocating)}) {
    grpc::ServerBuilder builder;
    builder.RegisterService(&plugin);
    if (announcement == Announcement::kPluginsRegistry) {
      registry.emplace(resource, in_loop(events.refused));
      builder.RegisterService(&*registry);
    }
    // The peer is on this machine: no ping tells more than the socket's end. Both would keep timers running.
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, INT_MAX);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    // What nobody asks for costs memory with each connection: compression, tracing, limits on a message's
    // size (the kubelet's requests are small, and only root can connect).
    builder.AddChannelArgument(GRPC_ARG_MINIMAL_STACK, 1);
    builder.AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, 0);
    server = builder.BuildAndStart();
    if (!server) throw std::runtime_error("gRPC cannot start a server");
  }

  ~Served() { server->Shutdown(deadline); }

  // Calls event in the loop if the endpoint is still there then.
  template <typename... Arguments>
  std::function<void(Arguments...)> in_loop(std::function<void(Arguments...)> event) {
    return [this, event = std::move(event)](Arguments... arguments) {
      post([event, arguments..., token = endpoint] {
        if (!token.expired()) event(arguments...);
      });
    };
  }

  void tell(const std::function<void(Peer)>& whom, const std::string& name) {
    Peer peer;
    {
      const std::lock_guard lock(mutex);
      if (const auto found = peers.find(name); found != peers.end()) peer = found->second;
    }
    post([whom, peer, token = endpoint] {
      if (!token.expired()) whom(peer);
    });
  }

  const std::weak_ptr<const bool> endpoint;  // expired: nobody wants to hear of events any more
  const std::shared_ptr<InventoryFeed> feed;
  const EventLoop::Poster post;
  std::chrono::system_clock::time_point deadline = std::chrono::system_clock::now();
  std::mutex mutex;
  std::map<std::string, Peer> peers;  // by gRPC's name of the connection: descriptors are few and reused
  PluginService plugin;
  std::optional<RegistryService> registry;
  std::unique_ptr<grpc::Server> server;
};

Endpoint::Endpoint(EventLoop& loop, Workers& workers, std::string resource,
                   std::shared_ptr<InventoryFeed> feed, std::shared_ptr<CallTally> calls,
                   PluginOptions options, Announcement announcement, CheckAnswer check_answer, Events events)
    : loop_(loop),
      workers_(workers),
      resource_(std::move(resource)),
      events_(std::move(events)),
      alive_(std::make_shared<const bool>(true)),
      served_(std::make_shared<Served>(loop, alive_, resource_, std::move(feed), std::move(calls), options,
                                       announcement, std::move(check_answer), events_)),
      // A name that an earlier process used here must not come again.
      incarnation_(std::random_device()()) {}

Endpoint::~Endpoint() {
  listener_.reset();
  alive_.reset();
  served_->feed->readers().close();
  // From now, not from when its turn comes: many endpoints that go together take no longer than one.
  served_->deadline = std::chrono::system_clock::now() + kShutdownDeadline;
  workers_.run([served = std::move(served_)]() mutable { served.reset(); }, [] {}, kShutdownIsWedged, [] {});
}

void Endpoint::listen_anew(const std::filesystem::path& directory) {
  ++incarnation_;
  socket_ = directory / plughost::socket_name(resource_, incarnation_);
  listen();
}

void Endpoint::listen_again() {
  listen();
}

void Endpoint::listen() {
  listener_.reset();
  listener_.emplace(
      loop_, socket_,
      [this](UniqueFd connection, const ucred& peer) { on_connection(std::move(connection), peer); },
      events_.trouble);
}

void Endpoint::on_connection(UniqueFd connection, const ucred& peer) {
  if (peer.uid != 0 && peer.uid != ::geteuid()) {
    events_.trouble("a connection of user " + std::to_string(peer.uid) +
                    " was turned away: only root and our own user may ask");
    return;
  }
  const int fd = connection.release();
  {
    const std::lock_guard lock(served_->mutex);
    served_->peers[peer_name(fd)] = {incarnation_, peer.pid};
  }
  grpc::AddInsecureChannelFromFd(served_->server.get(), fd);
}

}  // namespace plughost
