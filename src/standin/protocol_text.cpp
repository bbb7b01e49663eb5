#include "standin/protocol_text.hpp"

#include <array>
#include <map>

#include "deviceplugin/v1beta1/deviceplugin.pb.h"

namespace plughost {

namespace {

const char* code_name(grpc::StatusCode code) {
  static constexpr std::array kNames{
      "OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
      "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
      "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
      "DataLoss", "Unauthenticated"};
  const auto index = static_cast<std::size_t>(code);
  return index < kNames.size() ? kNames[index] : "Unknown";
}

}  // namespace

std::string rpc_error(const grpc::Status& status) {
  return std::string("rpc error: code = ") + code_name(status.error_code()) +
         " desc = " + status.error_message();
}

std::vector<ListedDevice> to_devices(const v1beta1::ListAndWatchResponse& response) {
  std::map<std::string, ListedDevice> by_id;
  for (const auto& device : response.devices()) {
    ListedDevice listed{device.id(), device.health() == "Healthy", {}};
    for (const auto& node : device.topology().nodes()) listed.numa_nodes.push_back(node.id());
    by_id.insert_or_assign(device.id(), std::move(listed));
  }
  std::vector<ListedDevice> devices;
  devices.reserve(by_id.size());
  for (auto& [id, device] : by_id) devices.push_back(std::move(device));
  return devices;
}

}  // namespace plughost
