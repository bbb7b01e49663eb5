#include "kubelet/dra_service.hpp"

#include <grpcpp/grpcpp.h>

#include <mutex>
#include <utility>
#include <variant>

#include "base/text.hpp"
#include "base/utf8.hpp"
#include "device/first_names.hpp"
#include "draplugin/v1/draplugin.grpc.pb.h"
#include "draplugin/v1beta1/draplugin.grpc.pb.h"
#include "kubelet/dra_request.hpp"
#include "kubelet/pending_call.hpp"

namespace plughost {

namespace {

namespace dra_v1 = k8s::io::kubelet::pkg::apis::dra::v1;
namespace dra_v1beta1 = k8s::io::kubelet::pkg::apis::dra::v1beta1;

// What becomes of it is an event's message, which has 1,024 bytes, and says more than this.
constexpr std::size_t kLongestError = 800;

constexpr const char* kNotAnswered = "plughost has no answer for it: this is a bug, please report it";

struct V1 {
  using Service = dra_v1::DRAPlugin::CallbackService;
  using PrepareRequest = dra_v1::NodePrepareResourcesRequest;
  using PrepareResponse = dra_v1::NodePrepareResourcesResponse;
  using UnprepareRequest = dra_v1::NodeUnprepareResourcesRequest;
  using UnprepareResponse = dra_v1::NodeUnprepareResourcesResponse;

  static void set_share(const std::optional<std::string>& share, dra_v1::Device& device) {
    if (share) device.set_share_id(*share);
  }
};

struct V1Beta1 {
  using Service = dra_v1beta1::DRAPlugin::CallbackService;
  using PrepareRequest = dra_v1beta1::NodePrepareResourcesRequest;
  using PrepareResponse = dra_v1beta1::NodePrepareResourcesResponse;
  using UnprepareRequest = dra_v1beta1::NodeUnprepareResourcesRequest;
  using UnprepareResponse = dra_v1beta1::NodeUnprepareResourcesResponse;

  // It has none.
  static void set_share(const std::optional<std::string>&, dra_v1beta1::Device&) {}
};

std::string event_text(const std::string& text) {
  return printable(shortened(with_valid_utf8(text), kLongestError));
}

// How an answer is written: of one claim in each version.
template <typename Api>
void write_outcome(const PrepareOutcome& outcome, typename Api::PrepareResponse& response,
                   const std::string& uid) {
  auto& to = (*response.mutable_claims())[uid];
  if (const auto* trouble = std::get_if<std::string>(&outcome)) {
    to.set_error(event_text(trouble->empty() ? kNotAnswered : *trouble));
    return;
  }
  for (const PreparedDevice& prepared : std::get<std::vector<PreparedDevice>>(outcome)) {
    auto& device = *to.add_devices();
    for (const std::string& request : prepared.requests) device.add_request_names(request);
    device.set_pool_name(prepared.pool);
    device.set_device_name(prepared.device);
    for (const std::string& id : prepared.cdi) device.add_cdi_device_ids(id);
    Api::set_share(prepared.share_id, device);
  }
}

// The error; empty: it is done.
template <typename Api>
void write_outcome(const std::string& error, typename Api::UnprepareResponse& response,
                   const std::string& uid) {
  auto& to = (*response.mutable_claims())[uid];
  if (!error.empty()) to.set_error(event_text(error));
}

class OpenCall {
 public:
  virtual ~OpenCall() = default;
  virtual void fail() = 0;
};

// The first who answers or fails it counts. Thread-safe.
template <typename Response>
class DraCall final : public OpenCall {
 public:
  // The response is gRPC's, and lives until the call is answered.
  DraCall(grpc::ServerUnaryReactor* reactor, grpc::Status if_dropped, Response& response)
      : if_dropped_(std::move(if_dropped)), pending_(reactor, if_dropped_), response_(&response) {}

  // fill(Response&) before it is sent; not called if nobody waits any more.
  template <typename Fill>
  void answer(Fill fill) {
    end(grpc::Status::OK, fill);
  }
  void refuse(const grpc::Status& status) {
    end(status, [](Response&) {});
  }
  void fail() override { refuse(if_dropped_); }

 private:
  template <typename Fill>
  void end(const grpc::Status& status, Fill fill) {
    const std::lock_guard lock(mutex_);
    if (Response* const response = std::exchange(response_, nullptr)) {
      fill(*response);
      pending_.answer(status);
    }
  }

