#pragma once
// A call that is answered later. Thread-safe as gRPC's reactors are: one thread answers.

#include <grpcpp/grpcpp.h>

#include <utility>

#include "text/text.hpp"

namespace plughost {

// Ends the call. The kubelet makes a pod's event of the status's text, so that is printable().
inline void finish_call(grpc::ServerUnaryReactor& reactor, const grpc::Status& status) {
  reactor.Finish(status.ok() ? status : grpc::Status(status.error_code(), printable(status.error_message())));
}

// gRPC's server ends when all of its calls have: one that nobody answers any more must not keep it.
class PendingCall {
 public:
  // reactor is gRPC's, and lives until it is finished.
  PendingCall(grpc::ServerUnaryReactor* reactor, grpc::Status if_dropped)
      : reactor_(reactor), if_dropped_(std::move(if_dropped)) {}
  ~PendingCall() {
    if (reactor_ != nullptr) finish_call(*reactor_, if_dropped_);
  }
  PendingCall& operator=(PendingCall&&) = delete;

  // The first answer counts.
  void answer(const grpc::Status& status) {
    if (grpc::ServerUnaryReactor* const reactor = std::exchange(reactor_, nullptr))
      finish_call(*reactor, status);
  }

 private:
  grpc::ServerUnaryReactor* reactor_;  // nullptr: it is answered
  grpc::Status if_dropped_;
};

}  // namespace plughost
