#pragma once
// What an endpoint serves and says it can do, what a resource answers for one container of an Allocate, and
// what became of the calls. Thread-safe.

#include <grpcpp/support/status.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "base/system/readers.hpp"
#include "base/system/tally.hpp"
#include "base/system/workers.hpp"
#include "model/allocate/allocation.hpp"
#include "model/allocate/resource_snapshot.hpp"
#include "model/device/allocation_spec.hpp"

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

// What an endpoint says it can do, in Register and from GetDevicePluginOptions alike. A plain value.
struct PluginOptions {
  bool pre_start_required = false;
  bool preferred_allocation_available = false;

  bool operator==(const PluginOptions&) const = default;
};

// Fixed for an endpoint's life: the kubelet asks once, when it dials.
inline PluginOptions options_of(const AllocationSpec& spec) {
  return {.pre_start_required = spec.pre_start || spec.assume,
          .preferred_allocation_available = spec.policy != AllocationPolicy::kNone || !spec.near.empty()};
}

// What became of the kubelet's calls to one resource. Thread-safe.
struct CallTally {
  explicit CallTally(std::shared_ptr<Durations> its_answers) : answers(std::move(its_answers)) {}

  Counter allocated;  // containers
  Counter allocation_refused;
  Counter started;
  Counter start_refused;
  // Of the answers to Allocate; shared with the other resources.
  const std::shared_ptr<Durations> answers;
};

// The newest snapshot of a resource, and the streams that want to know of it: all that the loop and gRPC's
// threads share. Thread-safe.
//
// A ResourceSnapshot is immutable and replaced as a whole. So a call has one list from its beginning to its
// end, waits for nothing that the loop does, and holds the lock for one copy of a pointer: an Allocate of 8
// devices takes 1.08 of the time of an empty call. A stream is told that there is another list, not which:
// however many come meanwhile it sends the newest, and one that the kubelet would read as the former wakes
// nobody. 10,000 uevents in 0.04 s are two messages a second (both: ./dev bench).
class InventoryFeed {
 public:
  struct Newest {
    SharedSnapshot snapshot;
    std::uint64_t list = 0;  // counts the lists: the same number, the same list
  };

  explicit InventoryFeed(ResourceSnapshot first);

  // Loop thread only. Replaces the snapshot. Returns true if the kubelet's list changes by that: call
  // send_list() then.
  bool publish(ResourceSnapshot snapshot);
  Newest newest() const;

  // Loop thread only, before the readers are closed: they are to end with an empty list.
  void end_empty() { ends_empty_ = true; }
  bool ends_empty() const { return ends_empty_; }

  // Closed with the resource.
  Readers& readers() { return readers_; }

 private:
  mutable std::mutex mutex_;
  Newest newest_;
  std::atomic<bool> ends_empty_ = false;
  Readers readers_;
};

// How the kubelet learns of a resource.
enum class Announcement { kRegister, kPluginsRegistry };

// What an endpoint serves. Immutable once made, and so thread-safe.
struct ServedResource {
  std::string name;
  PluginOptions options;
  Announcement announcement = Announcement::kRegister;
  std::shared_ptr<InventoryFeed> feed;
  std::shared_ptr<CallTally> calls;
  CheckAnswer check_answer;
};

// Loop thread only. Has the feed's streams send the newest list. A list of more than 1,000 ids is encoded on
// the worker: it would hold the loop.
void send_list(const std::shared_ptr<InventoryFeed>& feed, Workers& computations);

}  // namespace plughost
