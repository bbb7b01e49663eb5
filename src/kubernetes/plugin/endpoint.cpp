#include "kubernetes/plugin/endpoint.hpp"

#include <grpcpp/server_posix.h>

#include <random>

#include "kubernetes/kubelet/grpc_setup.hpp"
#include "kubernetes/plugin/plugin_service.hpp"
#include "kubernetes/plugin/registration.hpp"

namespace plughost {
namespace {

// Normally all streams have ended by then, except streams to a peer that does not read.
constexpr std::chrono::milliseconds kShutdownDeadline{200};
constexpr std::chrono::seconds kShutdownIsWedged{5};

}  // namespace

// The objects that gRPC's threads use. A worker destroys them after the endpoint.
struct Endpoint::Server {
  Server(const ServedResource& resource, const OwnerInLoop& owner) : plugin(resource, owner, callers) {
    if (resource.announcement == Announcement::kPluginsRegistry)
      registry.emplace(resource.name, owner, callers);
    server = registry ? start_grpc_server({&plugin, &*registry}) : start_grpc_server({&plugin});
  }
  ~Server() { server->Shutdown(deadline); }

  std::chrono::system_clock::time_point deadline = std::chrono::system_clock::now();
  Callers callers;
  PluginService plugin;
  std::optional<RegistryService> registry;
  std::unique_ptr<grpc::Server> server;
};

Endpoint::Endpoint(EventLoop& loop, Workers& workers, EndpointOwner& owner, ServedResource resource)
    : loop_(loop),
      workers_(workers),
      owner_(owner),
      resource_(std::move(resource)),
      server_(std::make_shared<Server>(resource_, OwnerInLoop(loop.poster(), owner, lifetime_))),
      // The start is random, because the names of an earlier process must not be reused.
      incarnation_(std::random_device()()) {}

Endpoint::~Endpoint() {
  listener_.reset();
  lifetime_.renew();
  resource_.feed->readers().close();
  // The deadline begins now, so that many endpoints that end together take no longer than one.
  server_->deadline = std::chrono::system_clock::now() + kShutdownDeadline;
  workers_.run([server = std::move(server_)]() mutable { server.reset(); }, [] {}, kShutdownIsWedged, [] {});
}

void Endpoint::listen_anew(const std::filesystem::path& directory) {
  ++incarnation_;
  socket_ = directory / plughost::socket_name(resource_.name, incarnation_);
  listen_again();
}

void Endpoint::listen_again() {
  listener_.reset();
  listener_.emplace(
      loop_, socket_,
      [this](UniqueFd connection, const ucred& peer) { on_connection(std::move(connection), peer); },
      [this](const std::string& what) { owner_.on_connection_error(what); });
}

bool Endpoint::owes_answer() const { return !server_->plugin.idle(); }

void Endpoint::on_connection(UniqueFd connection, const ucred& peer) {
  if (peer.uid != 0 && peer.uid != ::geteuid()) {
    owner_.on_connection_error("a connection of user " + std::to_string(peer.uid) +
                               " was refused: only root and plughost's own user have access");
    return;
  }
  const int fd = connection.release();
  server_->callers.record(fd, {.incarnation = incarnation_, .process = peer.pid});
  grpc::AddInsecureChannelFromFd(server_->server.get(), fd);
}

}  // namespace plughost
