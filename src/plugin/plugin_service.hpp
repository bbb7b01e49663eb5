#pragma once
// The DevicePlugin service of one resource. Thread-safe: gRPC's callback threads run it. It reads snapshots
// and never waits, so an answer takes microseconds whatever the hardware does; but where a program of the
// entry has a part in it, it is given when that has ended.

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "allocate/allocation.hpp"
#include "deviceplugin/v1beta1/deviceplugin.grpc.pb.h"
#include "plugin/endpoint_owner.hpp"
#include "plugin/served_resource.hpp"
#include "plugin/unanswered_ids.hpp"

namespace plughost {

class PluginService final : public v1beta1::DevicePlugin::CallbackService {
 public:
  // callers outlives it.
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

 private:
  struct AllocateCall;
  void go_on(const std::shared_ptr<AllocateCall>& call) const;
  void end(AllocateCall& call, const grpc::Status& status) const;
  void tell(AnsweredAllocate call) const;

  const ServedResource resource_;
  const OwnerInLoop owner_;
  const Callers& callers_;
  UnansweredIds unanswered_;
};

// A ListAndWatch call: the newest list, whenever it is another. Thread-safe: gRPC's callback threads run it.

// At most one write is in flight; a slow reader gets the next list when it is ready for one, and costs
// nothing until then. It owns itself until gRPC says OnDone; on_done is called once then.
grpc::ServerWriteReactor<v1beta1::ListAndWatchResponse>* open_list_stream(std::shared_ptr<InventoryFeed> feed,
                                                                          std::function<void()> on_done);

}  // namespace plughost
