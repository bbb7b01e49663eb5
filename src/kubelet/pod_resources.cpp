#include "kubelet/pod_resources.hpp"

#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>

#include <future>
#include <iterator>

#include "kubelet/unix_socket.hpp"
#include "podresources/v1/podresources.grpc.pb.h"

namespace plughost {

namespace {

// As the kubelet's own client: a node's pods can hold more than the usual 4 MiB of ids.
constexpr int kMostBytes = 16 << 20;

Holdings holdings_of(const v1::ListPodResourcesResponse& response) {
  Holdings holdings;
  for (const auto& pod : response.pod_resources()) {
    for (const auto& container : pod.containers()) {
      for (const auto& devices : container.devices()) {
        auto& held = holdings[devices.resource_name()];
        for (const std::string& id : devices.device_ids())
          held[id] = {pod.namespace_(), pod.name(), container.name()};
      }
    }
  }
  return holdings;
}

std::unique_ptr<v1::PodResourcesLister::Stub> stub_on(UniqueFd fd) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMostBytes);
  return v1::PodResourcesLister::NewStub(
      grpc::CreateCustomInsecureChannelFromFd("localhost", fd.release(), arguments));
}

}  // namespace

// It must end in the loop: gRPC 1.51 cannot take down its last channel in a thread of its own.
struct PodResources::Call {
  std::unique_ptr<v1::PodResourcesLister::Stub> stub;
  grpc::ClientContext context;
  v1::ListPodResourcesRequest request;
  v1::ListPodResourcesResponse response;
  std::future<void> ended;  // gRPC does not need it any more
};

PodResources::PodResources(EventLoop& loop, std::filesystem::path socket)
    : loop_(loop), socket_(std::move(socket)), next_(loop, [this] { put(); }) {}

PodResources::~PodResources() {
  if (!call_) return;
  call_->context.TryCancel();
  call_->ended.wait();
}

void PodResources::ask(Done done) {
  waiting_.push_back(std::move(done));
  if (asking_.empty() && !next_.armed()) next_.arm_at(not_before_);
}

void PodResources::put() {
  std::ranges::move(waiting_, std::back_inserter(asking_));
  waiting_.clear();
  not_before_ = EventLoop::Clock::now() + kPause;
  call_ = std::make_unique<Call>();
  try {
    call_->stub = stub_on(connect_unix(socket_));
  } catch (const std::system_error& error) {
    return on_answer({.holdings = nullptr, .why = error.what()});
  }
  call_->context.set_deadline(std::chrono::system_clock::now() + kDeadline);
  const auto ended = std::make_shared<std::promise<void>>();
  call_->ended = ended->get_future();
  call_->stub->async()->List(&call_->context, &call_->request, &call_->response,
                             [this, ended, &response = call_->response, post = loop_.poster(),
                              alive = std::weak_ptr(alive_)](const grpc::Status& status) {
                               Answer answer{.holdings = nullptr, .why = status.error_message()};
                               if (status.ok())
                                 answer.holdings = std::make_shared<const Holdings>(holdings_of(response));
                               const bool exhausted =
                                   status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED;
                               post([this, alive, answer = std::move(answer), exhausted] {
                                 if (!alive.expired()) on_end(answer, exhausted);
                               });
                               ended->set_value();
                             });
}

void PodResources::on_end(const Answer& answer, bool exhausted) {
  call_->ended.wait();
  if (!exhausted || ++tries_ == kMostTries) return on_answer(answer);
  call_.reset();
  next_.arm_at(not_before_);
}

void PodResources::on_answer(const Answer& answer) {
  tries_ = 0;
  call_.reset();
  const std::vector<Done> done = std::move(asking_);
  asking_.clear();
  if (!waiting_.empty()) next_.arm_at(not_before_);
  for (const Done& each : done) each(answer);
}

}  // namespace plughost
