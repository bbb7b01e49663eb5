#pragma once
// The ledger of hardware that containers hold, across all resources: a device that two entries list is
// allocated once.
//
// Two entries may list one card, as a GPU and as a VFIO function, and the kubelet counts them apart. The
// ledger compares hardware, not ids: a unit is a place in the kernel's device tree, and the holder of a unit
// also holds the units above and below it. The alternative, to refuse such configurations, would also refuse
// the common case of a card that is used either way. The last step of an Allocate takes all units under one
// lock, or refuses, so two calls at once cannot both succeed. An Allocate of 8 devices takes 1.08 times a
// call without devices (./dev bench).

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/device/inventory.hpp"

namespace plughost {

// One per machine. Hardware is identified by the devices' units (see Hardware). Used by the Allocates of all
// resources, and updated by the loop with lists and holders. Thread-safe.
class Ledger final : public Overlay {
 public:
  using Clock = std::chrono::steady_clock;
  // Allocates for one container follow within this time: the kubelet admits one container at a time.
  static constexpr std::chrono::milliseconds kSameContainer{1000};
  // For this time after an Allocate, a device stays held even if the kubelet does not report a holder yet.
  static constexpr std::chrono::seconds kUntold{5};

  struct Name {
    std::string resource;
    std::string id;  // of a device
    auto operator<=>(const Name&) const = default;
  };
  using Holds = std::map<Name, std::string>;  // holders by device: "default/train"
  // A device that is held, as one ledger tells the ledger of another process.
  struct Hold {
    Name name;
    std::string who;                          // the holder; empty: not reported yet
    std::chrono::milliseconds age = kUntold;  // since the Allocate
    bool operator==(const Hold&) const = default;
  };

  // `given` is called after each successful give(), in the thread of give(). If not `complete`, the holds of
  // a predecessor follow by inherit(), see undecided().
  explicit Ledger(std::function<void()> given = {}, bool complete = true)
      : given_(std::move(given)), complete_(complete) {}

  // list() replaces the resource's list; `devices` may be in any order. A missing device has left the
  // machine, and its hardware is free, unless keep() was called before list(), for a change of the entry. If
  // a held device's hardware has changed, its holder holds the former hardware as well.
  void keep(const std::string& resource);
  void list(const std::string& resource, std::span<const Device> devices, Clock::time_point now);
  // Records that the container being admitted gets these devices of the resource, or shares of them. If
  // another container has some of their hardware, returns the reason, as a sentence; empty on success.
  std::string give(const std::string& resource, std::span<const std::string> ids, Clock::time_point now);
  // Replaces the holders by the result of a query of the kubelet that began at `asked`.
  void update_holds(const Holds& holds, Clock::time_point asked, Clock::time_point now);

  // Sets, by device id, the hardware of other devices to which the paths given to containers now lead. The
  // holder of a device also holds that hardware.
  void lead(const std::string& resource, const std::map<std::string, std::vector<std::string>>& units,
            Clock::time_point now);

  // Updates what depends on the time: the container being admitted may have been admitted by now.
  void refresh(Clock::time_point now);

  // Returns what this ledger knows of the devices that are held.
  std::vector<Hold> holds(Clock::time_point now) const;
  // Adds the holds of a predecessor, whose process gives nothing any more.
  void inherit(std::span<const Hold> holds, Clock::time_point now);
  bool complete() const { return complete_; }
  // Returns true if a predecessor may have given the hardware of one of these devices through another
  // resource: give() must wait for inherit().
  bool undecided(const std::string& resource, std::span<const std::string> ids) const;

  // Increases whenever the set of blocked devices changes.
  std::uint64_t version() const;
  bool held(const Name& name) const;
  // Returns true while a device is blocked, held under two names, or allocated without a reported holder.
  bool open() const;
  bool touches(const std::string& resource) const override;
  void apply(const std::string& resource, std::vector<Device>& devices) const override;

 private:
  struct Given {
    std::string who = {};                 // the holder; empty: not reported yet
    std::vector<std::string> units = {};  // see lead()
    std::vector<std::string> kept = {};   // see keep() and list()
    std::uint64_t container = 0;          // the number of the container being admitted; 0: unknown
    Clock::time_point when = Clock::time_point::min();
  };

  // Calls `visit` with the devices on each unit that is this one, above it or below it.
  template <typename Visit>
  void for_each_related(const std::string& unit, Visit visit) const;
  void recompute(Clock::time_point now);
  void block(const Name& holder, const Given& hold, const std::string& unit, Clock::time_point now);

  const std::function<void()> given_;
  std::atomic<bool> complete_;
  mutable std::mutex mutex_;
  std::map<Name, std::vector<std::string>> units_;  // of listed devices
  std::map<std::string, std::set<Name>> by_unit_;   // the inverse of units_
  std::map<Name, Given> held_;
  std::map<Name, std::string> blocked_;  // with the reason
  bool contested_ = false;  // two held devices are one piece of hardware, so a release must be noticed
  std::uint64_t version_ = 0;
  std::set<std::string> givers_;  // resources that have been allocated to the last container
  std::uint64_t container_ = 0;
  Clock::time_point last_ = Clock::time_point::min();
};

}  // namespace plughost
