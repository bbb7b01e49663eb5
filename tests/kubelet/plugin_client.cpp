#include "kubelet/plugin_client.hpp"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "deviceplugin/v1beta1/deviceplugin.grpc.pb.h"
#include "model/device/inventory.hpp"
#include "pluginregistration/v1/pluginregistration.grpc.pb.h"

namespace plughost {
namespace {

using Plugin = v1beta1::DevicePlugin;
using Registration = pluginregistration::Registration;
using PluginCalls = Plugin::StubInterface::async_interface;
using RegistrationCalls = Registration::StubInterface::async_interface;

// Interval at which the loop checks whether the channel has connected: gRPC's own wait would need a thread.
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

CallEnd to_end(const grpc::Status& status) {
  return {static_cast<int>(status.error_code()), status.error_message()};
}

// If an id is repeated, the last device counts.
std::vector<ListedDevice> to_devices(const v1beta1::ListAndWatchResponse& response) {
  std::map<std::string, ListedDevice> by_id;
  for (const auto& device : response.devices()) {
    ListedDevice listed{device.id(), device.health() == "Healthy", {}};
    for (const auto& node : device.topology().nodes()) listed.numa_nodes.push_back(node.id());
    by_id.insert_or_assign(device.id(), std::move(listed));
  }
  std::vector<ListedDevice> devices;
  devices.reserve(by_id.size());
  for (auto& [id, device] : by_id) devices.push_back(std::move(device));
  return devices;
}

template <typename Repeated>
std::vector<std::string> to_texts(const Repeated& texts) {
  return {texts.begin(), texts.end()};
}

}  // namespace

struct PluginClient::Connection : std::enable_shared_from_this<Connection> {
  Connection(EventLoop& its_loop, CallsUnderWay& all_calls, const std::filesystem::path& socket,
             const std::string& authority)
      : loop(its_loop),
        calls(all_calls),
        channel(make_channel(socket, authority)),
        plugin(Plugin::NewStub(channel)),
        registration(Registration::NewStub(channel)),
        dial_timer(loop, [this] { look_at_dial(); }) {}

  template <typename Request, typename Response>
  struct Call {
    std::shared_ptr<Connection> connection;
    Request request;
    std::function<void(const CallEnd&, const Response&)> done;
    Response response;
    grpc::ClientContext context;  // destroyed before the connection, whose channel it uses
  };

  // Makes one call through a stub's async(). Without `timeout` the call has no deadline.
  template <typename Async, typename Request, typename Response>
  void call(Async* stub,
            void (Async::*method)(grpc::ClientContext*, const Request*, Response*,
                                  std::function<void(grpc::Status)>),
            Request request, std::optional<Timeout> timeout,
            std::type_identity_t<std::function<void(const CallEnd&, const Response&)>> done);

  PluginCalls* plugin_calls() { return plugin->async(); }
  RegistrationCalls* registration_calls() { return registration->async(); }

  // Registers a call that is made elsewhere. close() calls `cancel`. If the connection is closed already,
  // returns false, and the caller must cancel the call.
  bool begin_call(const grpc::ClientContext& context, std::function<void()> cancel);
  void end_call(const grpc::ClientContext& context);
  void look_at_dial();

