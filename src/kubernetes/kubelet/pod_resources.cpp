#include "kubernetes/kubelet/pod_resources.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text/text.hpp"
#include "kubernetes/kubelet/kubelet_call.hpp"
#include "podresources/v1/podresources.grpc.pb.h"

namespace plughost {

namespace {

Holdings holdings_of(const v1::ListPodResourcesResponse& response) {
  HoldingsBuilder holdings;
  for (const auto& pod : response.pod_resources()) {
    for (const auto& container : pod.containers()) {
      const auto holder =
          std::make_shared<const Holder>(Holder{pod.namespace_(), pod.name(), container.name()});
      for (const auto& devices : container.devices()) {
        for (const std::string& id : devices.device_ids()) holdings.add(devices.resource_name(), id, holder);
      }
    }
  }
  return std::move(holdings).build();
}

}  // namespace

struct PodResources::Call
    : KubeletCall<v1::PodResourcesLister, v1::ListPodResourcesRequest, v1::ListPodResourcesResponse> {
  using KubeletCall::KubeletCall;
};

PodResources::PodResources(EventLoop& loop, std::filesystem::path socket)
    : loop_(loop), socket_(std::move(socket)), next_(loop, [this] { put(); }) {}

PodResources::~PodResources() = default;

void PodResources::query(EventLoop::Clock::time_point since, Done done) {
  if (last_.asked >= since) return done(Answer(last_));
  if (!asking_.empty() && asked_ >= since) return asking_.push_back(std::move(done));
  waiting_.push_back(std::move(done));
  if (asking_.empty()) arm();
}

void PodResources::arm() {
  const auto now = EventLoop::Clock::now();
  if (!next_.armed()) next_.arm_at(std::max(now - pause_, asked_) + pause_);
}

void PodResources::put() {
  std::ranges::move(waiting_, std::back_inserter(asking_));
  waiting_.clear();
  asked_ = EventLoop::Clock::now();
  pause_ = kPause;
  try {
    call_ = std::make_unique<Call>(socket_, kDeadline);
  } catch (const std::system_error& error) {
    return on_answer({.holdings = nullptr, .why = error.what()});
  }
  const auto read = [](const grpc::Status& status, const v1::ListPodResourcesResponse& response) {
    Answer answer{.holdings = nullptr, .why = status.error_message()};
    if (status.ok()) answer.holdings = std::make_shared<const Holdings>(holdings_of(response));
    return answer;
  };
  call_->put(&v1::PodResourcesLister::StubInterface::async_interface::List, loop_.poster(), read,
             lifetime_.bound([this](const Answer& answer, bool exhausted) { on_end(answer, exhausted); }));
}

void PodResources::on_end(Answer answer, bool exhausted) {
  call_->wait();
  if (exhausted) pause_ = kPauseIfRefused;
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

namespace {

// Returns each id once. The response lists a device with several NUMA nodes once for each node.
Allocatable::Ids ids_of(v1::AllocatableResourcesResponse& response) {
  Allocatable::Ids ids;
  for (auto& devices : *response.mutable_devices()) {
    std::vector<std::string>& all = ids[devices.resource_name()];
    for (std::string& id : *devices.mutable_device_ids()) all.push_back(std::move(id));
  }
  for (auto& [resource, all] : ids) sort_unique(all);
  return ids;
}

}  // namespace

struct Allocatable::Call
    : KubeletCall<v1::PodResourcesLister, v1::AllocatableResourcesRequest, v1::AllocatableResourcesResponse> {
  using KubeletCall::KubeletCall;
};

Allocatable::Allocatable(EventLoop& loop, std::filesystem::path socket)
    : loop_(loop), socket_(std::move(socket)) {}

Allocatable::~Allocatable() = default;

void Allocatable::query(std::function<void(const Count& count)> done) {
  try {
    call_ = std::make_unique<Call>(socket_, kDeadline);
  } catch (const std::system_error& error) {
    return done({.ids = nullptr, .why = error.what()});
  }
  const auto read = [](const grpc::Status& status, v1::AllocatableResourcesResponse& response) {
    Count count{.ids = nullptr, .why = status.error_message()};
    if (status.ok()) count.ids = std::make_shared<const Ids>(ids_of(response));
    return count;
  };
  call_->put(&v1::PodResourcesLister::StubInterface::async_interface::GetAllocatableResources, loop_.poster(),
             read, lifetime_.bound([this, done = std::move(done)](const Count& count, bool /*exhausted*/) {
               call_.reset();
               done(count);
             }));
}

}  // namespace plughost
