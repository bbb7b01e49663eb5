#pragma once
// A fake server of the kubelet's pod resources API.

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "base/system/event_loop.hpp"
#include "podresources/v1/podresources.grpc.pb.h"

namespace plughost::test {

// A kubelet that reports which ids pods hold, or an error. Thread-safe.
class TellingKubelet final : public v1::PodResourcesLister::Service {
 public:
  explicit TellingKubelet(const std::filesystem::path& socket) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket.string(), grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~TellingKubelet() override {
    hold(false);
    server_->Shutdown(std::chrono::system_clock::now());
  }

  void hold(bool held) {
    const std::lock_guard lock(mutex_);
    held_ = held;
    changed_.notify_all();
  }
  void refuse_next(const grpc::Status& status) {
    const std::lock_guard lock(mutex_);
    refusals_.push_back(status);
  }
  void add(const std::string& resource, const std::string& id) {
    const std::lock_guard lock(mutex_);
    auto& devices = *response_.add_pod_resources()->add_containers()->add_devices();
    devices.set_resource_name(resource);
    devices.add_device_ids(id);
  }
  // Removes all holders.
  void forget() {
    const std::lock_guard lock(mutex_);
    response_.Clear();
  }
  // Adds an id to the resource's allocatable devices.
  void count(const std::string& resource, const std::string& id) {
    const std::lock_guard lock(mutex_);
    auto& devices = *allocatable_.add_devices();
    devices.set_resource_name(resource);
    devices.add_device_ids(id);
  }
  // Refuses queries for allocatable devices with this reason; empty: answers them.
  void keep_counts(const std::string& why) {
    const std::lock_guard lock(mutex_);
    why_no_counts_ = why;
  }
  std::size_t counted() const {
    const std::lock_guard lock(mutex_);
    return counted_;
  }
  // Returns the time of each call.
  std::vector<EventLoop::Clock::time_point> calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }

 private:
  grpc::Status List(grpc::ServerContext*, const v1::ListPodResourcesRequest*,
                    v1::ListPodResourcesResponse* response) override {
    std::unique_lock lock(mutex_);
    calls_.push_back(EventLoop::Clock::now());
    changed_.wait(lock, [this] { return !held_; });
    *response = response_;
    if (refusals_.empty()) return grpc::Status::OK;
    const grpc::Status status = refusals_.front();
    refusals_.pop_front();
    return status;
  }

  grpc::Status GetAllocatableResources(grpc::ServerContext*, const v1::AllocatableResourcesRequest*,
                                       v1::AllocatableResourcesResponse* response) override {
    const std::lock_guard lock(mutex_);
    ++counted_;
    *response = allocatable_;
    if (why_no_counts_.empty()) return grpc::Status::OK;
    return {grpc::StatusCode::UNIMPLEMENTED, why_no_counts_};
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
  std::deque<grpc::Status> refusals_;
  v1::ListPodResourcesResponse response_;
  v1::AllocatableResourcesResponse allocatable_;
  std::string why_no_counts_;
  std::size_t counted_ = 0;
  std::vector<EventLoop::Clock::time_point> calls_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace plughost::test
