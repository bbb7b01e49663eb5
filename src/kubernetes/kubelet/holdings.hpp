#pragma once
// The devices that containers hold. Plain values.
//
// A pod can hold 48,000 units of a card's memory. A resource's holders are therefore one shared value with
// all ids in one block of memory: a multimap of strings takes milliseconds to copy and to destroy, and the
// loop does both (plughost_bench --holders).

#include <compare>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/device/inventory.hpp"

namespace plughost {

struct Holder {
  std::string pod_namespace;  // empty: only the pod's UID is known
  std::string pod;            // its name, or its UID
  std::string container;

  auto operator<=>(const Holder&) const = default;
};

// The ids of one resource that containers hold, sorted. A device with replicas has an id for each replica.
// Two pods hold one id only if the kubelet has allocated it twice. Copies share the ids, and are cheap.
class HoldersOfIds {
 public:
  struct Held {
    std::string_view id;
    std::shared_ptr<const Holder> holder;  // never nullptr

    bool operator==(const Held& other) const { return id == other.id && *holder == *other.holder; }
  };

  HoldersOfIds() = default;
  // Sorts and copies the ids. If several containers of one pod hold an id, such as an init container and a
  // later container, the last container counts.
  explicit HoldersOfIds(std::vector<Held> held);
  HoldersOfIds(std::initializer_list<std::pair<std::string, Holder>> held);

  std::span<const Held> all() const;
  auto begin() const { return all().begin(); }
  auto end() const { return all().end(); }
  bool contains(std::string_view id) const { return !of(id).empty(); }
  // Returns the holders of the id: one element per pod.
  std::span<const Held> of(std::string_view id) const;
  // Returns the holders of ids with that prefix.
  std::span<const Held> beginning_with(std::string_view beginning) const;

  bool operator==(const HoldersOfIds& other) const;

 private:
  struct Content;
  std::shared_ptr<const Content> content_;  // nullptr: none
};

// Holders by resource.
using Holdings = std::map<std::string, HoldersOfIds, std::less<>>;

// Returns the device's ids that containers hold, sorted; empty if `holdings` does not have the resource.
std::vector<const HoldersOfIds::Held*> held_ids(const Holdings& holdings, std::string_view resource,
                                                const Device& device);

// Collects holders in any order. The texts of the ids must live until build().
class HoldingsBuilder {
 public:
  void add(const std::string& resource, std::string_view id, const std::shared_ptr<const Holder>& holder) {
    held_[resource].push_back({.id = id, .holder = holder});
  }
  bool empty() const { return held_.empty(); }
  Holdings build() &&;

 private:
  std::map<std::string, std::vector<HoldersOfIds::Held>> held_;
};

}  // namespace plughost
