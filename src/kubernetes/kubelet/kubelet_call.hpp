#pragma once
// One call to the kubelet, for PodResources, Allocatable and PodsApi. Loop thread only, except the callbacks
// that gRPC calls. Internal to kubelet.

#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>

#include <filesystem>
#include <functional>
#include <future>
#include <memory>

#include "base/system/event_loop.hpp"
#include "base/system/unix_socket.hpp"

namespace plughost {

// Must be destroyed in the loop: gRPC 1.51 cannot destroy its last channel in one of its own threads.
template <typename Service, typename Request, typename Response>
struct KubeletCall {
  // The limit of the kubelet's own client: a node's pods can hold more ids than the default of 4 MiB allows.
  static constexpr int kMostBytes = 16 << 20;

  // Throws std::system_error if no process listens.
  KubeletCall(const std::filesystem::path& socket, std::chrono::milliseconds deadline,
              int most_bytes = kMostBytes) {
    UniqueFd connection = connect_unix(socket);
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(most_bytes);
    stub = Service::NewStub(
        grpc::CreateCustomInsecureChannelFromFd("localhost", connection.release(), arguments));
    context.set_deadline(std::chrono::system_clock::now() + deadline);
  }
  // Cancels a running call.
  ~KubeletCall() {
    context.TryCancel();
    wait();
  }
  KubeletCall& operator=(KubeletCall&&) = delete;

  using Method = void (Service::StubInterface::async_interface::*)(grpc::ClientContext*, const Request*,
                                                                   Response*,
                                                                   std::function<void(grpc::Status)>);
  // Starts the call. Use it once. `read` converts the status and the response in one of gRPC's threads. `end`
  // gets the result in the loop, and true if the kubelet's rate limit was exceeded.
  template <typename Read, typename End>
  void put(Method method, EventLoop::Poster post, Read read, End end) {
    const auto over = std::make_shared<std::promise<void>>();
    ended = over->get_future();
    const auto on_status = [this, over, post = std::move(post), read, end](const grpc::Status& status) {
      const bool exhausted = status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED;
      auto answer = read(status, response);
      // Freed here instead of in the loop, which destroys the call: a response can have 48,000 ids.
      Response().Swap(&response);
      post([end, exhausted, answer = std::move(answer)] { end(answer, exhausted); });
      over->set_value();
    };
    (stub->async()->*method)(&context, &request, &response, on_status);
  }

  void wait() {
    if (ended.valid()) ended.wait();
  }

  std::unique_ptr<typename Service::Stub> stub;
  grpc::ClientContext context;
  Request request;
  Response response;
  std::future<void> ended;  // ready when gRPC no longer uses this call
};

}  // namespace plughost
