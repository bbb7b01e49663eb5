#include "kubelet/plugin_service.hpp"

#include <utility>

#include "device/preferred.hpp"
#include "kubelet/news_stream.hpp"
#include "kubelet/pending_call.hpp"
#include "kubelet/wire.hpp"

namespace plughost {

namespace {

// The newest list, whenever it is another.
class Lists final : public News<v1beta1::ListAndWatchResponse> {
 public:
  explicit Lists(std::shared_ptr<InventoryFeed> feed) : feed_(std::move(feed)) {}

  Readers& readers() override { return feed_->readers(); }
  Next next(v1beta1::ListAndWatchResponse& message) override {
    const InventoryFeed::Newest newest = feed_->newest();
    if (newest.list == sent_list_) return Next::kNoneYet;
    sent_list_ = newest.list;
    write_list(newest.offer->inventory, message);
    return Next::kMessage;
  }

 private:
  std::shared_ptr<InventoryFeed> feed_;
  std::uint64_t sent_list_ = 0;
};

grpc::ServerUnaryReactor* finish(grpc::CallbackServerContext* context, const grpc::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(status);
  return reactor;
}

std::vector<std::string> pci_paths(const Inventory& inventory, const std::vector<std::string>& ids) {
  std::vector<std::string> paths;
  for (const std::string& id : ids) {
    const Device* const device = inventory.find(id);
    if (const std::string* path = device ? device->attribute("pciPath") : nullptr) paths.push_back(*path);
  }
  return paths;
}

grpc::StatusCode code_of(Refusal::Reason reason) {
  switch (reason) {
    case Refusal::Reason::kUnknownDevice:
      return grpc::StatusCode::NOT_FOUND;
    case Refusal::Reason::kUnhealthyDevice:
      return grpc::StatusCode::UNAVAILABLE;
    case Refusal::Reason::kTooMany:
      return grpc::StatusCode::INVALID_ARGUMENT;
    case Refusal::Reason::kConflict:
      return grpc::StatusCode::FAILED_PRECONDITION;
  }
  return grpc::StatusCode::INTERNAL;
}

grpc::Status dropped(const std::string& resource) {
  return {grpc::StatusCode::UNAVAILABLE, resource + ": plughost is stopping, or serves it anew"};
}

std::variant<Allocation, grpc::Status> allocated(const Offer& offer, const std::vector<std::string>& ids,
                                                 const Allocation& more) {
  auto outcome = allocate(offer.resource, *offer.recipe, offer.inventory, ids, more);
  if (const auto* refusal = std::get_if<Refusal>(&outcome))
    return grpc::Status(code_of(refusal->reason), refusal->text);
  if (!offer.stall.empty())
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, offer.resource + ": " + offer.stall);
  return std::get<Allocation>(std::move(outcome));
}

std::vector<std::string> ids_of(const v1beta1::ContainerAllocateRequest& request) {
  return {request.devices_ids().begin(), request.devices_ids().end()};
}

}  // namespace

// An Allocate call that a program has a part in: one container after the other.
struct PluginService::AllocateCall {
  std::shared_ptr<const Offer> offer;
  const v1beta1::AllocateRequest* request;  // gRPC's, as the response, until it is answered
  v1beta1::AllocateResponse* response;
  PendingCall pending;
  std::chrono::steady_clock::time_point asked;
};

PluginService::PluginService(std::shared_ptr<InventoryFeed> feed, std::shared_ptr<CallTally> calls,
                             PluginOptions options, Hooks hooks)
    : feed_(std::move(feed)), calls_(std::move(calls)), options_(options), hooks_(std::move(hooks)) {}

grpc::ServerUnaryReactor* PluginService::GetDevicePluginOptions(grpc::CallbackServerContext* context,
                                                                const v1beta1::Empty*,
                                                                v1beta1::DevicePluginOptions* response) {
  response->set_pre_start_required(options_.pre_start_required);
  response->set_get_preferred_allocation_available(options_.preferred_allocation_available);
  return finish(context, grpc::Status::OK);
}

grpc::ServerWriteReactor<v1beta1::ListAndWatchResponse>* PluginService::ListAndWatch(
    grpc::CallbackServerContext* context, const v1beta1::Empty*) {
  const std::string peer = context->peer();
  hooks_.stream_opened(peer);
  return NewsStream<v1beta1::ListAndWatchResponse>::open(
      std::make_unique<Lists>(feed_), [closed = hooks_.stream_closed, peer] { closed(peer); });
}

