#include "kubernetes/kubelet/pods_api.hpp"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/generic/generic_stub.h>

#include <cstdint>
#include <utility>

#include "base/text/text.hpp"
#include "kubernetes/kubelet/kubelet_call.hpp"
#include "podsapi/v1alpha1/podsapi.grpc.pb.h"

namespace plughost {
namespace {

// The limit for a response, which is stored as a whole while it is parsed: a node may run a thousand pods.
constexpr int kMostBytes = 64 << 20;

void add(const google::protobuf::RepeatedPtrField<v1alpha1::Container>& containers, bool init, Pod& pod) {
  for (const v1alpha1::Container& container : containers) {
    Pod::Container& added =
        pod.containers.emplace_back(Pod::Container{.name = container.name(), .init = init, .limits = {}});
    for (const auto& [resource, limit] : container.resources().limits())
      added.limits.emplace(resource, limit.string());
  }
}

// Returns one pod, or an empty list if the bytes are not a pod.
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
          .annotations = {},
          .containers = {}};
  for (const auto& [key, text] : metadata.annotations())
    pod.annotations.emplace(key, text.size() > PodsApi::kLongestText ? "" : text);
  add(from.spec().initcontainers(), true, pod);
  add(from.spec().containers(), false, pod);
  return {std::move(pod)};
}

// Returns the approximate memory in bytes.
std::size_t size_of(const Pod& pod) {
  constexpr std::size_t kNode = 100;  // of a map node, without the heap memory of its texts
  std::size_t size = sizeof(Pod);
  for (const auto& [key, text] : pod.annotations) size += kNode + key.size() + text.size();
  for (const Pod::Container& container : pod.containers) {
    size += sizeof(Pod::Container) + container.name.size();
    for (const auto& [resource, limit] : container.limits) size += kNode + resource.size() + limit.size();
  }
  return size;
}

bool has_ended(const Pod& pod) { return pod.phase == "Succeeded" || pod.phase == "Failed"; }

// Returns false if the bytes are not a ListPodsResponse. Copies the bytes of only one pod at a time.
bool read_pods(grpc::ByteBuffer& response, PodsApi::Answer& answer) {
  using google::protobuf::internal::WireFormatLite;
  constexpr std::uint32_t kPods = WireFormatLite::MakeTag(v1alpha1::ListPodsResponse::kPodsFieldNumber,
                                                          WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
  grpc::ProtoBufferReader stream(&response);
  google::protobuf::io::CodedInputStream in(&stream);
  std::size_t kept = 0;
  std::string bytes;
  while (const std::uint32_t tag = in.ReadTag()) {
    if (tag != kPods) {
      if (!WireFormatLite::SkipField(&in, tag)) return false;
      continue;
    }
    if (!WireFormatLite::ReadBytes(&in, &bytes)) return false;
    for (Pod& pod : read_pod(bytes)) {
      const std::size_t size = size_of(pod);
      if (has_ended(pod)) continue;
      if (size > PodsApi::kMostOfPod || kept + size > PodsApi::kMostOfList) {
        answer.left_out.push_back(pod.name_space + '/' + pod.name);
        continue;
      }
      kept += size;
      answer.pods.push_back(std::move(pod));
    }
  }
  return in.ConsumedEntireMessage();
}

bool read_pods(const v1alpha1::GetPodResponse& response, PodsApi::Answer& answer) {
  answer.pods = read_pod(response.pod());
  return true;
}

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

// ListPods with an unparsed response: v1alpha1::ListPodsResponse would be a second copy of all pods.
struct PodLists {
  class Stub {
   public:
    explicit Stub(std::shared_ptr<grpc::ChannelInterface> channel) : stub_(std::move(channel)) {}
    Stub* async() { return this; }
    void list(grpc::ClientContext* context, const grpc::ByteBuffer* request, grpc::ByteBuffer* response,
              std::function<void(grpc::Status)> done) {
      stub_.UnaryCall(context, "/v1alpha1.Pods/ListPods", {}, request, response, std::move(done));
    }

   private:
    grpc::GenericStub stub_;
  };
  struct StubInterface {
    using async_interface = Stub;
  };
  static std::unique_ptr<Stub> NewStub(std::shared_ptr<grpc::ChannelInterface> channel) {
    return std::make_unique<Stub>(std::move(channel));
  }
};

}  // namespace

using ListCall = KubeletCall<PodLists, grpc::ByteBuffer, grpc::ByteBuffer>;
using GetCall = KubeletCall<v1alpha1::Pods, v1alpha1::GetPodRequest, v1alpha1::GetPodResponse>;

struct PodsApi::Question {
  Question(std::string its_uid, Done its_done) : uid(std::move(its_uid)), done(std::move(its_done)) {}

  std::string uid;  // empty: all pods
  Done done;
  unsigned tries = 0;
  std::unique_ptr<Timer> next;
  // During a call, either `list` or `get` is set.
  std::unique_ptr<ListCall> list;
  std::unique_ptr<GetCall> get;
};

PodsApi::PodsApi(EventLoop& loop, std::filesystem::path socket, std::chrono::milliseconds deadline)
    : loop_(loop), socket_(std::move(socket)), deadline_(deadline) {}

PodsApi::~PodsApi() = default;

void PodsApi::request(const std::string& uid, Done done) {
  const auto question = questions_.emplace(questions_.end(), uid, std::move(done));
  question->next = std::make_unique<Timer>(loop_, [this, question] { put(question); });
  question->next->arm({});
}

template <typename Call>
void PodsApi::put(Questions::iterator question, Call& call, typename Call::Method method) {
  const auto read = [](const grpc::Status& status, auto& response) {
    Answer answer{.outcome = outcome_of(status), .pods = {}, .left_out = {}, .why = status.error_message()};
    std::decay_t<decltype(response)> taken;  // freed by this thread: freeing 64 MiB would block the loop
    taken.Swap(&response);
    if (status.ok() && !read_pods(taken, answer))
      answer = {.outcome = Outcome::kFailed, .pods = {}, .left_out = {}, .why = "its pods cannot be read"};
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
      question->list = std::make_unique<ListCall>(socket_, deadline_, kMostBytes);
      question->list->request = grpc::ByteBuffer(nullptr, 0);  // an empty ListPodsRequest
      put(question, *question->list, &PodLists::Stub::list);
    } else {
      question->get = std::make_unique<GetCall>(socket_, deadline_, kMostBytes);
      question->get->request.set_poduid(question->uid);
      put(question, *question->get, &v1alpha1::Pods::StubInterface::async_interface::GetPod);
    }
  } catch (const std::system_error& error) {
    on_end(question, {.outcome = Outcome::kNotServed, .pods = {}, .left_out = {}, .why = error.what()},
           false);
  }
}

void PodsApi::on_end(Questions::iterator question, const Answer& answer, bool exhausted) {
  question->list.reset();
  question->get.reset();
  // A response above kMostBytes has the same status as the rate limit, but a retry would be as large.
  const bool too_large = answer.why.find("larger than max") != std::string::npos;
  if (exhausted && !too_large && ++question->tries < kMostTries) return question->next->arm(kPauseIfRefused);
  const Done done = std::move(question->done);
  questions_.erase(question);
  done(answer);
}

}  // namespace plughost