  const grpc::Status if_dropped_;
  std::mutex mutex_;
  PendingCall pending_;
  Response* response_;  // nullptr: it is answered
};

// Thread-safe.
class OpenCalls {
 public:
  void add(const std::shared_ptr<OpenCall>& call) {
    {
      const std::lock_guard lock(mutex_);
      if (!ended_) {
        std::erase_if(calls_, [](const auto& one) { return one.expired(); });
        calls_.push_back(call);
        return;
      }
    }
    call->fail();
  }
  void end() {
    std::vector<std::weak_ptr<OpenCall>> calls;
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
      calls.swap(calls_);
    }
    for (const auto& weak : calls) {
      if (const auto call = weak.lock()) call->fail();
    }
  }

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<OpenCall>> calls_;
  bool ended_ = false;
};

template <typename Api>
class DraService final : public Api::Service {
 public:
  DraService(std::string driver, InLoop<DraOwner> owner, std::shared_ptr<OpenCalls> open)
      : driver_(std::move(driver)), owner_(std::move(owner)), open_(std::move(open)) {}

  grpc::ServerUnaryReactor* NodePrepareResources(grpc::CallbackServerContext* context,
                                                 const typename Api::PrepareRequest* request,
                                                 typename Api::PrepareResponse* response) override {
    return ask<PrepareOutcome>(context, *request, *response, &DraOwner::prepare);
  }
  grpc::ServerUnaryReactor* NodeUnprepareResources(grpc::CallbackServerContext* context,
                                                   const typename Api::UnprepareRequest* request,
                                                   typename Api::UnprepareResponse* response) override {
    return ask<std::string>(context, *request, *response, &DraOwner::unprepare);
  }

 private:
  template <typename Outcome, typename Request, typename Response>
  grpc::ServerUnaryReactor* ask(
      grpc::CallbackServerContext* context, const Request& request, Response& response,
      void (DraOwner::*question)(std::vector<ClaimRef>,
                                 std::function<void(std::map<std::string, Outcome>)>)) {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    const auto call = std::make_shared<DraCall<Response>>(
        reactor,
        grpc::Status(grpc::StatusCode::UNAVAILABLE,
                     "driver " + driver_ + ": plughost is stopping, or serves it anew"),
        response);
    open_->add(call);
    if (static_cast<std::size_t>(request.claims_size()) > kMostClaims) {
      call->refuse({grpc::StatusCode::RESOURCE_EXHAUSTED,
                    "driver " + driver_ + ": of " + std::to_string(request.claims_size()) +
                        " claims at once " + std::to_string(kMostClaims) + " are answered"});
      return reactor;
    }
    std::vector<ClaimRef> asked;
    for (const auto& claim : request.claims())
      asked.push_back({claim.uid(), claim.namespace_(), claim.name()});
    DraRequest sorted = sort_claims(std::move(asked));
    auto done = [call, sorted](const std::map<std::string, Outcome>& outcomes) {
      call->answer([&](Response& answer) {
        for (const auto& [uid, trouble] : sorted.refused) write_outcome<Api>(Outcome(trouble), answer, uid);
        for (const ClaimRef& claim : sorted.claims) {
          const auto outcome = outcomes.find(claim.uid);
          write_outcome<Api>(outcome == outcomes.end() ? Outcome(kNotAnswered) : outcome->second, answer,
                             claim.uid);
        }
      });
    };
    if (sorted.claims.empty()) {
      done({});
      return reactor;
    }
    owner_.tell([question, claims = std::move(sorted.claims), done = std::move(done)](DraOwner& owner) {
      (owner.*question)(claims, done);
    });
    return reactor;
  }

  const std::string driver_;
  const InLoop<DraOwner> owner_;
  const std::shared_ptr<OpenCalls> open_;
};

}  // namespace

DraServices make_dra_services(const std::string& driver, const InLoop<DraOwner>& owner) {
  const auto open = std::make_shared<OpenCalls>();
  DraServices made;
  made.services.push_back(std::make_unique<DraService<V1>>(driver, owner, open));
  made.services.push_back(std::make_unique<DraService<V1Beta1>>(driver, owner, open));
  made.end_calls = [open] { open->end(); };
  return made;
}

}  // namespace plughost
