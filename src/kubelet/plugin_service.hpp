#pragma once
// The DevicePlugin service of one resource. Thread-safe: gRPC's callback threads run it. It reads snapshots
// and never waits, so an answer takes microseconds whatever the hardware does; but where a program of the
// entry has a part in it, it is given when that has ended.

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "device/allocation.hpp"
#include "deviceplugin/v1beta1/deviceplugin.grpc.pb.h"
#include "kubelet/call_tally.hpp"
#include "kubelet/inventory_feed.hpp"
#include "kubelet/plugin_options.hpp"

namespace plughost {

class PluginService final : public v1beta1::DevicePlugin::CallbackService {
 public:
  // Called once, from any thread: why a container cannot start; empty: it can. Where it is dropped, the start
  // fails, too.
  using StartAnswer = std::function<void(std::string trouble)>;

  // Called once, from any thread: what a program adds to an allocation, or why it does not. Where it is
  // dropped, the allocation fails, too.
  using AllocationAnswer = std::function<void(std::variant<Allocation, std::string> outcome)>;

  struct Hooks {
    // Why the machine cannot give what an answer promises; empty: it can. Must not block.
    std::function<std::string(const Allocation&)> check_answer;
    // peer is grpc::ServerContextBase::peer() of the stream's connection.
    std::function<void(const std::string& peer)> stream_opened;
    std::function<void(const std::string& peer)> stream_closed;
    // Prepares the offer's devices for a container's start, and answers later. Must not block.
    std::function<void(std::shared_ptr<const Offer> offer, std::vector<std::string> ids, StartAnswer answer)>
        prepare;
    // Asks the program of the offer's recipe what a container with these devices gets beside the rest, and
    // answers later. Must not block.
    std::function<void(std::shared_ptr<const Offer> offer, std::vector<std::string> ids,
                       AllocationAnswer answer)>
        ask_program;
  };

  PluginService(std::shared_ptr<InventoryFeed> feed, std::shared_ptr<CallTally> calls, PluginOptions options,
                Hooks hooks);

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
  grpc::Status answer(const Offer& offer, const std::vector<std::string>& ids, const Allocation& more,
                      v1beta1::ContainerAllocateResponse& response) const;

  std::shared_ptr<InventoryFeed> feed_;
  std::shared_ptr<CallTally> calls_;
  PluginOptions options_;
  Hooks hooks_;
};

}  // namespace plughost
