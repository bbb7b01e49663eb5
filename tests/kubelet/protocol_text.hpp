#pragma once
// The kubelet's words for what came over the wire. Thread-safe.

#include <string>

namespace plughost {

// The only version of the API.
inline constexpr const char* kDevicePluginVersion = "v1beta1";

// How a call ended: gRPC's code, and the text with it.
struct CallEnd {
  static constexpr int kOk = 0;
  static constexpr int kUnknown = 2;
  static constexpr int kUnavailable = 14;

  int code = kOk;
  std::string text;

  bool ok() const { return code == kOk; }
};

// As Go prints it: "rpc error: code = Unavailable desc = …". For a call that failed.
std::string rpc_error(const CallEnd& end);

}  // namespace plughost
