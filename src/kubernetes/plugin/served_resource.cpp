#include "kubernetes/plugin/served_resource.hpp"

#include <set>

#include "deviceplugin/v1beta1/deviceplugin.pb.h"
#include "kubernetes/kubelet/wire.hpp"

namespace plughost {
namespace {

std::vector<std::string> pci_paths(const Inventory& inventory, std::span<const std::string> ids) {
  std::vector<std::string> paths;
  for (const std::string& id : ids) {
    const Device* const device = inventory.find(id);
    if (const std::string* path = device ? device->attribute("pciPath") : nullptr) paths.push_back(*path);
  }
  return paths;
}

// Returns each device once, even if many of its shares are among the ids: a pod may have 48,000 ids.
std::vector<const Device*> devices_of(const Inventory& inventory, std::span<const std::string> ids) {
  std::vector<const Device*> devices;
  std::set<const Device*> seen;
  for (const std::string& id : ids)
    if (const Device* const device = inventory.find(id); device && seen.insert(device).second)
      devices.push_back(device);
  return devices;
}

// Records the container's cards. Returns why its other cards exclude them; empty if they do not.
std::string other_card(const ResourceSnapshot& snapshot, std::span<const std::string> ids) {
  if (!snapshot.joined) return {};
  std::vector<CardName> cards;
  for (const Device* const device : devices_of(snapshot.inventory, ids)) cards.push_back(card_of(*device));
  const std::vector<CardName> others =
      snapshot.joined->give(snapshot.resource, cards, GivenCards::Clock::now());
  if (others.empty()) return {};
  return "the container would get " + names_of(cards) + ", and what it has of " + snapshot.spec->near +
         " or of another entry that is joined by `sameCard` is of " + names_of(others) +
         ": that card has not enough left of both; request less, or retry when a pod has ended";
}

// Records in the ledger that the container gets the devices. If another container holds their hardware,
// through any resource, returns the reason; else "".
std::string held_elsewhere(const ResourceSnapshot& snapshot, std::span<const std::string> ids) {
  if (!snapshot.ledger) return {};
  std::vector<std::string> devices;
  for (const Device* const device : devices_of(snapshot.inventory, ids)) devices.push_back(device->id);
  return snapshot.ledger->give(snapshot.resource, devices, Ledger::Clock::now());
}

grpc::StatusCode code_of(Refusal::Reason reason) {
  switch (reason) {
    case Refusal::Reason::kUnknownDevice:
      return grpc::StatusCode::NOT_FOUND;
    case Refusal::Reason::kUnhealthyDevice:
      return grpc::StatusCode::UNAVAILABLE;
    case Refusal::Reason::kTooMany:
      return grpc::StatusCode::INVALID_ARGUMENT;
    case Refusal::Reason::kOtherShares:
    case Refusal::Reason::kConflict:
      return grpc::StatusCode::FAILED_PRECONDITION;
  }
  return grpc::StatusCode::INTERNAL;
}

}  // namespace

std::variant<Allocation, grpc::Status> container_allocation(const ResourceSnapshot& snapshot,
                                                            std::span<const std::string> ids,
                                                            const Allocation& more) {
  auto outcome = allocate(snapshot.resource, *snapshot.spec, snapshot.inventory, ids, more);
  if (const auto* refusal = std::get_if<Refusal>(&outcome)) {
    const bool other = refusal->reason == Refusal::Reason::kOtherShares && snapshot.free;
    const std::string free =
        other ? snapshot.free->just_now(FreeShares::Clock::now())[snapshot.resource] : "";
    return grpc::Status(code_of(refusal->reason), refusal->text + (free.empty() ? "" : ". Free are " + free));
  }
  if (const std::string stall = stall_of(snapshot, ids); !stall.empty())
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, snapshot.resource + ": " + stall);
  return std::get<Allocation>(std::move(outcome));
}

grpc::Status write_answer(const ResourceSnapshot& snapshot, const Allocation& allocation,
                          const CheckAnswer& check, v1beta1::ContainerAllocateResponse& response) {
  if (const std::string missing = check(allocation); !missing.empty())
    return {grpc::StatusCode::UNAVAILABLE, snapshot.resource + ": " + missing};
  write_allocation(allocation, response);
  if (const std::size_t size = response.ByteSizeLong(); size > kListLimit)
    return {grpc::StatusCode::FAILED_PRECONDITION, "resource " + snapshot.resource + ": the answer has " +
                                                       std::to_string(size) +
                                                       " bytes, and the kubelet takes 4 MiB"};
  return grpc::Status::OK;
}

grpc::Status answer_container(const ResourceSnapshot& snapshot, std::span<const std::string> ids,
                              const Allocation& more, const CheckAnswer& check,
                              v1beta1::ContainerAllocateResponse& response) {
  const auto outcome = container_allocation(snapshot, ids, more);
  if (const auto* status = std::get_if<grpc::Status>(&outcome)) return *status;
  if (grpc::Status status = write_answer(snapshot, std::get<Allocation>(outcome), check, response);
      !status.ok())
    return status;
  if (const std::string other = other_card(snapshot, ids); !other.empty())
    return {grpc::StatusCode::FAILED_PRECONDITION, "resource " + snapshot.resource + ": " + other};
  if (const std::string held = held_elsewhere(snapshot, ids); !held.empty())
    return {grpc::StatusCode::UNAVAILABLE, "resource " + snapshot.resource + ": device " + held};
  if (snapshot.given) snapshot.given->record(pci_paths(snapshot.inventory, ids), LastGiven::Clock::now());
  return grpc::Status::OK;
}

InventoryFeed::InventoryFeed(ResourceSnapshot first)
    : newest_{std::make_shared<const ResourceSnapshot>(std::move(first)), 1} {}

bool InventoryFeed::publish(ResourceSnapshot snapshot) {
  auto next = std::make_shared<const ResourceSnapshot>(std::move(snapshot));
  // The loop is the only publisher, so the compared snapshot is the one that is replaced.
  const bool same_list = newest().snapshot->inventory.lists_same_as(next->inventory);
  {
    const std::lock_guard lock(mutex_);
    newest_.snapshot.swap(next);  // the former snapshot is destroyed after the lock is released
    if (!same_list) ++newest_.list;
  }
  return !same_list;
}

void InventoryFeed::renew() {
  const std::lock_guard lock(mutex_);
  ++newest_.list;
}

InventoryFeed::Newest InventoryFeed::newest() const {
  const std::lock_guard lock(mutex_);
  return newest_;
}

void send_list(const std::shared_ptr<InventoryFeed>& feed, Workers& computations) {
  constexpr std::size_t kMostIdsInLoop = 1000;
  constexpr std::chrono::seconds kDeadline{10};
  if (feed->newest().snapshot->inventory.id_count() <= kMostIdsInLoop) return feed->readers().notify();
  computations.run([feed] { feed->readers().notify(); }, [] {}, kDeadline, [] {});
}

}  // namespace plughost