grpc::ServerUnaryReactor* PluginService::GetPreferredAllocation(
    grpc::CallbackServerContext* context, const v1beta1::PreferredAllocationRequest* request,
    v1beta1::PreferredAllocationResponse* response) {
  const std::shared_ptr<const Offer> offer = feed_->newest().offer;
  const std::vector<std::string> near = offer->near.paths(LastGiven::Clock::now());
  for (const auto& container : request->container_requests()) {
    const std::vector<std::string> available(container.available_deviceids().begin(),
                                             container.available_deviceids().end());
    const std::vector<std::string> must_include(container.must_include_deviceids().begin(),
                                                container.must_include_deviceids().end());
    const auto size = static_cast<std::size_t>(std::max(container.allocation_size(), 0));
    auto& ids = *response->add_container_responses()->mutable_deviceids();
    for (std::string& id :
         preferred(offer->recipe->policy, offer->inventory, available, must_include, size, near))
      ids.Add(std::move(id));
  }
  return finish(context, grpc::Status::OK);
}

grpc::ServerUnaryReactor* PluginService::Allocate(grpc::CallbackServerContext* context,
                                                  const v1beta1::AllocateRequest* request,
                                                  v1beta1::AllocateResponse* response) {
  const auto asked = std::chrono::steady_clock::now();
  const std::shared_ptr<const Offer> offer = feed_->newest().offer;
  if (offer->recipe->allocate) {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    go_on(std::shared_ptr<AllocateCall>(
        new AllocateCall{offer, request, response, PendingCall(reactor, dropped(offer->resource)), asked}));
    return reactor;
  }
  grpc::Status status;
  for (const auto& container : request->container_requests()) {
    status = answer(*offer, ids_of(container), {}, *response->add_container_responses());
    (status.ok() ? calls_->allocated : calls_->allocation_refused).add();
    if (!status.ok()) break;
  }
  calls_->answers->add(std::chrono::steady_clock::now() - asked);
  return finish(context, status);
}

void PluginService::go_on(const std::shared_ptr<AllocateCall>& call) const {
  const int container = call->response->container_responses_size();
  if (container == call->request->container_requests_size()) return end(*call, grpc::Status::OK);
  const std::vector<std::string> ids = ids_of(call->request->container_requests(container));
  const auto without = allocated(*call->offer, ids, {});
  if (const auto* status = std::get_if<grpc::Status>(&without)) return end(*call, *status);
  hooks_.ask_program(call->offer, ids, [this, call, ids](const std::variant<Allocation, std::string>& said) {
    if (const auto* trouble = std::get_if<std::string>(&said))
      return end(*call, {grpc::StatusCode::FAILED_PRECONDITION,
                         "resource " + call->offer->resource + ": " + *trouble});
    const grpc::Status status =
        answer(*call->offer, ids, std::get<Allocation>(said), *call->response->add_container_responses());
    if (!status.ok()) return end(*call, status);
    calls_->allocated.add();
    go_on(call);
  });
}

void PluginService::end(AllocateCall& call, const grpc::Status& status) const {
  if (!status.ok()) calls_->allocation_refused.add();
  calls_->answers->add(std::chrono::steady_clock::now() - call.asked);
  call.pending.answer(status);
}

grpc::Status PluginService::answer(const Offer& offer, const std::vector<std::string>& ids,
                                   const Allocation& more,
                                   v1beta1::ContainerAllocateResponse& response) const {
  const auto outcome = allocated(offer, ids, more);
  if (const auto* status = std::get_if<grpc::Status>(&outcome)) return *status;
  const auto& allocation = std::get<Allocation>(outcome);
  if (const std::string missing = hooks_.check_answer(allocation); !missing.empty())
    return {grpc::StatusCode::UNAVAILABLE, offer.resource + ": " + missing};
  write_allocation(allocation, response);
  if (const std::size_t size = response.ByteSizeLong(); size > kListLimit)
    return {grpc::StatusCode::FAILED_PRECONDITION, "resource " + offer.resource + ": the answer has " +
                                                       std::to_string(size) +
                                                       " bytes, and the kubelet takes 4 MiB"};
  if (offer.given) offer.given->note(pci_paths(offer.inventory, ids), LastGiven::Clock::now());
  return grpc::Status::OK;
}

grpc::ServerUnaryReactor* PluginService::PreStartContainer(grpc::CallbackServerContext* context,
                                                           const v1beta1::PreStartContainerRequest* request,
                                                           v1beta1::PreStartContainerResponse*) {
  const std::shared_ptr<const Offer> offer = feed_->newest().offer;
  if (!offer->recipe->pre_start) return finish(context, grpc::Status::OK);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const auto call = std::make_shared<PendingCall>(reactor, dropped(offer->resource));
  hooks_.prepare(offer, {request->devices_ids().begin(), request->devices_ids().end()},
                 [call, calls = calls_, resource = offer->resource](const std::string& trouble) {
                   (trouble.empty() ? calls->started : calls->start_refused).add();
                   call->answer(trouble.empty() ? grpc::Status::OK
                                                : grpc::Status(grpc::StatusCode::FAILED_PRECONDITION,
                                                               "resource " + resource + ": " + trouble));
                 });
  return reactor;
}

}  // namespace plughost
