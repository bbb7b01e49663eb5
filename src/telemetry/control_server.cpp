#include "telemetry/control_server.hpp"

#include <grp.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mutex>
#include <set>

#include "base/log_levels.hpp"
#include "kubelet/grpc_server.hpp"
#include "kubelet/pending_call.hpp"
#include "kubelet/snapshot_stream.hpp"
#include "kubelet/unix_socket.hpp"
#include "plughost/v1/control.grpc.pb.h"

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

class Service final : public v1::Control::CallbackService {
 public:
  explicit Service(StatusRequests& requests) : requests_(requests) {}

  // Calls that wait are answered with an error.
  void close() {
    std::set<std::shared_ptr<PendingCall>> dropped;
    const std::lock_guard lock(mutex_);
    dropped.swap(waiting_);
  }

  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext* context, const v1::GetStatusRequest*,
                                      v1::JsonText* response) override {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    requests_.ask_status(
        [this, call = wait(reactor), response](const StatusRequests::SnapshotPointer& snapshot) {
          answer(call, [&] { response->set_text(snapshot->json()); });
        });
    return reactor;
  }

  grpc::ServerWriteReactor<v1::JsonText>* WatchStatus(grpc::CallbackServerContext*,
                                                      const v1::WatchStatusRequest*) override {
    auto* const stream = SnapshotStream<v1::JsonText>::open(std::make_unique<StatusSnapshots>(requests_));
    requests_.watch();
    return stream;
  }

  grpc::ServerUnaryReactor* Reload(grpc::CallbackServerContext* context, const v1::ReloadRequest* request,
                                   v1::JsonText* response) override {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    const std::optional<LogLevel> level = value_of(kLogLevels, request->log_level());
    if (!level && !request->log_level().empty()) {
      reactor->Finish({grpc::StatusCode::INVALID_ARGUMENT, "the log level is debug, info, warn or error"});
      return reactor;
    }
    requests_.ask_reload(level, [this, call = wait(reactor), response](const ReloadAnswer& told) {
      answer(call, [&] { response->set_text(told.json().dump()); });
    });
    return reactor;
  }

  grpc::ServerWriteReactor<v1::JsonText>* ListEvents(grpc::CallbackServerContext*,
                                                     const v1::ListEventsRequest* request) override {
    LogHistory& history = requests_.history();
    const std::uint64_t newest = history.newest();
    const std::uint64_t limit = request->limit() == 0 ? newest : request->limit();
    return SnapshotStream<v1::JsonText>::open(
        std::make_unique<EventSnapshots>(history, newest > limit ? newest - limit : 0, request->follow()));
  }

 private:
  std::weak_ptr<PendingCall> wait(grpc::ServerUnaryReactor* reactor) {
    const auto call = std::make_shared<PendingCall>(
        reactor, grpc::Status(grpc::StatusCode::UNAVAILABLE, "plughost is stopping"));
    const std::lock_guard lock(mutex_);
    waiting_.insert(call);
    return call;
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

  StatusRequests& requests_;
  std::mutex mutex_;
  std::set<std::shared_ptr<PendingCall>> waiting_;
};

// A socket that nobody listens on is what a killed daemon left.
void clear_the_way(const std::filesystem::path& socket) {
  try {
    connect_unix(socket);
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::connection_refused) std::filesystem::remove(socket);
    return;
  }
  throw std::runtime_error("another plughost answers on " + socket.string());
}

std::filesystem::path prepared(std::filesystem::path socket) {
  std::filesystem::create_directories(socket.parent_path());
  clear_the_way(socket);
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
      : service(requests), server(start_grpc_server({&service}, ServerFilters::kUsual)) {}
  ~Served() {
    service.close();
    server->Shutdown(std::chrono::system_clock::now() + kShutdownDeadline);
  }

  Service service;
  std::unique_ptr<grpc::Server> server;
};

ControlServer::ControlServer(EventLoop& loop, Log& log, StatusRequests& requests,
                             std::filesystem::path socket)
    : served_(std::make_unique<Served>(requests)) {
  listener_.emplace(
      loop, prepared(std::move(socket)),
      // Who may connect is the file's mode's affair.
      [this](UniqueFd connection, const ucred&) {
        grpc::AddInsecureChannelFromFd(served_->server.get(), connection.release());
      },
      [&log](const std::string& what) {
        log.warn(what, {{"socket", "control"}});
      });
  open_to_group(listener_->path());
}

ControlServer::~ControlServer() = default;

}  // namespace plughost