  EventLoop& loop;
  CallsUnderWay& calls;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<Plugin::Stub> plugin;
  std::unique_ptr<Registration::Stub> registration;
  std::unordered_map<const grpc::ClientContext*, std::function<void()>> cancels;
  bool closed = false;
  std::function<void(bool)> dialled;
  EventLoop::Clock::time_point dial_until;
  Timer dial_timer;
};

template <typename Async, typename Request, typename Response>
void PluginClient::Connection::call(
    Async* stub,
    void (Async::*method)(grpc::ClientContext*, const Request*, Response*, std::function<void(grpc::Status)>),
    Request request, std::optional<Timeout> timeout,
    std::type_identity_t<std::function<void(const CallEnd&, const Response&)>> done) {
  // gRPC's callback owns `call` by a plain pointer until the loop takes ownership.
  auto* call = new Call<Request, Response>{shared_from_this(), std::move(request), std::move(done), {}, {}};
  if (timeout) call->context.set_deadline(std::chrono::system_clock::now() + *timeout);
  const bool open = begin_call(call->context, [call] { call->context.TryCancel(); });
  (stub->*method)(&call->context, &call->request, &call->response,
                  [call, post = loop.poster()](const grpc::Status& status) {
                    post([owned = std::shared_ptr<Call<Request, Response>>(call), status] {
                      owned->done(to_end(status), owned->response);
                      owned->connection->end_call(owned->context);
                    });
                  });
  if (!open) call->context.TryCancel();
}

bool PluginClient::Connection::begin_call(const grpc::ClientContext& context, std::function<void()> cancel) {
  calls.begin();
  cancels.emplace(&context, std::move(cancel));
  return !closed;
}

void PluginClient::Connection::end_call(const grpc::ClientContext& context) {
  cancels.erase(&context);
  calls.end();
}

void PluginClient::Connection::look_at_dial() {
  const bool connected = channel->GetState(true) == GRPC_CHANNEL_READY;
  if (!connected && EventLoop::Clock::now() < dial_until) {
    dial_timer.arm(kDialLook);
    return;
  }
  const auto keep = shared_from_this();
  const auto done = std::exchange(dialled, nullptr);
  done(connected);
}

// The methods On… run in gRPC's threads. The object owns itself from open() until the stream has ended.
class PluginClient::StreamReader final : public ListReader,
                                         public grpc::ClientReadReactor<v1beta1::ListAndWatchResponse> {
 public:
  static std::shared_ptr<StreamReader> open(std::shared_ptr<Connection> connection, bool paused,
                                            OnList on_list, OnEnd on_end) {
    auto reader =
        std::make_shared<StreamReader>(std::move(connection), std::move(on_list), std::move(on_end));
    reader->self_ = reader;
    reader->paused_ = paused;
    Connection& client = *reader->connection_;
    const bool open = client.begin_call(reader->context_, [raw = reader.get()] { raw->cancel(); });
    client.plugin->async()->ListAndWatch(&reader->context_, &reader->request_, reader.get());
    reader->AddHold();
    reader->held_ = true;
    reader->read_on();
    reader->StartCall();
    if (!open) reader->cancel();
    return reader;
  }

  StreamReader(std::shared_ptr<Connection> connection, OnList on_list, OnEnd on_end)
      : connection_(std::move(connection)), on_list_(std::move(on_list)), on_end_(std::move(on_end)) {}

  void pause(bool paused) override {
    paused_ = paused;
    read_on();
  }

  void cancel() override {
    context_.TryCancel();
    if (!reading_) release();
  }

 private:
  void OnReadDone(bool ok) override {
    connection_->loop.poster()([this, ok] {
      reading_ = false;
      if (!ok) return release();
      on_list_(to_devices(message_));
      read_on();
    });
  }

  void OnDone(const grpc::Status& status) override {
    // The loop may destroy connection_ before OnDone returns.
    const EventLoop::Poster post = connection_->loop.poster();
    post([this, status] {
      const auto keep = std::move(self_);
      on_end_(to_end(status));
      connection_->end_call(context_);
    });
  }

  void read_on() {
    if (paused_ || reading_ || !held_) return;
    reading_ = true;
    StartRead(&message_);
  }

  void release() {
    if (std::exchange(held_, false)) RemoveHold();
  }

  std::shared_ptr<Connection> connection_;
  OnList on_list_;
  OnEnd on_end_;
  v1beta1::Empty request_;
  v1beta1::ListAndWatchResponse message_;
  bool paused_ = false;
  bool reading_ = false;
  bool held_ = false;  // gRPC keeps the stream open for reads that the loop starts
  std::shared_ptr<StreamReader> self_;
  grpc::ClientContext context_;
};

PluginClient::PluginClient(EventLoop& loop, CallsUnderWay& calls, const std::filesystem::path& socket,
                           const std::string& authority)
    : connection_(std::make_shared<Connection>(loop, calls, socket, authority)) {}

PluginClient::~PluginClient() = default;

void PluginClient::dial(Timeout timeout, std::function<void(bool)> done) {
  connection_->dialled = std::move(done);
  connection_->dial_until = EventLoop::Clock::now() + timeout;
  connection_->channel->GetState(true);
  connection_->dial_timer.arm(kDialLook);
}

void PluginClient::close() {
  const auto keep = connection_;
  keep->closed = true;
  keep->dial_timer.cancel();
  keep->dialled = nullptr;
  for (const auto& [context, cancel] : keep->cancels) cancel();
}

void PluginClient::ask_options(Done<EndpointOptions> done) {
  connection_->call(
      connection_->plugin_calls(), &PluginCalls::GetDevicePluginOptions, v1beta1::Empty(), std::nullopt,
      [done = std::move(done)](const CallEnd& end, const v1beta1::DevicePluginOptions& options) {
        done(end, {options.pre_start_required(), options.get_preferred_allocation_available()});
      });
}

void PluginClient::allocate(const std::vector<std::string>& ids, Done<Containers> done) {
  v1beta1::AllocateRequest request;
  auto& container = *request.add_container_requests();
  for (const std::string& id : ids) container.add_devices_ids(id);
  connection_->call(connection_->plugin_calls(), &PluginCalls::Allocate, std::move(request), std::nullopt,
                    [done = std::move(done)](const CallEnd& end, const v1beta1::AllocateResponse& response) {
                      Containers containers;
                      for (const auto& each : response.container_responses())
                        containers.push_back(each.SerializeAsString());
                      done(end, containers);
                    });
}

void PluginClient::ask_preferred(const std::vector<std::string>& available,
                                 const std::vector<std::string>& must_include, int size,
                                 Done<std::vector<std::vector<std::string>>> done) {
  v1beta1::PreferredAllocationRequest request;
  auto& container = *request.add_container_requests();
  for (const std::string& id : available) container.add_available_deviceids(id);
  for (const std::string& id : must_include) container.add_must_include_deviceids(id);
  container.set_allocation_size(size);
  connection_->call(
      connection_->plugin_calls(), &PluginCalls::GetPreferredAllocation, std::move(request), std::nullopt,
      [done = std::move(done)](const CallEnd& end, const v1beta1::PreferredAllocationResponse& response) {
        std::vector<std::vector<std::string>> containers;
        for (const auto& each : response.container_responses())
          containers.push_back(to_texts(each.deviceids()));
        done(end, containers);
      });
}

void PluginClient::start_container(const std::vector<std::string>& ids, Timeout timeout,
                                   std::function<void(const CallEnd&)> done) {
  v1beta1::PreStartContainerRequest request;
  for (const std::string& id : ids) request.add_devices_ids(id);
  connection_->call(
      connection_->plugin_calls(), &PluginCalls::PreStartContainer, std::move(request), timeout,
      [done = std::move(done)](const CallEnd& end, const v1beta1::PreStartContainerResponse&) { done(end); });
}

std::shared_ptr<ListReader> PluginClient::read_list(bool paused, ListReader::OnList on_list,
                                                    ListReader::OnEnd on_end) {
  return StreamReader::open(connection_, paused, std::move(on_list), std::move(on_end));
}

void PluginClient::ask_info(Timeout timeout, Done<PluginInfo> done) {
  connection_->call(
      connection_->registration_calls(), &RegistrationCalls::GetInfo, pluginregistration::InfoRequest(),
      timeout, [done = std::move(done)](const CallEnd& end, const pluginregistration::PluginInfo& info) {
        done(end, {info.type(), info.name(), info.endpoint(), to_texts(info.supported_versions())});
      });
}

void PluginClient::notify(const std::string& error, Timeout timeout, std::function<void()> done) {
  pluginregistration::RegistrationStatus outcome;
  outcome.set_plugin_registered(error.empty());
  outcome.set_error(error);
  connection_->call(connection_->registration_calls(), &RegistrationCalls::NotifyRegistrationStatus,
                    std::move(outcome), timeout,
                    [done = std::move(done)](
                        const CallEnd&, const pluginregistration::RegistrationStatusResponse&) { done(); });
}

}  // namespace plughost
