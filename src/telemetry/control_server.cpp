#include "telemetry/control_server.hpp"

#include <grp.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "base/log_levels.hpp"
#include "kubelet/dead_socket.hpp"
#include "kubelet/grpc_server.hpp"
#include "kubelet/pending_call.hpp"
#include "kubelet/snapshot_stream.hpp"
#include "plughost/v1/control.grpc.pb.h"
#include "telemetry/relay.hpp"

namespace plughost {

namespace {

constexpr std::chrono::milliseconds kShutdownDeadline{200};

// Each new snapshot.
class StatusSnapshots final : public Snapshots<v1::JsonText> {
 public:
  explicit StatusSnapshots(StatusRequests& requests) : requests_(requests), told_(requests.newest().number) {}

  Readers& readers() override { return requests_.readers(); }
  Next next(v1::JsonText& message) override {
    const StatusRequests::Newest newest = requests_.newest();
    if (newest.number == told_) return Next::kNoneYet;
    told_ = newest.number;
    message.set_text(newest.snapshot->json());
    return Next::kMessage;
  }

 private:
  StatusRequests& requests_;
  std::uint64_t told_;
};

class EventSnapshots final : public Snapshots<v1::JsonText> {
 public:
  EventSnapshots(LogHistory& history, std::uint64_t after, bool follow)
      : history_(history), told_(after), until_(follow ? UINT64_MAX : history.newest()) {}

  Readers& readers() override { return history_.readers(); }
  Next next(v1::JsonText& message) override {
    if (told_ >= until_) return Next::kEnd;
    const std::optional<LogHistory::Record> record = history_.after(told_);
    if (!record) return Next::kNoneYet;
    told_ = record->number;
    message.set_text(record->json().dump());
    return Next::kMessage;
  }

 private:
  LogHistory& history_;
  std::uint64_t told_;
  const std::uint64_t until_;
};

// gRPC deletes what it needs no more.
class CountedReactor final : public grpc::ServerUnaryReactor {
 public:
  explicit CountedReactor(std::function<void()> on_done) : on_done_(std::move(on_done)) {}
  void OnDone() override {
    on_done_();
    delete this;
  }

 private:
  std::function<void()> on_done_;
};

// Calls that are answered later: so many at once, those included whose answer the caller has not taken.
class Calls : public std::enable_shared_from_this<Calls> {
 public:
  explicit Calls(std::string what) : what_(std::move(what)) {}

  struct Opened {
    grpc::ServerUnaryReactor* reactor;  // gRPC's from now on
    std::weak_ptr<PendingCall> call;    // gone: it is answered already
  };
  Opened open() {
    const bool too_many = ++count_ > ControlServer::kMostCalls;
    if (too_many) --count_;
    auto* const reactor = new CountedReactor([calls = shared_from_this(), too_many] {
      if (!too_many) --calls->count_;
    });
    const auto call = std::make_shared<PendingCall>(reactor, too_many ? busy() : stopping());
    const std::lock_guard lock(mutex_);
    if (!closed_ && !too_many) waiting_.insert(call);
    return {reactor, call};
  }

  // Calls that wait are answered with an error, and so is whoever comes later.
  void close() {
    std::set<std::shared_ptr<PendingCall>> dropped;
    const std::lock_guard lock(mutex_);
    closed_ = true;
    dropped.swap(waiting_);
  }

  // write is called if somebody still waits; the response lives until then.
  template <typename Write>
  void answer(const std::weak_ptr<PendingCall>& waiting, Write write) {
    const std::shared_ptr<PendingCall> call = waiting.lock();
    if (!call) return;
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.erase(call) == 0) return;
    }
    write();
    call->answer(grpc::Status::OK);
  }

 private:
  grpc::Status busy() const {
    return {grpc::StatusCode::RESOURCE_EXHAUSTED,
            std::to_string(ControlServer::kMostCalls) + ' ' + what_ +
                " wait for an answer already: try again when they have it"};
  }
  static grpc::Status stopping() {
    return {grpc::StatusCode::UNAVAILABLE, "plughost is stopping, or listens elsewhere now"};
  }

  const std::string what_;
  std::atomic<unsigned> count_{0};
  std::mutex mutex_;
  bool closed_ = false;
  std::set<std::shared_ptr<PendingCall>> waiting_;
};

// Calls that are told what is new, until they end.
class Streams {
 public:
  // nullptr: there are too many.
  grpc::ServerWriteReactor<v1::JsonText>* open(std::unique_ptr<Snapshots<v1::JsonText>> snapshots) {
    if (++*count_ <= ControlServer::kMostStreams)
      return SnapshotStream<v1::JsonText>::open(std::move(snapshots), [count = count_] { --*count; });
    --*count_;
    return new Refused({grpc::StatusCode::RESOURCE_EXHAUSTED, std::to_string(ControlServer::kMostStreams) +
                                                                  " callers follow the status or the events "
                                                                  "already: end one of them"});
  }

