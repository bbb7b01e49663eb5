#pragma once
// One call to the kubelet, as PodResources, Allocatable and PodsApi make them. Loop thread only, but for what
// gRPC calls. Internal to kubelet.

#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>

#include <filesystem>
#include <functional>
#include <future>
#include <memory>

#include "base/system/event_loop.hpp"
#include "base/system/unix_socket.hpp"

namespace plughost {

// It must end in the loop: gRPC 1.51 cannot take down its last channel in a thread of its own.
template <typename Service, typename Request, typename Response>
struct KubeletCall {
  // As the kubelet's own client: a node's pods can hold more than the usual 4 MiB of ids.
  static constexpr int kMostBytes = 16 << 20;

  // Throws std::system_error if nobody listens.
  KubeletCall(const std::filesystem::path& socket, std::chrono::milliseconds deadline,
              int most_bytes = kMostBytes) {
    UniqueFd connection = connect_unix(socket);
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(most_bytes);
    stub = Service::NewStub(
        grpc::CreateCustomInsecureChannelFromFd("localhost", connection.release(), arguments));
    context.set_deadline(std::chrono::system_clock::now() + deadline);
  }
  // What is under way is cancelled.
  ~KubeletCall() {
    context.TryCancel();
    wait();
  }
  KubeletCall& operator=(KubeletCall&&) = delete;

  using Method = void (Service::StubInterface::async_interface::*)(grpc::ClientContext*, const Request*,
                                                                   Response*,
                                                                   std::function<void(grpc::Status)>);
  // Once. read makes an answer of the status and the response, in a thread of gRPC's; end runs in the loop
  // with it, and with whether the kubelet is asked too much.
  template <typename Read, typename End>
  void put(Method method, EventLoop::Poster post, Read read, End end) {
    const auto over = std::make_shared<std::promise<void>>();
    ended = over->get_future();
    const auto on_status = [this, over, post = std::move(post), read, end](const grpc::Status& status) {
      const bool exhausted = status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED;
      auto answer = read(status, response);
      // Freed here: a response can have 48,000 ids, and the loop destroys the call.
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
  std::future<void> ended;  // gRPC does not need it any more
};

}  // namespace plughost
