#include "kubelet/allocatable.hpp"

#include <algorithm>
#include <utility>

#include "kubelet/kubelet_call.hpp"
#include "podresources/v1/podresources.grpc.pb.h"

namespace plughost {
namespace {

// A device of several NUMA nodes is told once for each.
Allocatable::Ids ids_of(v1::AllocatableResourcesResponse& response) {
  Allocatable::Ids ids;
  for (auto& devices : *response.mutable_devices()) {
    std::vector<std::string>& all = ids[devices.resource_name()];
    for (std::string& id : *devices.mutable_device_ids()) all.push_back(std::move(id));
  }
  for (auto& [resource, all] : ids) {
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
  }
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

void Allocatable::ask(std::function<void(const Count& count)> done) {
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
