#pragma once
// A call that is answered later. Thread-safe as gRPC's reactors are: one thread answers.

#include <grpcpp/grpcpp.h>

#include <utility>

namespace plughost {

// gRPC's server ends when all of its calls have: one that nobody answers any more must not keep it.
class PendingCall {
 public:
  // reactor is gRPC's, and lives until it is finished.
  PendingCall(grpc::ServerUnaryReactor* reactor, grpc::Status if_dropped)
      : reactor_(reactor), if_dropped_(std::move(if_dropped)) {}
  ~PendingCall() {
    if (reactor_ != nullptr) reactor_->Finish(if_dropped_);
  }
  PendingCall& operator=(PendingCall&&) = delete;

  // The first answer counts.
  void answer(const grpc::Status& status) {
    if (grpc::ServerUnaryReactor* const reactor = std::exchange(reactor_, nullptr)) reactor->Finish(status);
  }

 private:
  grpc::ServerUnaryReactor* reactor_;  // nullptr: it is answered
  grpc::Status if_dropped_;
};

}  // namespace plughost
