#pragma once
// A ListAndWatch call: the newest list, whenever it is another. Thread-safe: gRPC's callback threads run it.

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>

#include "deviceplugin/v1beta1/deviceplugin.grpc.pb.h"
#include "kubelet/inventory_feed.hpp"

namespace plughost {

// At most one write is in flight; a slow reader gets the next list when it is ready for one, and costs
// nothing until then. It owns itself until gRPC says OnDone; on_done is called once then.
grpc::ServerWriteReactor<v1beta1::ListAndWatchResponse>* open_list_stream(std::shared_ptr<InventoryFeed> feed,
                                                                          std::function<void()> on_done);

}  // namespace plughost
