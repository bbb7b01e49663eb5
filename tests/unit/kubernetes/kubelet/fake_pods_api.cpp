#include "unit/kubernetes/kubelet/fake_pods_api.hpp"

#include "base/text/text.hpp"

namespace plughost::test {
namespace {

std::int64_t seconds(const Json& time) {
  const std::string& text = time.text();
  return microseconds_of(text.substr(0, text.size() - 1) + ".000000Z").value_or(0) / 1'000'000;
}

void add(const Json& containers, google::protobuf::RepeatedPtrField<v1alpha1::Container>& to) {
  for (const Json& container : containers.array()) {
    v1alpha1::Container& added = *to.Add();
    added.set_name(container["name"].text());
    for (const auto& [resource, limit] : container["resources"]["limits"].object())
      (*added.mutable_resources()->mutable_limits())[resource].set_string(limit.text());
  }
}

std::string bytes_of(const Json& json) {
  v1alpha1::Pod pod;
  const Json& from = json["metadata"];
  v1alpha1::ObjectMeta& metadata = *pod.mutable_metadata();
  metadata.set_name(from["name"].text());
  metadata.set_namespace_(from["namespace"].text());
  metadata.set_uid(from["uid"].text());
  metadata.mutable_creationtimestamp()->set_seconds(seconds(from["creationTimestamp"]));
  if (!from["deletionTimestamp"].is_null())
    metadata.mutable_deletiontimestamp()->set_seconds(seconds(from["deletionTimestamp"]));
  for (const auto& [key, value] : from["annotations"].object())
    (*metadata.mutable_annotations())[key] = value.text();
  add(json["spec"]["initContainers"], *pod.mutable_spec()->mutable_initcontainers());
  add(json["spec"]["containers"], *pod.mutable_spec()->mutable_containers());
  pod.mutable_status()->set_phase(json["status"]["phase"].text());
  return pod.SerializeAsString();
}

}  // namespace

FakePodsApi::FakePodsApi(const std::filesystem::path& socket) {
  std::filesystem::create_directories(socket.parent_path());
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + socket.string(), grpc::InsecureServerCredentials());
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
}

FakePodsApi::~FakePodsApi() { server_->Shutdown(std::chrono::system_clock::now()); }

void FakePodsApi::put(const Json& pod) {
  const std::lock_guard lock(mutex_);
  pods_[pod["metadata"]["uid"].text()] = bytes_of(pod);
}

void FakePodsApi::put(const std::string& uid, std::string bytes) {
  const std::lock_guard lock(mutex_);
  pods_[uid] = std::move(bytes);
}

void FakePodsApi::remove(const std::string& uid) {
  const std::lock_guard lock(mutex_);
  pods_.erase(uid);
}

void FakePodsApi::refuse(grpc::StatusCode code, std::size_t times) {
  const std::lock_guard lock(mutex_);
  refusals_.assign(times, code);
}

std::size_t FakePodsApi::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

grpc::Status FakePodsApi::come() {
  ++calls_;
  if (refusals_.empty()) return grpc::Status::OK;
  const grpc::StatusCode code = refusals_.front();
  refusals_.pop_front();
  return {code, "as the test wants it"};
}

grpc::Status FakePodsApi::ListPods(grpc::ServerContext*, const v1alpha1::ListPodsRequest*,
                                   v1alpha1::ListPodsResponse* response) {
  const std::lock_guard lock(mutex_);
  if (grpc::Status refusal = come(); !refusal.ok()) return refusal;
  for (const auto& [uid, pod] : pods_) response->add_pods(pod);
  return grpc::Status::OK;
}

grpc::Status FakePodsApi::GetPod(grpc::ServerContext*, const v1alpha1::GetPodRequest* request,
                                 v1alpha1::GetPodResponse* response) {
  const std::lock_guard lock(mutex_);
  if (grpc::Status refusal = come(); !refusal.ok()) return refusal;
  const auto found = pods_.find(request->poduid());
  if (found == pods_.end()) return {grpc::StatusCode::NOT_FOUND, "no such pod"};
  response->set_pod(found->second);
  return grpc::Status::OK;
}

}  // namespace plughost::test
