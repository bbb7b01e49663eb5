#pragma once
// The kubelet's side of one connection to a plugin. Loop thread only.

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/event_loop.hpp"
#include "deviceplugin/v1beta1/deviceplugin.grpc.pb.h"
#include "standin/calls_under_way.hpp"

namespace plughost {

// Made by make_shared only. The loop, and calls, outlive it and whatever it has called; every call ends, so
// its end always comes to the loop. gRPC's objects live and die in the loop: a channel that is destroyed in a
// callback would wait for the thread it is in.
class PluginClient : public std::enable_shared_from_this<PluginClient> {
 public:
  // authority empty: gRPC's own.
  PluginClient(EventLoop& loop, CallsUnderWay& calls, const std::filesystem::path& socket,
               const std::string& authority);
  ~PluginClient();
  PluginClient(const PluginClient&) = delete;
  PluginClient& operator=(const PluginClient&) = delete;

  // Tries to connect until it works, or timeout has passed. done is not called after close().
  void dial(std::chrono::milliseconds timeout, std::function<void(bool connected)> done);
  // Ends everything that is under way, with CANCELLED.
  void close();

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  v1beta1::DevicePlugin::Stub& plugin() { return *plugin_; }

  template <typename Async, typename Request, typename Response>
  using Method = void (Async::*)(grpc::ClientContext*, const Request*, Response*,
                                 std::function<void(grpc::Status)>);
  // One call of a stub's async(). done always comes, once, in the loop and later. No timeout: no deadline.
  template <typename Async, typename Request, typename Response>
  void call(Async* stub, Method<Async, Request, Response> method, Request request,
            std::optional<std::chrono::milliseconds> timeout,
            std::function<void(const grpc::Status&, const Response&)> done);

  // For calls that are made elsewhere. close() calls cancel. False: it is closed already, cancel yourself.
  bool begin_call(const grpc::ClientContext& context, std::function<void()> cancel);
  void end_call(const grpc::ClientContext& context);
  EventLoop& loop() { return loop_; }

 private:
  template <typename Request, typename Response>
  struct Call {
    std::shared_ptr<PluginClient> client;
    Request request;
    std::function<void(const grpc::Status&, const Response&)> done;
    Response response;
    grpc::ClientContext context;  // destroyed before the client, whose channel it uses
  };

  void look_at_dial();

  EventLoop& loop_;
  CallsUnderWay& calls_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1beta1::DevicePlugin::Stub> plugin_;
  std::unordered_map<const grpc::ClientContext*, std::function<void()>> cancels_;
  bool closed_ = false;
  std::function<void(bool)> dialled_;
  EventLoop::Clock::time_point dial_until_;
  Timer dial_timer_;
};

template <typename Async, typename Request, typename Response>
void PluginClient::call(Async* stub, Method<Async, Request, Response> method, Request request,
                        std::optional<std::chrono::milliseconds> timeout,
                        std::function<void(const grpc::Status&, const Response&)> done) {
  // gRPC's callback owns it by a bare pointer, and the loop takes it over.
  auto* call = new Call<Request, Response>{shared_from_this(), std::move(request), std::move(done), {}, {}};
  if (timeout) call->context.set_deadline(std::chrono::system_clock::now() + *timeout);
  const bool open = begin_call(call->context, [call] { call->context.TryCancel(); });
  (stub->*method)(&call->context, &call->request, &call->response,
                  [call, post = loop_.poster()](const grpc::Status& status) {
                    post([owned = std::shared_ptr<Call<Request, Response>>(call), status] {
                      owned->done(status, owned->response);
                      owned->client->end_call(owned->context);
                    });
                  });
  if (!open) call->context.TryCancel();
}

}  // namespace plughost
