#pragma once
// The kubelet's DRAPlugin service in each of its versions. Thread-safe: gRPC's callback threads run it. A
// call is answered when the owner has, from the loop; none waits in a thread.

#include <grpcpp/impl/codegen/service_type.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kubelet/dra_owner.hpp"
#include "kubelet/in_loop.hpp"

namespace plughost {

// By the names that a driver's registration has them under, the newest first: the kubelet takes the first one
// that it knows.
inline constexpr const char* kDraV1 = "v1.DRAPlugin";
inline constexpr const char* kDraV1Beta1 = "v1beta1.DRAPlugin";

struct DraServices {
  std::vector<std::unique_ptr<grpc::Service>> services;
  // Calls that wait fail, those to come do at once, and what the owner has to say of them is not heard: a
  // server does not end before its calls have.
  std::function<void()> end_calls;
};

DraServices make_dra_services(const std::string& driver, const InLoop<DraOwner>& owner);

}  // namespace plughost