 private:
  class Refused final : public grpc::ServerWriteReactor<v1::JsonText> {
   public:
    explicit Refused(const grpc::Status& why) { Finish(why); }
    void OnDone() override { delete this; }
  };

  const std::shared_ptr<std::atomic<unsigned>> count_ = std::make_shared<std::atomic<unsigned>>(0);
};

// Who is at the other end of the connections that gRPC was handed. Thread-safe.
class Users {
 public:
  void note(int connection, uid_t user) {
    const std::lock_guard lock(mutex_);
    by_peer_["fd:" + std::to_string(connection)] = user;
  }
  // peer: of a call.
  bool may_drain(const std::string& peer) const {
    const std::lock_guard lock(mutex_);
    const auto user = by_peer_.find(peer);
    return user != by_peer_.end() && (user->second == 0 || user->second == ::geteuid());
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, uid_t> by_peer_;  // never forgotten: descriptors are few and reused
};

class Service final : public v1::Control::CallbackService {
 public:
  Service(StatusRequests& requests, const Users& users) : requests_(requests), users_(users) {}

  void close() {
    status_calls_->close();
    reload_calls_->close();
    drain_calls_->close();
  }

  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext*, const v1::GetStatusRequest*,
                                      v1::JsonText* response) override {
    const Calls::Opened opened = status_calls_->open();
    if (opened.call.expired()) return opened.reactor;
    requests_.ask_status(WithHolders::kYes, [calls = status_calls_, call = opened.call,
                                             response](const StatusRequests::SnapshotPointer& snapshot) {
      calls->answer(call, [&] { response->set_text(snapshot->json()); });
    });
    return opened.reactor;
  }

  grpc::ServerWriteReactor<v1::JsonText>* WatchStatus(grpc::CallbackServerContext*,
                                                      const v1::WatchStatusRequest*) override {
    auto* const stream = streams_.open(std::make_unique<StatusSnapshots>(requests_));
    requests_.watch();
    return stream;
  }

  grpc::ServerUnaryReactor* Reload(grpc::CallbackServerContext* context, const v1::ReloadRequest* request,
                                   v1::JsonText* response) override {
    ReloadOrder order{.level = value_of(kLogLevels, request->log_level())};
    if (!order.level && !request->log_level().empty())
      return refuse(*context, "the log level is debug, info, warn or error");
    if (const std::uint64_t seconds = request->confirm_seconds(); seconds > 0) {
      if (seconds > static_cast<std::uint64_t>(kLongestTrial.count()))
        return refuse(*context, "a configuration is on trial for a second to a day");
      order.confirm = std::chrono::seconds(seconds);
    }
    const Calls::Opened opened = reload_calls_->open();
    if (opened.call.expired()) return opened.reactor;
    requests_.ask_reload(order,
                         [calls = reload_calls_, call = opened.call, response](const ReloadAnswer& told) {
                           calls->answer(call, [&] { response->set_text(told.json().dump()); });
                         });
    return opened.reactor;
  }

  grpc::ServerUnaryReactor* Keep(grpc::CallbackServerContext*, const v1::KeepRequest*,
                                 v1::JsonText* response) override {
    const Calls::Opened opened = reload_calls_->open();
    if (opened.call.expired()) return opened.reactor;
    requests_.ask_keep([calls = reload_calls_, call = opened.call, response](const std::string& error) {
      calls->answer(call, [&] { response->set_text(Json{{"error", error}}.dump()); });
    });
    return opened.reactor;
  }

  grpc::ServerUnaryReactor* Drain(grpc::CallbackServerContext* context, const v1::DrainRequest* request,
                                  v1::JsonText* response) override {
    DrainOrder::Terms terms{.reason = request->reason(), .duration = std::nullopt};
    // What no duration can be is refused as too long.
    if (request->seconds() > 0)
      terms.duration =
          std::chrono::seconds(std::min<std::uint64_t>(request->seconds(), DrainOrder::kLongest.count() + 1));
    return drain(*context, {request->resource(), request->device(), std::move(terms)}, response);
  }
  grpc::ServerUnaryReactor* Undrain(grpc::CallbackServerContext* context, const v1::UndrainRequest* request,
                                    v1::JsonText* response) override {
    return drain(*context, {request->resource(), request->device(), std::nullopt}, response);
  }

  grpc::ServerWriteReactor<v1::JsonText>* ListEvents(grpc::CallbackServerContext*,
                                                     const v1::ListEventsRequest* request) override {
    LogHistory& history = requests_.history();
    const std::uint64_t newest = history.newest();
    const std::uint64_t limit = request->limit() == 0 ? newest : request->limit();
    return streams_.open(
        std::make_unique<EventSnapshots>(history, newest > limit ? newest - limit : 0, request->follow()));
  }

 private:
  static grpc::ServerUnaryReactor* refuse(grpc::CallbackServerContext& context, const char* why) {
    grpc::ServerUnaryReactor* const reactor = context.DefaultReactor();
    reactor->Finish({grpc::StatusCode::INVALID_ARGUMENT, why});
    return reactor;
  }

