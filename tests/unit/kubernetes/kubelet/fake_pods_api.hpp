#pragma once
// A fake server of the kubelet's Pods API.

#include <cstddef>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <grpcpp/grpcpp.h>

#include "base/text/json.hpp"
#include "podsapi/v1alpha1/podsapi.grpc.pb.h"

namespace plughost::test {

// A kubelet of Kubernetes 1.37 that reports pods, or an error. Thread-safe.
class FakePodsApi final : public v1alpha1::Pods::Service {
 public:
  explicit FakePodsApi(const std::filesystem::path& socket);
  ~FakePodsApi() override;

  // Adds or replaces a pod, which is given as the API server shows it.
  void put(const Json& pod);
  void remove(const std::string& uid);
  // Adds or replaces a pod whose serialized bytes are given.
  void put(const std::string& uid, std::string bytes);
  // Refuses the next `times` calls.
  void refuse(grpc::StatusCode code, std::size_t times = 1);
  std::size_t calls() const;

 private:
  grpc::Status ListPods(grpc::ServerContext* context, const v1alpha1::ListPodsRequest* request,
                        v1alpha1::ListPodsResponse* response) override;
  grpc::Status GetPod(grpc::ServerContext* context, const v1alpha1::GetPodRequest* request,
                      v1alpha1::GetPodResponse* response) override;
  // Returns the status of the next call: the next refusal, or OK.
  grpc::Status come();

  mutable std::mutex mutex_;
  std::map<std::string, std::string> pods_;  // by UID
  std::deque<grpc::StatusCode> refusals_;
  std::size_t calls_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace plughost::test
