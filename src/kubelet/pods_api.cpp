#include "kubelet/pods_api.hpp"

#include <utility>

#include "kubelet/kubelet_call.hpp"
#include "podsapi/v1alpha1/podsapi.grpc.pb.h"
#include "text/text.hpp"

namespace plughost {
namespace {

// Whole pods, of a node that may run a thousand.
constexpr int kMostBytes = 64 << 20;

void add(const google::protobuf::RepeatedPtrField<v1alpha1::Container>& containers, bool init, Pod& pod) {
  for (const v1alpha1::Container& container : containers) {
    Pod::Container& added =
        pod.containers.emplace_back(Pod::Container{.name = container.name(), .init = init, .limits = {}});
    for (const auto& [resource, limit] : container.resources().limits())
      added.limits.emplace(resource, limit.string());
  }
}

// Empty if the bytes are no pod.
std::vector<Pod> read_pod(const std::string& bytes) {
  v1alpha1::Pod from;
  if (!from.ParseFromString(bytes)) return {};
  const v1alpha1::ObjectMeta& metadata = from.metadata();
  Pod pod{.uid = metadata.uid(),
          .name_space = metadata.namespace_(),
          .name = metadata.name(),
          .created = utc_text(metadata.creationtimestamp().seconds() * 1'000'000),
          .deleted = metadata.has_deletiontimestamp(),
          .phase = from.status().phase(),
          .annotations = {metadata.annotations().begin(), metadata.annotations().end()},
          .containers = {}};
  add(from.spec().initcontainers(), true, pod);
  add(from.spec().containers(), false, pod);
  return {std::move(pod)};
}

std::vector<Pod> pods_of(const v1alpha1::ListPodsResponse& response) {
  std::vector<Pod> pods;
  for (const std::string& bytes : response.pods()) {
    for (Pod& pod : read_pod(bytes)) pods.push_back(std::move(pod));
  }
  return pods;
}

std::vector<Pod> pods_of(const v1alpha1::GetPodResponse& response) { return read_pod(response.pod()); }

PodsApi::Outcome outcome_of(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::OK:
    case grpc::StatusCode::NOT_FOUND:
      return PodsApi::Outcome::kTold;
    case grpc::StatusCode::FAILED_PRECONDITION:
      return PodsApi::Outcome::kNotYet;
    case grpc::StatusCode::UNIMPLEMENTED:
      return PodsApi::Outcome::kNotServed;
    default:
      return PodsApi::Outcome::kFailed;
  }
}

}  // namespace

using ListCall = KubeletCall<v1alpha1::Pods, v1alpha1::ListPodsRequest, v1alpha1::ListPodsResponse>;
using GetCall = KubeletCall<v1alpha1::Pods, v1alpha1::GetPodRequest, v1alpha1::GetPodResponse>;

struct PodsApi::Question {
  Question(std::string its_uid, Done its_done) : uid(std::move(its_uid)), done(std::move(its_done)) {}

  std::string uid;  // empty: all pods
  Done done;
  unsigned tries = 0;
  std::unique_ptr<Timer> next;
  // One of them, while it is under way.
  std::unique_ptr<ListCall> list;
  std::unique_ptr<GetCall> get;
};

PodsApi::PodsApi(EventLoop& loop, std::filesystem::path socket) : loop_(loop), socket_(std::move(socket)) {}

PodsApi::~PodsApi() = default;

void PodsApi::ask(const std::string& uid, Done done) {
  const auto question = questions_.emplace(questions_.end(), uid, std::move(done));
  question->next = std::make_unique<Timer>(loop_, [this, question] { put(question); });
  question->next->arm({});
}

template <typename Call>
void PodsApi::put(Questions::iterator question, Call& call, typename Call::Method method) {
  const auto read = [](const grpc::Status& status, const auto& response) {
    Answer answer{.outcome = outcome_of(status), .pods = {}, .why = status.error_message()};
    if (status.ok()) answer.pods = pods_of(response);
    return answer;
  };
  call.put(method, loop_.poster(), read,
           lifetime_.bound([this, question](const Answer& answer, bool exhausted) {
             on_end(question, answer, exhausted);
           }));
}

void PodsApi::put(Questions::iterator question) {
  try {
    if (question->uid.empty()) {
      question->list = std::make_unique<ListCall>(socket_, kDeadline, kMostBytes);
      put(question, *question->list, &v1alpha1::Pods::StubInterface::async_interface::ListPods);
    } else {
      question->get = std::make_unique<GetCall>(socket_, kDeadline, kMostBytes);
      question->get->request.set_poduid(question->uid);
      put(question, *question->get, &v1alpha1::Pods::StubInterface::async_interface::GetPod);
    }
  } catch (const std::system_error& error) {
    on_end(question, {.outcome = Outcome::kNotServed, .pods = {}, .why = error.what()}, false);
  }
}

void PodsApi::on_end(Questions::iterator question, const Answer& answer, bool exhausted) {
  question->list.reset();
  question->get.reset();
  if (exhausted && ++question->tries < kMostTries) return question->next->arm(kPauseIfRefused);
  const Done done = std::move(question->done);
  questions_.erase(question);
  done(answer);
}

}  // namespace plughost
