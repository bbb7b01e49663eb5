#pragma once
// The kubelet's words and values for what came over the wire. Thread-safe.

#include <grpcpp/support/status.h>

#include <string>
#include <vector>

#include "standin/kubelet_state.hpp"

namespace v1beta1 {
class ListAndWatchResponse;
}  // namespace v1beta1

namespace plughost {

// The only version of the API.
inline constexpr const char* kDevicePluginVersion = "v1beta1";

// As Go prints it: "rpc error: code = Unavailable desc = …". For a status that is not OK.
std::string rpc_error(const grpc::Status& status);

// Of devices with the same id the last one counts.
std::vector<ListedDevice> to_devices(const v1beta1::ListAndWatchResponse& response);

}  // namespace plughost
