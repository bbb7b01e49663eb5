#include "kubelet/dra_endpoint.hpp"

#include <fcntl.h>
#include <grpcpp/server_posix.h>

#include <cstdio>
#include <cstring>
#include <random>
#include <utility>

#include "kubelet/callers.hpp"
#include "kubelet/dead_socket.hpp"
#include "kubelet/dra_health.hpp"
#include "kubelet/dra_service.hpp"
#include "kubelet/file_identity.hpp"
#include "kubelet/grpc_server.hpp"
#include "kubelet/registry_service.hpp"
#include "kubelet/socket_name.hpp"
#include "kubelet/unix_socket.hpp"

namespace plughost {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::milliseconds kDriverShutdownDeadline{200};
constexpr std::chrono::seconds kDriverShutdownIsWedged{5};
// After what no event in the directory will tell the end of.
constexpr std::chrono::seconds kLookAgain{5};
// The end of one stream clears what the kubelet knows by another one, after that has been told.
constexpr std::chrono::seconds kRepeatAfter{2};

constexpr std::string_view kKeptPrefix = "driver-";

// What the name leads to: another socket of the same name has another.
std::string kept_name(const FileIdentity& file) {
  return std::string(kKeptPrefix) + std::to_string(file.device) + '-' + std::to_string(file.inode) + '-' +
         std::to_string(file.changed_ns);
}

// The kubelet does not see it.
std::string hidden(const std::string& name) {
  return '.' + name;
}

// Of a socket that an endpoint made; empty: it is something else.
fs::path made_for(int listening) {
  sockaddr_un address{};
  socklen_t size = sizeof address;
  int listens = 0;
  socklen_t listens_size = sizeof listens;
  if (::getsockopt(listening, SOL_SOCKET, SO_ACCEPTCONN, &listens, &listens_size) < 0 || listens == 0 ||
      ::getsockname(listening, reinterpret_cast<sockaddr*>(&address), &size) < 0 ||
      address.sun_family != AF_UNIX)
    return {};
  const fs::path bound(std::string(address.sun_path, ::strnlen(address.sun_path, sizeof address.sun_path)));
  const std::string name = bound.filename();
  return name.starts_with(hidden(std::string(kSocketPrefix))) ? bound.parent_path() / name.substr(1)
                                                              : fs::path();
}

// Does the name still lead to the socket that was kept?
bool leads_to(const fs::path& socket, const DescriptorStore::Kept& kept) {
  const auto file = identity_of(socket);
  return file && kept_name(*file) == kept.name;
}

void remove_kept(DescriptorStore& descriptors, const DescriptorStore::Kept& kept) {
  const fs::path socket = made_for(kept.fd.get());
  std::error_code ignored;
  if (!socket.empty() && leads_to(socket, kept)) fs::remove(socket, ignored);
  descriptors.drop(kept.name);
}

}  // namespace

// What gRPC's threads use, and what a worker takes down when the endpoint goes.
struct DraEndpoint::Server {
  Server(const std::string& driver, const InLoop<DraOwner>& owner, std::shared_ptr<HealthFeed> health,
         std::function<void(int)> health_readers, std::function<void(const std::string&)> registration)
      : claims(make_dra_services(driver, owner)),
        health_service(make_health_service(std::move(health), std::move(health_readers))),
        registry({.type = "DRAPlugin", .name = driver, .versions = {kDraV1, kDraV1Beta1, kDraHealth}},
                 {.asked = [](Caller) {},
                  .told = [registration = std::move(registration)](
                              Caller, const std::string& why) { registration(why); }},
                 callers) {
    server = start_grpc_server(
        {claims.services[0].get(), claims.services[1].get(), health_service.get(), &registry},
        ServerFilters::kNone);
  }
  ~Server() { server->Shutdown(deadline); }

  std::chrono::system_clock::time_point deadline = std::chrono::system_clock::now();
  Callers callers;
  DraServices claims;
  std::unique_ptr<grpc::Service> health_service;
  RegistryService registry;
  std::unique_ptr<grpc::Server> server;
};

DraEndpoint::DraEndpoint(Parts parts, DraOwner& owner, std::string driver, fs::path directory)
    : parts_(parts),
      owner_(owner),
      driver_(std::move(driver)),
      directory_(std::move(directory)),
      // A name that an earlier process used here must not come again.
      incarnation_(std::random_device()()),
      health_(std::make_shared<HealthFeed>()),
      server_(std::make_shared<Server>(
          driver_, InLoop<DraOwner>(parts.loop.poster(), owner, alive_), health_,
          [post = parts.loop.poster(), changed = lifetime_.bound([this](int change) {
            on_health_reader(change);
          })](int change) { post([changed, change] { changed(change); }); },
          [post = parts.loop.poster(), told = lifetime_.bound([this](const std::string& why) {
            on_registration(why);
          })](const std::string& why) { post([told, why] { told(why); }); })),
      retry_(parts.loop, [this] { look(); }),
      repeat_health_(parts.loop, [this] { health_->repeat(); }),
      watch_(parts.directories.watch(directory_, socket_name_beginning(driver_) + '*',
                                     [this](std::string_view) { on_names(); })) {
  // Before the first event: what was kept is to be answered at once.
  retry_.arm(std::chrono::milliseconds{0});
}

