#include "kubernetes/plugin/plugin_service.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <utility>

#include "base/text/text.hpp"
#include "kubernetes/kubelet/wire.hpp"
#include "kubernetes/plugin/served_resource.hpp"
#include "model/allocate/preferred.hpp"
#include "model/device/inventory.hpp"

namespace plughost {
namespace {

// Finishes the call. The status becomes an event of the pod, so its text is printable().
void finish_call(grpc::ServerUnaryReactor& reactor, const grpc::Status& status) {
  reactor.Finish(status.ok() ? status : grpc::Status(status.error_code(), printable(status.error_message())));
}

// gRPC's server ends only after all of its calls, so a call whose answer was dropped must be finished.
class PendingCall {
 public:
  // `reactor` is gRPC's, and is valid until it is finished.
  PendingCall(grpc::ServerUnaryReactor* reactor, grpc::Status if_dropped)
      : reactor_(reactor), if_dropped_(std::move(if_dropped)) {}
  ~PendingCall() {
    if (reactor_ != nullptr) finish_call(*reactor_, if_dropped_);
  }
  PendingCall& operator=(PendingCall&&) = delete;

  // Only the first answer counts.
  void answer(const grpc::Status& status) {
    if (grpc::ServerUnaryReactor* const reactor = std::exchange(reactor_, nullptr))
      finish_call(*reactor, status);
  }

