#pragma once
// The DevicePlugin service of one resource. Thread-safe: runs in gRPC's callback threads. The service reads
// snapshots and never waits, so an answer takes microseconds on any hardware; if a program of the entry takes
// part in an answer, the answer follows the program's end.

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "deviceplugin/v1beta1/deviceplugin.grpc.pb.h"
#include "kubernetes/plugin/endpoint.hpp"
#include "kubernetes/plugin/served_resource.hpp"

namespace plughost {

// The ids of unanswered Allocate calls. Thread-safe.
//
// Kubelets up to 1.37 can request one id for two pods at the same time (kubernetes/kubernetes#137534). So an
// id is claimed by one call at a time, for as long as the call's caller waits.
class UnansweredIds {
 public:
  using Cancelled = std::function<bool()>;
  using Ids = std::vector<std::string_view>;

  // Claims the ids of one call until the claim is destroyed. The loop does that, so it must be cheap.
  class Claim {
   public:
    Claim(UnansweredIds& of, Ids ids, Cancelled cancelled)
        : of_(of), ids_(std::move(ids)), cancelled_(std::move(cancelled)) {}
    ~Claim() {
      const std::lock_guard lock(of_.mutex_);
      std::erase(of_.claims_, this);
    }
    Claim& operator=(Claim&&) = delete;

   private:
    friend class UnansweredIds;
    UnansweredIds& of_;
    const Ids ids_;  // sorted
    const Cancelled cancelled_;
  };

  // Returns the claim, or the first id that is claimed by another call whose caller still waits. `cancelled`
  // returns true if this call's caller has gone, as after a kubelet's restart; any thread may call it until
  // the claim is destroyed. This object and the texts of the ids must outlive the claim.
  std::variant<std::unique_ptr<Claim>, std::string> claim(Ids ids, Cancelled cancelled) {
    std::ranges::sort(ids);
    const std::lock_guard lock(mutex_);
    for (const Claim* const other : claims_) {
      const std::string_view id = first_common(ids, other->ids_);
      if (!id.empty() && !other->cancelled_()) return std::string(id);
    }
    auto claim = std::make_unique<Claim>(*this, std::move(ids), std::move(cancelled));
    claims_.push_back(claim.get());
    return claim;
  }
  bool empty() const {
    const std::lock_guard lock(mutex_);
    return claims_.empty();
  }

 private:
  // Returns the first id that both sorted lists have; empty if there is none.
  static std::string_view first_common(const Ids& some, const Ids& others) {
    auto other = others.begin();
    for (const std::string_view id : some) {
      while (other != others.end() && *other < id) ++other;
      if (other != others.end() && *other == id) return id;
    }
    return {};
  }

  mutable std::mutex mutex_;
  std::vector<const Claim*> claims_;
};

class PluginService final : public v1beta1::DevicePlugin::CallbackService {
 public:
  // `callers` must outlive the service.
  PluginService(ServedResource resource, OwnerInLoop owner, const Callers& callers);

  grpc::ServerUnaryReactor* GetDevicePluginOptions(grpc::CallbackServerContext* context,
                                                   const v1beta1::Empty* request,
                                                   v1beta1::DevicePluginOptions* response) override;
  grpc::ServerWriteReactor<v1beta1::ListAndWatchResponse>* ListAndWatch(grpc::CallbackServerContext* context,
                                                                        const v1beta1::Empty*) override;
  grpc::ServerUnaryReactor* GetPreferredAllocation(grpc::CallbackServerContext* context,
                                                   const v1beta1::PreferredAllocationRequest* request,
                                                   v1beta1::PreferredAllocationResponse* response) override;
  grpc::ServerUnaryReactor* Allocate(grpc::CallbackServerContext* context,
                                     const v1beta1::AllocateRequest* request,
                                     v1beta1::AllocateResponse* response) override;
  grpc::ServerUnaryReactor* PreStartContainer(grpc::CallbackServerContext* context,
                                              const v1beta1::PreStartContainerRequest* request,
                                              v1beta1::PreStartContainerResponse*) override;

  // Returns true if every Allocate has its answer.
  bool idle() const { return unanswered_.empty(); }

 private:
  struct AllocateCall;
  void go_on(const std::shared_ptr<AllocateCall>& call) const;
  void end(AllocateCall& call, const grpc::Status& status) const;
  void post_answered(AnsweredAllocate call) const;

  const ServedResource resource_;
  const OwnerInLoop owner_;
  const Callers& callers_;
  UnansweredIds unanswered_;
};

// Opens a ListAndWatch stream, which sends the newest list whenever it changes. Thread-safe: runs in gRPC's
// callback threads. At most one write is in progress; a slow reader costs nothing, and gets the newest list
// when the reader is ready. The stream owns itself until gRPC's OnDone, when on_done is called once. Among
// the feed's readers it is in the group `incarnation`.
grpc::ServerWriteReactor<v1beta1::ListAndWatchResponse>* open_list_stream(std::shared_ptr<InventoryFeed> feed,
                                                                          std::uint32_t incarnation,
                                                                          std::function<void()> on_done);

}  // namespace plughost
