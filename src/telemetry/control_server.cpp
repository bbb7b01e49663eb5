#include "telemetry/control_server.hpp"

#include <grp.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mutex>
#include <set>

#include "kubelet/news_stream.hpp"
#include "kubelet/pending_call.hpp"
#include "kubelet/unix_socket.hpp"
#include "plughost/v1/control.grpc.pb.h"
#include "telemetry/status_message.hpp"

namespace plughost {

namespace {

constexpr std::chrono::milliseconds kShutdownDeadline{200};

// Each new snapshot.
class StatusNews final : public News<v1::Status> {
 public:
  explicit StatusNews(Board& board) : board_(board), told_(board.newest().number) {}

  Readers& readers() override { return board_.readers(); }
  Next next(v1::Status& message) override {
    const Board::Newest newest = board_.newest();
    if (newest.number == told_) return Next::kNoneYet;
    told_ = newest.number;
    message = to_message(*newest.status);
    return Next::kMessage;
  }

 private:
  Board& board_;
  std::uint64_t told_;
};

class EventNews final : public News<v1::Event> {
 public:
  EventNews(LogHistory& history, std::uint64_t after, bool follow)
      : history_(history), told_(after), until_(follow ? UINT64_MAX : history.newest()) {}

  Readers& readers() override { return history_.readers(); }
  Next next(v1::Event& message) override {
    if (told_ >= until_) return Next::kEnd;
    const std::optional<LogHistory::Record> record = history_.after(told_);
    if (!record) return Next::kNoneYet;
    told_ = record->number;
    message = to_message(*record);
    return Next::kMessage;
  }

 private:
  LogHistory& history_;
  std::uint64_t told_;
  const std::uint64_t until_;
};

std::optional<LogLevel> level_of(const std::string& word) {
  for (const LogLevel level : {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarn, LogLevel::kError}) {
    if (word == level_name(level)) return level;
  }
  return std::nullopt;
}

class Service final : public v1::Control::CallbackService {
 public:
  explicit Service(Board& board) : board_(board) {}

  // Calls that wait are answered with an error.
  void close() {
    std::set<std::shared_ptr<PendingCall>> dropped;
    const std::lock_guard lock(mutex_);
    dropped.swap(waiting_);
  }

  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext* context, const v1::GetStatusRequest*,
                                      v1::Status* response) override {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    board_.ask_status([this, call = wait(reactor), response](const Board::Snapshot& status) {
      answer(call, [&] { *response = to_message(*status); });
    });
    return reactor;
  }

  grpc::ServerWriteReactor<v1::Status>* WatchStatus(grpc::CallbackServerContext*,
                                                    const v1::WatchStatusRequest*) override {
    auto* const stream = NewsStream<v1::Status>::open(std::make_unique<StatusNews>(board_));
    board_.watch();
    return stream;
  }

  grpc::ServerUnaryReactor* Reload(grpc::CallbackServerContext* context, const v1::ReloadRequest* request,
                                   v1::ReloadResponse* response) override {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    const std::optional<LogLevel> level = level_of(request->log_level());
    if (!level && !request->log_level().empty()) {
      reactor->Finish({grpc::StatusCode::INVALID_ARGUMENT, "the log level is debug, info, warn or error"});
      return reactor;
    }
    board_.ask_reload(level, [this, call = wait(reactor), response](const ReloadAnswer& told) {
      answer(call, [&] { *response = to_message(told); });
    });
    return reactor;
  }

  grpc::ServerWriteReactor<v1::Event>* ListEvents(grpc::CallbackServerContext*,
                                                  const v1::ListEventsRequest* request) override {
    LogHistory& history = board_.history();
    const std::uint64_t newest = history.newest();
    const std::uint64_t limit = request->limit() == 0 ? newest : request->limit();
    return NewsStream<v1::Event>::open(
        std::make_unique<EventNews>(history, newest > limit ? newest - limit : 0, request->follow()));
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

  Board& board_;
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
  explicit Served(Board& board) : service(board) {
    grpc::ServerBuilder builder;
    builder.RegisterService(&service);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, INT_MAX);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    server = builder.BuildAndStart();
    if (!server) throw std::runtime_error("gRPC cannot start a server");
  }
  ~Served() {
    service.close();
    server->Shutdown(std::chrono::system_clock::now() + kShutdownDeadline);
  }

  Service service;
  std::unique_ptr<grpc::Server> server;
};

ControlServer::ControlServer(EventLoop& loop, Log& log, Board& board, std::filesystem::path socket)
    : served_(std::make_unique<Served>(board)) {
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
