#include "kubelet/pod_resources.hpp"

#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <future>
#include <iterator>
#include <utility>

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

void PodResources::ask(EventLoop::Clock::time_point since, Done done) {
  if (last_.asked >= since) return done(Answer(last_));
  if (!asking_.empty() && asked_ >= since) return asking_.push_back(std::move(done));
  waiting_.push_back(std::move(done));
  if (asking_.empty()) arm();
}

void PodResources::arm() {
  const auto now = EventLoop::Clock::now();
  if (!next_.armed()) next_.arm_at(std::max(now - kPause, asked_) + kPause);
}

void PodResources::put() {
  std::ranges::move(waiting_, std::back_inserter(asking_));
  waiting_.clear();
  asked_ = EventLoop::Clock::now();
  call_ = std::make_unique<Call>();
  try {
    call_->stub = stub_on(connect_unix(socket_));
  } catch (const std::system_error& error) {
    return on_answer({.holdings = nullptr, .why = error.what()});
  }
  call_->context.set_deadline(std::chrono::system_clock::now() + kDeadline);
  const auto ended = std::make_shared<std::promise<void>>();
  call_->ended = ended->get_future();
  const auto end =
      lifetime_.bound([this](Answer answer, bool exhausted) { on_end(std::move(answer), exhausted); });
  call_->stub->async()->List(
      &call_->context, &call_->request, &call_->response,
      [end, ended, &response = call_->response, post = loop_.poster()](const grpc::Status& status) {
        Answer answer{.holdings = nullptr, .why = status.error_message()};
        if (status.ok()) answer.holdings = std::make_shared<const Holdings>(holdings_of(response));
        const bool exhausted = status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED;
        post([end, answer = std::move(answer), exhausted] { end(answer, exhausted); });
        ended->set_value();
      });
}

void PodResources::on_end(Answer answer, bool exhausted) {
  call_->ended.wait();
  if (!exhausted || ++tries_ == kMostTries) return on_answer(std::move(answer));
  call_.reset();
  arm();
}

void PodResources::on_answer(Answer answer) {
  tries_ = 0;
  call_.reset();
  answer.asked = asked_;
  last_ = answer;
  const std::vector<Done> done = std::exchange(asking_, {});
  if (!waiting_.empty()) arm();
  for (const Done& each : done) each(answer);
}

}  // namespace plughost