 private:
  grpc::ServerUnaryReactor* reactor_;  // nullptr: answered
  grpc::Status if_dropped_;
};

grpc::ServerUnaryReactor* finish(grpc::CallbackServerContext* context, const grpc::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  finish_call(*reactor, status);
  return reactor;
}

grpc::Status dropped(const std::string& resource) {
  return {grpc::StatusCode::UNAVAILABLE, resource + ": plughost is stopping, or restarts its endpoint"};
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

// An Allocate call that needs the loop or a program. Its containers are handled one after the other.
struct PluginService::AllocateCall {
  SharedSnapshot snapshot;
  const v1beta1::AllocateRequest* request;  // gRPC's, like the response; valid until the call is answered
  v1beta1::AllocateResponse* response;
  PendingCall pending;
  std::chrono::steady_clock::time_point asked;
  std::unique_ptr<UnansweredIds::Claim> claim;  // released before the answer ends gRPC's context
};

PluginService::PluginService(ServedResource resource, OwnerInLoop owner, const Callers& callers)
    : resource_(std::move(resource)), owner_(std::move(owner)), callers_(callers) {}

grpc::ServerUnaryReactor* PluginService::GetDevicePluginOptions(grpc::CallbackServerContext* context,
                                                                const v1beta1::Empty*,
                                                                v1beta1::DevicePluginOptions* response) {
  if (resource_.announcement == Announcement::kRegister) {
    const Caller by = callers_.of(context->peer());
    owner_.post([by](EndpointOwner& owner) { owner.on_dialed(by); });
  }
  const PluginOptions options = options_of(*resource_.feed->newest().snapshot->spec);
  response->set_pre_start_required(options.pre_start_required);
  response->set_get_preferred_allocation_available(options.preferred_allocation_available);
  return finish(context, grpc::Status::OK);
}

grpc::ServerWriteReactor<v1beta1::ListAndWatchResponse>* PluginService::ListAndWatch(
    grpc::CallbackServerContext* context, const v1beta1::Empty*) {
  const Caller by = callers_.of(context->peer());
  auto* const stream = open_list_stream(resource_.feed, by.incarnation, [owner = owner_, by] {
    owner.post([by](EndpointOwner& told) { told.on_stream_closed(by); });
  });
  // The owner may end the stream as soon as it is told of it. gRPC calls OnDone after this function.
  owner_.post([by](EndpointOwner& owner) { owner.on_stream_opened(by); });
  return stream;
}

grpc::ServerUnaryReactor* PluginService::GetPreferredAllocation(
    grpc::CallbackServerContext* context, const v1beta1::PreferredAllocationRequest* request,
    v1beta1::PreferredAllocationResponse* response) {
  const SharedSnapshot snapshot = resource_.feed->newest().snapshot;
  const auto now = std::chrono::steady_clock::now();
  const std::vector<std::string> near = snapshot->near.paths(now);
  const std::vector<CardName> same =
      snapshot->joined ? snapshot->joined->before(snapshot->resource, now) : std::vector<CardName>();
  const ShareTerms terms{.of = snapshot->spec->shares, .same = same};
  for (const auto& container : request->container_requests()) {
    const std::vector<std::string> available(container.available_deviceids().begin(),
                                             container.available_deviceids().end());
    const std::vector<std::string> must_include(container.must_include_deviceids().begin(),
                                                container.must_include_deviceids().end());
    const auto size = static_cast<std::size_t>(std::max(container.allocation_size(), 0));
    std::vector<std::string> chosen =
        preferred(snapshot->spec->policy, snapshot->inventory, available, must_include, size, near, terms);
    // Recorded for the message of a later refusal.
    if (snapshot->free && !fulfils(terms.of, snapshot->inventory, chosen))
      snapshot->free->record({{snapshot->resource, free_shares(snapshot->inventory, available)}}, now);
    auto& ids = *response->add_container_responses()->mutable_deviceids();
    for (std::string& id : chosen) ids.Add(std::move(id));
  }
  return finish(context, grpc::Status::OK);
}

grpc::ServerUnaryReactor* PluginService::Allocate(grpc::CallbackServerContext* context,
                                                  const v1beta1::AllocateRequest* request,
                                                  v1beta1::AllocateResponse* response) {
  const auto asked = std::chrono::steady_clock::now();
  const SharedSnapshot snapshot = resource_.feed->newest().snapshot;
  std::vector<std::vector<std::string>> containers;
  std::ranges::transform(request->container_requests(), std::back_inserter(containers), ids_of);
  UnansweredIds::Ids all;
  for (const auto& container : request->container_requests())
    all.insert(all.end(), container.devices_ids().begin(), container.devices_ids().end());
  auto claimed = unanswered_.claim(std::move(all), [context] { return context->IsCancelled(); });
  if (const auto* const id = std::get_if<std::string>(&claimed)) {
    const grpc::Status status(
        grpc::StatusCode::UNAVAILABLE,
        "resource " + snapshot->resource + ": device " + *id +
            " is being given to another container, whose Allocate has no answer yet: the "
            "kubelet has chosen it twice (kubernetes#137534); delete this pod");
    resource_.calls->allocation_refused.add();
    post_answered(answered(*request, status));
    return finish(context, status);
  }
  auto claim = std::get<std::unique_ptr<UnansweredIds::Claim>>(std::move(claimed));
  const auto asks = [&](const std::vector<std::string>& ids) { return asks_program(*snapshot, ids); };
  // The owner waits until a predecessor's process has told what it has given.
  const auto waits = [&](const std::vector<std::string>& ids) {
    return snapshot->ledger && snapshot->ledger->undecided(snapshot->resource, ids);
  };
  if (std::ranges::any_of(containers, waits) || snapshot->spec->assume ||
      std::ranges::any_of(containers, asks)) {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    go_on(std::shared_ptr<AllocateCall>(new AllocateCall{snapshot, request, response,
                                                         PendingCall(reactor, dropped(snapshot->resource)),
                                                         asked, std::move(claim)}));
    return reactor;
  }
  grpc::Status status;
  for (const std::vector<std::string>& ids : containers) {
    status =
        answer_container(*snapshot, ids, {}, resource_.check_answer, *response->add_container_responses());
    (status.ok() ? resource_.calls->allocated : resource_.calls->allocation_refused).add();
    if (!status.ok()) break;
  }
  resource_.calls->answers->add(std::chrono::steady_clock::now() - asked);
  AnsweredAllocate told = answered(*request, status);
  claim.reset();
  grpc::ServerUnaryReactor* const reactor = finish(context, status);
  post_answered(std::move(told));
  return reactor;
}

void PluginService::go_on(const std::shared_ptr<AllocateCall>& call) const {
  const int container = call->response->container_responses_size();
  if (container == call->request->container_requests_size()) return end(*call, grpc::Status::OK);
  const std::vector<std::string> ids = ids_of(call->request->container_requests(container));
  const bool chosen = call->snapshot->spec->assume.has_value();
  if (chosen) {
    if (const std::string stall = stall_of(*call->snapshot, ids); !stall.empty())
      return end(*call, {grpc::StatusCode::UNAVAILABLE, call->snapshot->resource + ": " + stall});
  } else {
    const auto without = container_allocation(*call->snapshot, ids, {});
    if (const auto* status = std::get_if<grpc::Status>(&without)) return end(*call, *status);
  }
  // With `assume` the callback has no ids: the loop destroys it, and must not have to free 48,000 ids.
  auto done = [this, call, ids = chosen ? std::vector<std::string>() : ids,
               chosen](const std::variant<Allocation, std::string>& said) {
    if (const auto* error = std::get_if<std::string>(&said))
      return end(*call, {grpc::StatusCode::FAILED_PRECONDITION,
                         "resource " + call->snapshot->resource + ": " + *error});
    const Allocation& allocation = std::get<Allocation>(said);
    v1beta1::ContainerAllocateResponse& response = *call->response->add_container_responses();
    const grpc::Status status =
        chosen ? write_answer(*call->snapshot, allocation, resource_.check_answer, response)
               : answer_container(*call->snapshot, ids, allocation, resource_.check_answer, response);
    if (!status.ok()) return end(*call, status);
    resource_.calls->allocated.add();
    go_on(call);
  };
  if (chosen)
    owner_.post([snapshot = call->snapshot, set = IdSet::of(call->snapshot->resource, ids),
                 done = std::move(done)](EndpointOwner& owner) { owner.request_card(snapshot, set, done); });
  else
    owner_.post([snapshot = call->snapshot, ids, done = std::move(done)](EndpointOwner& owner) {
      owner.run_allocation_program(snapshot, ids, done);
    });
}

void PluginService::end(AllocateCall& call, const grpc::Status& status) const {
  if (!status.ok()) resource_.calls->allocation_refused.add();
  resource_.calls->answers->add(std::chrono::steady_clock::now() - call.asked);
  AnsweredAllocate told = answered(*call.request, status);
  call.claim.reset();
  call.pending.answer(status);
  post_answered(std::move(told));
}

void PluginService::post_answered(AnsweredAllocate call) const {
  owner_.post([call = std::move(call)](EndpointOwner& owner) { owner.on_allocated(call); });
}

grpc::ServerUnaryReactor* PluginService::PreStartContainer(grpc::CallbackServerContext* context,
                                                           const v1beta1::PreStartContainerRequest* request,
                                                           v1beta1::PreStartContainerResponse*) {
  const SharedSnapshot snapshot = resource_.feed->newest().snapshot;
  if (!snapshot->spec->pre_start && !snapshot->spec->assume) return finish(context, grpc::Status::OK);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  const auto call = std::make_shared<PendingCall>(reactor, dropped(snapshot->resource));
  auto done = [call, calls = resource_.calls, resource = snapshot->resource](const std::string& error) {
    (error.empty() ? calls->started : calls->start_refused).add();
    call->answer(error.empty() ? grpc::Status::OK
                               : grpc::Status(grpc::StatusCode::FAILED_PRECONDITION,
                                              "resource " + resource + ": " + error));
  };
  const std::vector<std::string> ids(request->devices_ids().begin(), request->devices_ids().end());
  if (snapshot->spec->assume)
    owner_.post([snapshot, set = IdSet::of(snapshot->resource, ids), done](EndpointOwner& owner) {
      owner.prepare_card(snapshot, set, done);
    });
  else
    owner_.post([snapshot, ids, done](EndpointOwner& owner) { owner.prepare_start(snapshot, ids, done); });
  return reactor;
}

namespace {

using List = v1beta1::ListAndWatchResponse;

class ListStream final : public grpc::ServerWriteReactor<List>, public FeedReader {
 public:
  ListStream(std::shared_ptr<InventoryFeed> feed, std::function<void()> on_done)
      : feed_(std::move(feed)), on_done_(std::move(on_done)) {}

  void begin(std::shared_ptr<ListStream> self, std::uint32_t incarnation) {
    self_ = std::move(self);
    feed_->readers().subscribe(self_, incarnation);
    advance();
  }

  void on_news() override { advance(); }
  void on_closed() override { end(true); }
  void OnCancel() override { end(false); }

  void OnWriteDone(bool ok) override {
    {
      const std::lock_guard lock(mutex_);
      list_.reset();
      if (!ok) {
        ending_ = true;
        has_last_ = false;
      }
    }
    advance();
  }

  void OnDone() override {
    feed_->readers().unsubscribe(this);
    on_done_();
    const auto last = std::move(self_);
  }

 private:
  // `told` is true if the feed has ended the stream, so that the peer still reads.
  void end(bool told) {
    {
      const std::lock_guard lock(mutex_);
      has_last_ = told && (has_last_ || !ending_);
      ending_ = true;
    }
    advance();
  }

  // Decides under the lock and acts outside it, because gRPC may call back from within.
  void advance() {
    List* to_write = nullptr;
    SharedSnapshot snapshot;  // nullptr: an empty list
    {
      const std::lock_guard lock(mutex_);
      if (list_ || finished_) return;
      if (!ending_) {
        const InventoryFeed::Newest newest = feed_->newest();
        if (newest.list == sent_) return;
        sent_ = newest.list;
        list_ = std::make_unique<List>();
        snapshot = newest.snapshot;
      } else if (std::exchange(has_last_, false) && feed_->ends_empty()) {
        list_ = std::make_unique<List>();
      }
      to_write = list_.get();
      finished_ = to_write == nullptr;
    }
    // Encodes outside the lock: this can take milliseconds, and the loop needs the lock to close the feed.
    if (snapshot) write_list(snapshot->inventory, *to_write);
    if (to_write != nullptr)
      StartWrite(to_write);
    else
      Finish(grpc::Status::OK);
  }

  std::shared_ptr<InventoryFeed> feed_;
  std::function<void()> on_done_;
  std::shared_ptr<ListStream> self_;
  std::mutex mutex_;
  std::unique_ptr<List> list_;  // during its write
  std::uint64_t sent_ = 0;      // the number of the last list that was sent
  bool ending_ = false;
  bool has_last_ = false;  // the last, empty list may have to be sent
  bool finished_ = false;
};

}  // namespace

grpc::ServerWriteReactor<List>* open_list_stream(std::shared_ptr<InventoryFeed> feed,
                                                 std::uint32_t incarnation, std::function<void()> on_done) {
  const auto stream = std::make_shared<ListStream>(std::move(feed), std::move(on_done));
  stream->begin(stream, incarnation);
  return stream.get();
}

}  // namespace plughost
