#include "kubelet/protocol_text.hpp"

#include <array>

namespace plughost {
namespace {

const char* code_name(int code) {
  static constexpr std::array kNames{
      "OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
      "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
      "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
      "DataLoss", "Unauthenticated"};
  const auto index = static_cast<std::size_t>(code);
  return index < kNames.size() ? kNames[index] : "Unknown";
}

}  // namespace

std::string rpc_error(const CallEnd& end) {
  return std::string("rpc error: code = ") + code_name(end.code) + " desc = " + end.text;
}

}  // namespace plughost
