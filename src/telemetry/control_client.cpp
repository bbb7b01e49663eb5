#include "telemetry/control_client.hpp"

#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "kubelet/unix_socket.hpp"
#include "plughost/v1/control.grpc.pb.h"

namespace plughost {

namespace {

// A node's list of devices may be longer than gRPC's usual 4 MiB.
constexpr int kMostBytes = 256 << 20;

UniqueFd connected(const std::filesystem::path& socket) {
  try {
    return connect_unix(socket);
  } catch (const std::system_error& error) {
    const std::string why = "plughost does not answer: " + std::string(error.what());
    if (error.code() == std::errc::permission_denied)
      throw NoAnswer(why + " (root and members of the group plughost may ask)");
    throw NotThere(why + " (is it running? `systemctl status plughost`; --control names another socket)");
  }
}

// Cancels a call whose first answer does not come within ControlClient::kDeadline: a stream has no deadline
// of its own.
class FirstAnswer {
 public:
  explicit FirstAnswer(grpc::ClientContext& context)
      : thread_([this, &context](const std::stop_token& came) {
          std::unique_lock lock(mutex_);
          wake_.wait_for(lock, came, ControlClient::kDeadline, [] { return false; });
          if (came.stop_requested()) return;
          late_ = true;
          context.TryCancel();
        }) {}

  void came() { thread_.request_stop(); }
  bool late() const {
    const std::lock_guard lock(mutex_);
    return late_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  bool late_ = false;
  std::jthread thread_;
};

}  // namespace

struct ControlClient::Connection {
  std::filesystem::path socket;
  std::unique_ptr<v1::Control::Stub> stub;

  Json parsed(const v1::JsonText& answer) const {
    try {
      return Json::parse(answer.text());
    } catch (const std::runtime_error& error) {
      throw NoAnswer("plughost on " + socket.string() + " answers what is not understood: " + error.what());
    }
  }

  void check(const grpc::Status& status) const {
    if (!status.ok())
      throw NoAnswer("plughost does not answer on " + socket.string() + ": " + status.error_message());
  }

  template <typename Request>
  Json ask(grpc::Status (v1::Control::Stub::*method)(grpc::ClientContext*, const Request&, v1::JsonText*),
           const Request& request, std::chrono::seconds deadline = kDeadline) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + deadline);
    v1::JsonText answer;
    check(((*stub).*method)(&context, request, &answer));
    return parsed(answer);
  }

  // Says whether the daemon has ended the stream by itself.
  template <typename Request>
  bool follow(std::unique_ptr<grpc::ClientReader<v1::JsonText>> (v1::Control::Stub::*method)(
                  grpc::ClientContext*, const Request&),
              const Request& request, const Tell& tell) {
    grpc::ClientContext context;
    FirstAnswer first(context);
    const auto reader = ((*stub).*method)(&context, request);
    v1::JsonText message;
    while (reader->Read(&message)) {
      first.came();
      if (tell(parsed(message))) continue;
      context.TryCancel();
      reader->Finish();
      return false;
    }
    const grpc::Status status = reader->Finish();
    if (first.late())
      throw NoAnswer("plughost does not answer on " + socket.string() + ": no answer within " +
                     std::to_string(ControlClient::kDeadline.count()) + " seconds");
    check(status);
    return true;
  }
};

ControlClient::ControlClient(const std::filesystem::path& socket)
    : connection_(std::make_unique<Connection>(Connection{socket, nullptr})) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMostBytes);
  connection_->stub = v1::Control::NewStub(
      grpc::CreateCustomInsecureChannelFromFd("localhost", connected(socket).release(), arguments));
}

ControlClient::~ControlClient() = default;

Json ControlClient::status(std::chrono::seconds deadline) {
  return connection_->ask(&v1::Control::Stub::GetStatus, v1::GetStatusRequest(), deadline);
}

Json ControlClient::reload(const std::string& log_level, std::optional<std::chrono::seconds> confirm) {
  v1::ReloadRequest request;
  request.set_log_level(log_level);
  if (confirm) request.set_confirm_seconds(static_cast<std::uint64_t>(confirm->count()));
  return connection_->ask(&v1::Control::Stub::Reload, request);
}

Json ControlClient::keep() {
  return connection_->ask(&v1::Control::Stub::Keep, v1::KeepRequest());
}

Json ControlClient::drain(const DrainOrder& order) {
  const auto name = [&](auto request) {
    request.set_resource(order.resource);
    request.set_device(order.device);
    return request;
  };
  if (!order.terms) return connection_->ask(&v1::Control::Stub::Undrain, name(v1::UndrainRequest()));
  auto request = name(v1::DrainRequest());
  request.set_reason(order.terms->reason);
  if (order.terms->duration) request.set_seconds(static_cast<std::uint64_t>(order.terms->duration->count()));
  return connection_->ask(&v1::Control::Stub::Drain, request);
}

void ControlClient::watch_status(const Tell& tell) {
  if (connection_->follow(&v1::Control::Stub::WatchStatus, v1::WatchStatusRequest(), tell))
    throw NoAnswer("plughost has stopped");
}

void ControlClient::events(unsigned limit, Follow follow, const Tell& tell) {
  v1::ListEventsRequest request;
  request.set_limit(limit);
  request.set_follow(follow == Follow::kYes);
  const bool ended = connection_->follow(&v1::Control::Stub::ListEvents, request, tell);
  if (ended && follow == Follow::kYes) throw NoAnswer("plughost has stopped");
}

}  // namespace plughost
