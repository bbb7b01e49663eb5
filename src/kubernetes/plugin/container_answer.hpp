#pragma once
// What a resource answers for one container of an Allocate. Thread-safe.

#include <grpcpp/support/status.h>

#include <functional>
#include <span>
#include <string>
#include <variant>

#include "model/allocate/allocation.hpp"
#include "model/allocate/resource_snapshot.hpp"

namespace v1beta1 {
class ContainerAllocateResponse;
}

namespace plughost {

// Why the machine cannot give what an answer promises; empty: it can. Any thread; must not block.
using CheckAnswer = std::function<std::string(const Allocation&)>;

// The snapshot's devices for these ids, and more: what a program adds. Or why there is no answer.
std::variant<Allocation, grpc::Status> container_allocation(const ResourceSnapshot& snapshot,
                                                            std::span<const std::string> ids,
                                                            const Allocation& more);

// An allocation as the kubelet gets it, if the machine has it and the kubelet can take it.
grpc::Status write_answer(const ResourceSnapshot& snapshot, const Allocation& allocation,
                          const CheckAnswer& check, v1beta1::ContainerAllocateResponse& response);

// Both: if the machine has it, the kubelet can take it, and the resources that are
// joined with this one have given the container the same card. The snapshot's LastGiven, GivenCards and
// Ledger are told.
grpc::Status answer_container(const ResourceSnapshot& snapshot, std::span<const std::string> ids,
                              const Allocation& more, const CheckAnswer& check,
                              v1beta1::ContainerAllocateResponse& response);

}  // namespace plughost
