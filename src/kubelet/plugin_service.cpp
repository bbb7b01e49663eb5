#include "kubelet/plugin_service.hpp"

#include <utility>

#include "device/preferred.hpp"
#include "kubelet/news_stream.hpp"
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

// One PreStartContainer call, until it is answered.
class StartCall {
 public:
  // reactor is gRPC's, and lives until it is finished.
  StartCall(grpc::ServerUnaryReactor* reactor, std::string resource, std::shared_ptr<CallTally> calls)
      : reactor_(reactor), resource_(std::move(resource)), calls_(std::move(calls)) {}
  // gRPC's server ends when all of its calls have.
  ~StartCall() {
    if (reactor_ != nullptr)
      reactor_->Finish(
          {grpc::StatusCode::UNAVAILABLE, resource_ + ": plughost is stopping, or serves it anew"});
  }
  StartCall(const StartCall&) = delete;
  StartCall& operator=(const StartCall&) = delete;

  void answer(const std::string& trouble) {
    grpc::ServerUnaryReactor* const reactor = std::exchange(reactor_, nullptr);
    if (reactor == nullptr) return;
    (trouble.empty() ? calls_->started : calls_->start_refused).add();
    reactor->Finish(trouble.empty() ? grpc::Status::OK
                                    : grpc::Status(grpc::StatusCode::FAILED_PRECONDITION,
                                                   "resource " + resource_ + ": " + trouble));
  }

 private:
  grpc::ServerUnaryReactor* reactor_;  // nullptr: it is answered
  std::string resource_;
  std::shared_ptr<CallTally> calls_;
};

}  // namespace

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
  grpc::Status status;
  for (const auto& container : request->container_requests()) {
    status = answer(*offer, container, *response->add_container_responses());
    (status.ok() ? calls_->allocated : calls_->allocation_refused).add();
    if (!status.ok()) break;
  }
  calls_->answers->add(std::chrono::steady_clock::now() - asked);
  return finish(context, status);
}

grpc::Status PluginService::answer(const Offer& offer, const v1beta1::ContainerAllocateRequest& request,
                                   v1beta1::ContainerAllocateResponse& response) const {
  const std::vector<std::string> ids(request.devices_ids().begin(), request.devices_ids().end());
  const auto outcome = allocate(offer.resource, *offer.recipe, offer.inventory, ids);
  if (const auto* refusal = std::get_if<Refusal>(&outcome)) return {code_of(refusal->reason), refusal->text};
  if (!offer.stall.empty()) return {grpc::StatusCode::UNAVAILABLE, offer.resource + ": " + offer.stall};
  const auto& allocation = std::get<Allocation>(outcome);
  if (const std::string missing = hooks_.check_answer(allocation); !missing.empty())
    return {grpc::StatusCode::UNAVAILABLE, offer.resource + ": " + missing};
  write_allocation(allocation, response);
  if (offer.given) offer.given->note(pci_paths(offer.inventory, ids), LastGiven::Clock::now());
  return grpc::Status::OK;
}

grpc::ServerUnaryReactor* PluginService::PreStartContainer(grpc::CallbackServerContext* context,
                                                           const v1beta1::PreStartContainerRequest* request,
                                                           v1beta1::PreStartContainerResponse*) {
  const std::shared_ptr<const Offer> offer = feed_->newest().offer;
  if (!offer->recipe->pre_start) return finish(context, grpc::Status::OK);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const auto call = std::make_shared<StartCall>(reactor, offer->resource, calls_);
  hooks_.prepare(offer, {request->devices_ids().begin(), request->devices_ids().end()},
                 [call](const std::string& trouble) { call->answer(trouble); });
  return reactor;
}

}  // namespace plughost
