#include "telemetry/control_client.hpp"

#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>

#include "kubelet/unix_socket.hpp"
#include "plughost/v1/control.grpc.pb.h"

namespace plughost {

namespace {

// The daemon asks the kubelet, which may take two seconds, and reads files.
constexpr std::chrono::seconds kDeadline{15};
// A node's list of devices may be longer than gRPC's usual 4 MiB.
constexpr int kMostBytes = 256 << 20;

UniqueFd connected(const std::filesystem::path& socket) {
  try {
    return connect_unix(socket);
  } catch (const std::system_error& error) {
    const bool denied = error.code() == std::errc::permission_denied;
    throw NoAnswer("plughost does not answer: " + std::string(error.what()) +
                   (denied
                        ? " (root and members of the group plughost may ask)"
                        : " (is it running? `systemctl status plughost`; --control names another socket)"));
  }
}

}  // namespace

struct ControlClient::Connection {
  std::unique_ptr<v1::Control::Stub> stub;

  void check(const grpc::Status& status, const std::filesystem::path& socket) const {
    if (!status.ok())
      throw NoAnswer("plughost does not answer on " + socket.string() + ": " + status.error_message());
  }
};

ControlClient::ControlClient(std::filesystem::path socket)
    : socket_(std::move(socket)), connection_(std::make_unique<Connection>()) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMostBytes);
  connection_->stub = v1::Control::NewStub(
      grpc::CreateCustomInsecureChannelFromFd("localhost", connected(socket_).release(), arguments));
}

ControlClient::~ControlClient() = default;

v1::Status ControlClient::status() {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kDeadline);
  v1::Status status;
  connection_->check(connection_->stub->GetStatus(&context, {}, &status), socket_);
  return status;
}

v1::ReloadResponse ControlClient::reload(const std::string& log_level) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kDeadline);
  v1::ReloadRequest request;
  request.set_log_level(log_level);
  v1::ReloadResponse response;
  connection_->check(connection_->stub->Reload(&context, request, &response), socket_);
  return response;
}

namespace {

// Says whether the daemon has ended the stream by itself.
template <typename Message>
bool read_all(grpc::ClientContext& context, grpc::ClientReader<Message>& reader,
              const std::function<bool(const Message&)>& tell) {
  Message message;
  while (reader.Read(&message)) {
    if (tell(message)) continue;
    context.TryCancel();
    return false;
  }
  return true;
}

}  // namespace

void ControlClient::watch_status(const std::function<bool(const v1::Status&)>& tell) {
  grpc::ClientContext context;
  const auto reader = connection_->stub->WatchStatus(&context, {});
  const bool ended = read_all(context, *reader, tell);
  const grpc::Status status = reader->Finish();
  if (!ended) return;
  connection_->check(status, socket_);
  throw NoAnswer("plughost has stopped");
}

void ControlClient::events(unsigned limit, Follow follow, const std::function<bool(const v1::Event&)>& tell) {
  grpc::ClientContext context;
  v1::ListEventsRequest request;
  request.set_limit(limit);
  request.set_follow(follow == Follow::kYes);
  const auto reader = connection_->stub->ListEvents(&context, request);
  const bool ended = read_all(context, *reader, tell);
  const grpc::Status status = reader->Finish();
  if (!ended) return;
  connection_->check(status, socket_);
  if (follow == Follow::kYes) throw NoAnswer("plughost has stopped");
}

}  // namespace plughost