  grpc::ServerUnaryReactor* drain(grpc::CallbackServerContext& context, DrainOrder order,
                                  v1::JsonText* response) {
    if (!users_.may_drain(context.peer())) {
      grpc::ServerUnaryReactor* const reactor = context.DefaultReactor();
      response->set_text(
          DrainAnswer{.error = "only root may take a device out of service, and back into it"}.json().dump());
      reactor->Finish(grpc::Status::OK);
      return reactor;
    }
    const Calls::Opened opened = drain_calls_->open();
    if (opened.call.expired()) return opened.reactor;
    requests_.ask_drain(std::move(order),
                        [calls = drain_calls_, call = opened.call, response](const DrainAnswer& told) {
                          calls->answer(call, [&] { response->set_text(told.json().dump()); });
                        });
    return opened.reactor;
  }

  StatusRequests& requests_;
  const Users& users_;
  // An administrator's reload does not wait behind those who look.
  const std::shared_ptr<Calls> status_calls_ = std::make_shared<Calls>("questions for the status");
  const std::shared_ptr<Calls> reload_calls_ = std::make_shared<Calls>("reloads");
  const std::shared_ptr<Calls> drain_calls_ = std::make_shared<Calls>("drains");
  Streams streams_;
};

// Connections that were handed to gRPC, which does not tell when one has ended.
class OpenConnections {
 public:
  // False: there are too many.
  bool add(int fd) {
    std::erase_if(open_, [](const auto& each) { return cookie_of(each.first) != each.second; });
    if (open_.size() >= ControlServer::kMostConnections) return false;
    open_[fd] = cookie_of(fd);
    return true;
  }

 private:
  // No other socket has or gets it, while a descriptor's number comes again.
  static std::uint64_t cookie_of(int fd) {
    std::uint64_t cookie = 0;
    socklen_t size = sizeof cookie;
    return ::getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &size) == 0 ? cookie : 0;
  }

  std::map<int, std::uint64_t> open_;
};

std::filesystem::path prepared(std::filesystem::path socket) {
  std::filesystem::create_directories(socket.parent_path());
  if (const auto dead = dead_socket(socket)) remove_dead_socket(socket, *dead);
  return socket;
}

void open_to_group(const std::filesystem::path& socket) {
  group* const found = ::getgrnam(kControlGroup);
  if (found == nullptr) return;
  check(::chown(socket.c_str(), static_cast<uid_t>(-1), found->gr_gid), "chown " + socket.string());
  check(::chmod(socket.c_str(), 0660), "chmod " + socket.string());
}

}  // namespace

struct ControlServer::Served {
  explicit Served(StatusRequests& requests)
      : service(requests, users), server(start_grpc_server({&service}, ServerFilters::kUsual)) {}
  ~Served() {
    service.close();
    server->Shutdown(std::chrono::system_clock::now() + kShutdownDeadline);
    server.reset();
  }

  Users users;
  Service service;
  std::unique_ptr<grpc::Server> server;
  OpenConnections connections;
  std::optional<Relay> relay;  // from the first connection on
  bool in_trouble = false;
};

ControlServer::ControlServer(EventLoop& loop, Log& log, StatusRequests& requests,
                             std::filesystem::path socket)
    : log_(log), served_(std::make_unique<Served>(requests)) {
  listener_.emplace(
      loop, prepared(std::move(socket)),
      [this](UniqueFd connection, const ucred& peer) { on_connection(std::move(connection), peer); },
      [this](const std::string& what) {
        log_.warn(what, {{"socket", "control"}});
      });
  open_to_group(listener_->path());
}

ControlServer::~ControlServer() = default;

void ControlServer::stop_listening() {
  listener_.reset();
}

// Who may connect is the file's mode's affair; but root is never kept out by others.
void ControlServer::on_connection(UniqueFd connection, const ucred& peer) {
  const bool room = served_->connections.add(connection.get());
  const bool former_trouble = std::exchange(served_->in_trouble, !room);
  if (!room && !former_trouble)
    log_.warn("too many connections to the control socket: only root gets another one",
              {{"most", std::to_string(kMostConnections)}, {"user", std::to_string(peer.uid)}});
  if (!room && peer.uid != 0) return;
  try {
    if (!served_->relay) {
      served_->relay.emplace([&log = log_, told = false]() mutable {
        if (!std::exchange(told, true))
          log.warn("a client of the control socket has sent headers without end, and was cut off");
      });
    }
    const int relayed = served_->relay->add(std::move(connection)).release();
    served_->users.note(relayed, peer.uid);
    grpc::AddInsecureChannelFromFd(served_->server.get(), relayed);
  } catch (const std::system_error& error) {
    log_.warn("a connection to the control socket cannot be served", {{"why", error.what()}});
  }
}

}  // namespace plughost
