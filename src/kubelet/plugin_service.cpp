#include "kubelet/plugin_service.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "device/device_changes.hpp"
#include "device/preferred.hpp"
#include "kubelet/list_stream.hpp"
#include "kubelet/pending_call.hpp"

namespace plughost {
namespace {

grpc::ServerUnaryReactor* finish(grpc::CallbackServerContext* context, const grpc::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(status);
  return reactor;
}

grpc::Status dropped(const std::string& resource) {
  return {grpc::StatusCode::UNAVAILABLE, resource + ": plughost is stopping, or serves it anew"};
}

std::vector<std::string> ids_of(const v1beta1::ContainerAllocateRequest& request) {
  return {request.devices_ids().begin(), request.devices_ids().end()};
}

AnsweredAllocate answered(const v1beta1::AllocateRequest& request, const grpc::Status& status) {
  constexpr std::size_t kLongestRefusal = 500;
  FirstNames names;
  for (const auto& container : request.container_requests()) {
    for (const std::string& id : container.devices_ids()) names.add(id);
  }
  return {.containers = static_cast<std::size_t>(request.container_requests_size()),
          .count = names.count(),
          .ids = names.text(),
          .refusal = status.ok() ? "" : shortened(status.error_message(), kLongestRefusal)};
}

}  // namespace

// An Allocate call that somebody else has a part in: one container after the other.
struct PluginService::AllocateCall {
  std::shared_ptr<const Offer> offer;
  const v1beta1::AllocateRequest* request;  // gRPC's, as the response, until it is answered
  v1beta1::AllocateResponse* response;
  PendingCall pending;
  std::chrono::steady_clock::time_point asked;
};

PluginService::PluginService(ServedResource resource, OwnerInLoop owner, const Callers& callers)
    : resource_(std::move(resource)), owner_(std::move(owner)), callers_(callers) {}

grpc::ServerUnaryReactor* PluginService::GetDevicePluginOptions(grpc::CallbackServerContext* context,
                                                                const v1beta1::Empty*,
                                                                v1beta1::DevicePluginOptions* response) {
  if (resource_.announcement == Announcement::kRegister) {
    const Caller by = callers_.of(context->peer());
    owner_.tell([by](EndpointOwner& owner) { owner.on_dialed(by); });
  }
  response->set_pre_start_required(resource_.options.pre_start_required);
  response->set_get_preferred_allocation_available(resource_.options.preferred_allocation_available);
  return finish(context, grpc::Status::OK);
}

grpc::ServerWriteReactor<v1beta1::ListAndWatchResponse>* PluginService::ListAndWatch(
    grpc::CallbackServerContext* context, const v1beta1::Empty*) {
  const Caller by = callers_.of(context->peer());
  owner_.tell([by](EndpointOwner& owner) { owner.on_stream_opened(by); });
  return open_list_stream(resource_.feed, [owner = owner_, by] {
    owner.tell([by](EndpointOwner& told) { told.on_stream_closed(by); });
  });
}

grpc::ServerUnaryReactor* PluginService::GetPreferredAllocation(
    grpc::CallbackServerContext* context, const v1beta1::PreferredAllocationRequest* request,
    v1beta1::PreferredAllocationResponse* response) {
  const std::shared_ptr<const Offer> offer = resource_.feed->newest().offer;
  const auto now = std::chrono::steady_clock::now();
  const std::vector<std::string> near = offer->near.paths(now);
  const std::vector<CardName> same =
      offer->joined ? offer->joined->before(offer->resource, now) : std::vector<CardName>();
  const ShareTerms terms{.of = offer->recipe->shares, .same = same};
  for (const auto& container : request->container_requests()) {
    const std::vector<std::string> available(container.available_deviceids().begin(),
                                             container.available_deviceids().end());
    const std::vector<std::string> must_include(container.must_include_deviceids().begin(),
                                                container.must_include_deviceids().end());
    const auto size = static_cast<std::size_t>(std::max(container.allocation_size(), 0));
    std::vector<std::string> chosen =
        preferred(offer->recipe->policy, offer->inventory, available, must_include, size, near, terms);
    // What is refused then says what was free.
    if (offer->free && !fulfils(terms.of, offer->inventory, chosen))
      offer->free->note({{offer->resource, free_shares(offer->inventory, available)}}, now);
    auto& ids = *response->add_container_responses()->mutable_deviceids();
    for (std::string& id : chosen) ids.Add(std::move(id));
  }
  return finish(context, grpc::Status::OK);
}

grpc::ServerUnaryReactor* PluginService::Allocate(grpc::CallbackServerContext* context,
                                                  const v1beta1::AllocateRequest* request,
                                                  v1beta1::AllocateResponse* response) {
  const auto asked = std::chrono::steady_clock::now();
  const std::shared_ptr<const Offer> offer = resource_.feed->newest().offer;
  if (offer->recipe->allocate || offer->recipe->assume) {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    go_on(std::shared_ptr<AllocateCall>(
        new AllocateCall{offer, request, response, PendingCall(reactor, dropped(offer->resource)), asked}));
    return reactor;
  }
  grpc::Status status;
  for (const auto& container : request->container_requests()) {
    status = answer_container(*offer, ids_of(container), {}, resource_.check_answer,
                              *response->add_container_responses());
    (status.ok() ? resource_.calls->allocated : resource_.calls->allocation_refused).add();
    if (!status.ok()) break;
  }
  resource_.calls->answers->add(std::chrono::steady_clock::now() - asked);
  AnsweredAllocate told = answered(*request, status);
  grpc::ServerUnaryReactor* const reactor = finish(context, status);
  tell(std::move(told));
  return reactor;
}

void PluginService::go_on(const std::shared_ptr<AllocateCall>& call) const {
  const int container = call->response->container_responses_size();
  if (container == call->request->container_requests_size()) return end(*call, grpc::Status::OK);
  const std::vector<std::string> ids = ids_of(call->request->container_requests(container));
  const bool chosen = call->offer->recipe->assume.has_value();
  if (chosen) {
    if (!call->offer->stall.empty())
      return end(*call, {grpc::StatusCode::UNAVAILABLE, call->offer->resource + ": " + call->offer->stall});
  } else {
    const auto without = container_allocation(*call->offer, ids, {});
    if (const auto* status = std::get_if<grpc::Status>(&without)) return end(*call, *status);
  }
  auto done = [this, call, ids, chosen](const std::variant<Allocation, std::string>& said) {
    if (const auto* trouble = std::get_if<std::string>(&said))
      return end(*call, {grpc::StatusCode::FAILED_PRECONDITION,
                         "resource " + call->offer->resource + ": " + *trouble});
    const Allocation& allocation = std::get<Allocation>(said);
    v1beta1::ContainerAllocateResponse& response = *call->response->add_container_responses();
    const grpc::Status status =
        chosen ? write_answer(*call->offer, allocation, resource_.check_answer, response)
               : answer_container(*call->offer, ids, allocation, resource_.check_answer, response);
    if (!status.ok()) return end(*call, status);
    resource_.calls->allocated.add();
    go_on(call);
  };
  owner_.tell([offer = call->offer, ids, chosen, done = std::move(done)](EndpointOwner& owner) {
    chosen ? owner.ask_for_card(offer, ids, done) : owner.ask_allocation_program(offer, ids, done);
  });
}

void PluginService::end(AllocateCall& call, const grpc::Status& status) const {
  if (!status.ok()) resource_.calls->allocation_refused.add();
  resource_.calls->answers->add(std::chrono::steady_clock::now() - call.asked);
  AnsweredAllocate told = answered(*call.request, status);
  call.pending.answer(status);
  tell(std::move(told));
}

void PluginService::tell(AnsweredAllocate call) const {
  owner_.tell([call = std::move(call)](EndpointOwner& owner) { owner.on_allocated(call); });
}

grpc::ServerUnaryReactor* PluginService::PreStartContainer(grpc::CallbackServerContext* context,
                                                           const v1beta1::PreStartContainerRequest* request,
                                                           v1beta1::PreStartContainerResponse*) {
  const std::shared_ptr<const Offer> offer = resource_.feed->newest().offer;
  if (!offer->recipe->pre_start && !offer->recipe->assume) return finish(context, grpc::Status::OK);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const auto call = std::make_shared<PendingCall>(reactor, dropped(offer->resource));
  auto done = [call, calls = resource_.calls, resource = offer->resource](const std::string& trouble) {
    (trouble.empty() ? calls->started : calls->start_refused).add();
    call->answer(trouble.empty() ? grpc::Status::OK
                                 : grpc::Status(grpc::StatusCode::FAILED_PRECONDITION,
                                                "resource " + resource + ": " + trouble));
  };
  const std::vector<std::string> ids(request->devices_ids().begin(), request->devices_ids().end());
  owner_.tell(
      [offer, ids, done = std::move(done)](EndpointOwner& owner) { owner.prepare_start(offer, ids, done); });
  return reactor;
}

}  // namespace plughost
