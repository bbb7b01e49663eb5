#include "standin/plugin_client.hpp"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include "device/inventory.hpp"

namespace plughost {

namespace {

// gRPC's way of waiting for a connection needs a thread of its own.
constexpr std::chrono::milliseconds kDialLook{1};

std::shared_ptr<grpc::Channel> make_channel(const std::filesystem::path& socket,
                                            const std::string& authority) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(static_cast<int>(kKubeletMessageLimit));
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  if (!authority.empty()) arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, authority);
  return grpc::CreateCustomChannel("unix:" + socket.string(), grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

PluginClient::PluginClient(EventLoop& loop, CallsUnderWay& calls, const std::filesystem::path& socket,
                           const std::string& authority)
    : loop_(loop),
      calls_(calls),
      channel_(make_channel(socket, authority)),
      plugin_(v1beta1::DevicePlugin::NewStub(channel_)),
      dial_timer_(loop, [this] { look_at_dial(); }) {}

PluginClient::~PluginClient() = default;

void PluginClient::dial(std::chrono::milliseconds timeout, std::function<void(bool)> done) {
  dialled_ = std::move(done);
  dial_until_ = EventLoop::Clock::now() + timeout;
  channel_->GetState(true);
  dial_timer_.arm(kDialLook);
}

void PluginClient::look_at_dial() {
  const bool connected = channel_->GetState(true) == GRPC_CHANNEL_READY;
  if (!connected && EventLoop::Clock::now() < dial_until_) {
    dial_timer_.arm(kDialLook);
    return;
  }
  const auto keep = shared_from_this();
  const auto done = std::exchange(dialled_, nullptr);
  done(connected);
}

void PluginClient::close() {
  closed_ = true;
  dial_timer_.cancel();
  const auto keep = shared_from_this();
  dialled_ = nullptr;
  for (const auto& [context, cancel] : cancels_) cancel();
}

bool PluginClient::begin_call(const grpc::ClientContext& context, std::function<void()> cancel) {
  calls_.begin();
  cancels_.emplace(&context, std::move(cancel));
  return !closed_;
}

void PluginClient::end_call(const grpc::ClientContext& context) {
  cancels_.erase(&context);
  calls_.end();
}

}  // namespace plughost