DraEndpoint::~DraEndpoint() {
  close_listener();
  alive_.reset();
  health_->readers().close();
  server_->claims.end_calls();
  server_->deadline = std::chrono::system_clock::now() + kDriverShutdownDeadline;
  parts_.workers.run([server = std::move(server_)]() mutable { server.reset(); }, [] {},
                     kDriverShutdownIsWedged, [] {});
}

void DraEndpoint::set_health(std::vector<PoolHealth> pools) {
  health_->set(std::move(pools));
}

void DraEndpoint::leave_to_successor() {
  left_ = true;
}

void DraEndpoint::remove_left(DescriptorStore& descriptors) {
  while (const auto kept = descriptors.take(std::string(kKeptPrefix))) remove_kept(descriptors, *kept);
}

void DraEndpoint::on_names() {
  // Another process of the driver may have gone, and its stream with it.
  if (health_readers_ > 0) repeat_health_.arm(kRepeatAfter);
  look();
}

void DraEndpoint::look() {
  if (listener_ && listener_->reachable()) return;
  try {
    close_listener();
    if (!listen_as_before()) listen_anew();
    told_trouble_.clear();
    retry_.cancel();
  } catch (const std::system_error& error) {
    // A directory's coming is an event.
    if (error.code() == std::errc::no_such_file_or_directory) return;
    trouble(std::string("the kubelet cannot find the driver: ") + error.what());
    retry_.arm(kLookAgain);
  }
}

bool DraEndpoint::listen_as_before() {
  const std::string beginning = socket_name_beginning(driver_);
  while (auto kept = parts_.descriptors.take(std::string(kKeptPrefix))) {
    const fs::path socket = made_for(kept->fd.get());
    if (socket.parent_path() == directory_ && socket.filename().string().starts_with(beginning) &&
        leads_to(socket, *kept)) {
      check(::fcntl(kept->fd.get(), F_SETFL, O_NONBLOCK), "fcntl");
      use(socket, std::move(kept->fd), std::move(kept->name));
      return true;
    }
    remove_kept(parts_.descriptors, *kept);
  }
  return false;
}

void DraEndpoint::listen_anew() {
  // Of another name only after it has been used: what hinders is told once.
  const std::string name = socket_name(driver_, incarnation_ + 1);
  const fs::path socket = directory_ / name;
  const fs::path before = directory_ / hidden(name);
  UniqueFd listening = listen_unix(before);
  if (::rename(before.c_str(), socket.c_str()) < 0) {
    const int error = errno;
    ::unlink(before.c_str());
    errno = error;
    throw_errno("rename " + before.string() + " to " + socket.string());
  }
  ++incarnation_;
  use(socket, std::move(listening), {});
}

void DraEndpoint::use(const fs::path& socket, UniqueFd listening, std::string kept_as) {
  listener_.emplace(
      parts_.loop, socket, std::move(listening),
      [this](UniqueFd connection, const ucred& peer) { on_connection(std::move(connection), peer); },
      [this](const std::string& what) { trouble(what); });
  kept_as_ = std::move(kept_as);
  if (!kept_as_.empty()) return;
  const auto file = identity_of(socket);
  if (!file) return;
  const std::string name = kept_name(*file);
  if (parts_.descriptors.put(name, listener_->descriptor())) kept_as_ = name;
}

void DraEndpoint::close_listener() {
  if (!listener_) return;
  const bool stays = left_ && !kept_as_.empty();
  if (stays)
    listener_->let_file_stay();
  else if (!kept_as_.empty())
    parts_.descriptors.drop(kept_as_);
  kept_as_.clear();
  listener_.reset();
}

void DraEndpoint::on_connection(UniqueFd connection, const ucred& peer) {
  if (peer.uid != 0 && peer.uid != ::geteuid()) {
    trouble("a connection of user " + std::to_string(peer.uid) +
            " to the driver was turned away: only root and our own user may ask");
    return;
  }
  const int fd = connection.release();
  server_->callers.note(fd, {.incarnation = 0, .process = peer.pid});
  grpc::AddInsecureChannelFromFd(server_->server.get(), fd);
}

void DraEndpoint::on_registration(const std::string& why) {
  if (!why.empty()) return owner_.on_registration_refused(why);
  // Now that it calls us, those of processes that are no more can go.
  const std::string beginning = socket_name_beginning(driver_);
  remove_dead_sockets(directory_, beginning);
  remove_dead_sockets(directory_, hidden(beginning));
  owner_.on_registered();
}

void DraEndpoint::on_health_reader(int change) {
  health_readers_ += static_cast<std::size_t>(change);
  repeat_health_.arm(kRepeatAfter);
  owner_.on_health_readers(health_readers_);
}

void DraEndpoint::trouble(const std::string& what) {
  if (std::exchange(told_trouble_, what) != what) owner_.on_endpoint_trouble(what);
}

}  // namespace plughost
