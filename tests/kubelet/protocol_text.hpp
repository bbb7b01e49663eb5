#pragma once
// The kubelet's error messages for calls. Thread-safe.

#include <string>

namespace plughost {

// The only version of the API.
inline constexpr const char* kDevicePluginVersion = "v1beta1";

// How a call ended: gRPC's status code and message.
struct CallEnd {
  static constexpr int kOk = 0;
  static constexpr int kUnknown = 2;
  static constexpr int kUnavailable = 14;

  int code = kOk;
  std::string text;

  bool ok() const { return code == kOk; }
};

// Returns the text of a failed call as Go prints it: "rpc error: code = Unavailable desc = …".
std::string rpc_error(const CallEnd& end);

}  // namespace plughost
