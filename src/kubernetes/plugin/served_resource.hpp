#pragma once
// A resource as its endpoint serves it: options, newest list, answers for containers, and counters of calls.
// Thread-safe.

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

// Returns what the machine lacks for an allocation, as a sentence; else "". Any thread; must not block.
using CheckAnswer = std::function<std::string(const Allocation&)>;

// Allocates the snapshot's devices for these ids, plus `more`, a program's addition. On failure, returns the
// reason.
std::variant<Allocation, grpc::Status> container_allocation(const ResourceSnapshot& snapshot,
                                                            std::span<const std::string> ids,
                                                            const Allocation& more);

// Writes an allocation as the kubelet's message. Fails if `check` fails, or if the message is too large.
grpc::Status write_answer(const ResourceSnapshot& snapshot, const Allocation& allocation,
                          const CheckAnswer& check, v1beta1::ContainerAllocateResponse& response);

// Calls container_allocation() and write_answer(), and requires that joined resources have allocated the same
// card to the container. Records the result in the snapshot's LastGiven, GivenCards and Ledger.
grpc::Status answer_container(const ResourceSnapshot& snapshot, std::span<const std::string> ids,
                              const Allocation& more, const CheckAnswer& check,
                              v1beta1::ContainerAllocateResponse& response);

// The options of an endpoint, for Register and GetDevicePluginOptions. A plain value.
struct PluginOptions {
  bool pre_start_required = false;
  bool preferred_allocation_available = false;

  bool operator==(const PluginOptions&) const = default;
};

// The kubelet requests the options once, when it dials: other options need another registration.
inline PluginOptions options_of(const AllocationSpec& spec) {
  return {.pre_start_required = spec.pre_start || spec.assume,
          .preferred_allocation_available = spec.policy != AllocationPolicy::kNone || !spec.near.empty()};
}

// Counters of the kubelet's calls to one resource. Thread-safe.
struct CallTally {
  explicit CallTally(std::shared_ptr<Durations> its_answers) : answers(std::move(its_answers)) {}

  Counter allocated;  // containers
  Counter allocation_refused;
  Counter started;
  Counter start_refused;
  // The time of Allocate answers, shared by all resources.
  const std::shared_ptr<Durations> answers;
};

// The newest snapshot of a resource and its streams: all that the loop and gRPC's threads share. Thread-safe.
//
// A ResourceSnapshot is immutable and replaced as a whole. So a call uses one list from its beginning to its
// end, never waits for the loop, and holds the lock for one copy of a pointer: an Allocate of 8 devices takes
// 1.08 of the time of an empty call. A stream is notified of a change and sends the newest list, however many
// lists were published meanwhile; a list that looks the same to the kubelet wakes no stream. 10,000 uevents
// in 0.04 s cause two messages a second (both: ./dev bench).
class InventoryFeed {
 public:
  struct Newest {
    SharedSnapshot snapshot;
    std::uint64_t list = 0;  // the number of the list; equal numbers mean equal lists
  };

  explicit InventoryFeed(ResourceSnapshot first);

  // Loop thread only. Replaces the snapshot. Returns true if the kubelet's list changes; then call
  // send_list().
  bool publish(ResourceSnapshot snapshot);
  // Gives the list another number, so that send_list() sends it again.
  void renew();
  Newest newest() const;

  // Makes the streams end with an empty list. Loop thread only; call it before the readers are closed.
  void end_empty() { ends_empty_ = true; }
  bool ends_empty() const { return ends_empty_; }

  // The open streams. The endpoint closes them when it ends.
  Readers& readers() { return readers_; }

 private:
  mutable std::mutex mutex_;
  Newest newest_;
  std::atomic<bool> ends_empty_ = false;
  Readers readers_;
};

// How the kubelet finds a resource.
enum class Announcement { kRegister, kPluginsRegistry };

// A resource as its endpoint serves it. Immutable once made, so thread-safe.
struct ServedResource {
  std::string name;
  Announcement announcement = Announcement::kRegister;
  std::shared_ptr<InventoryFeed> feed;
  std::shared_ptr<CallTally> calls;
  CheckAnswer check_answer;
};

// Loop thread only. Makes the streams send the newest list. A list of more than 1,000 ids is encoded on the
// worker, because the encoding would block the loop.
void send_list(const std::shared_ptr<InventoryFeed>& feed, Workers& computations);

}  // namespace plughost
