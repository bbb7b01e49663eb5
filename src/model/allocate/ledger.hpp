#pragma once
// Which hardware containers have, through whatever resource they got it: what two entries list is given once.

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

// Of one machine; what is known of hardware are the devices' units (see Hardware). Allocates of all
// resources ask it, and the loop tells it what is listed and held. Thread-safe.
class Ledger final : public Overlay {
 public:
  using Clock = std::chrono::steady_clock;
  // The kubelet admits one container at a time, and asks for its resources one right after the other.
  static constexpr std::chrono::milliseconds kSameContainer{1000};
  // The kubelet tells of what it was given before it tells who has it.
  static constexpr std::chrono::seconds kUntold{5};

  struct Name {
    std::string resource;
    std::string id;  // of a device
    auto operator<=>(const Name&) const = default;
  };
  using Holds = std::map<Name, std::string>;  // and who: "default/train"

  // given: called after each give() that succeeds, from its thread.
  explicit Ledger(std::function<void()> given = {}) : given_(std::move(given)) {}

  // The resource lists these from now on, in any order. What is not among them has left the machine, unless
  // keep() was called before: then its entry says something else from now on, and what is held is held on. So
  // is what a held device was, if it is other hardware than in the list before.
  void keep(const std::string& resource);
  void list(const std::string& resource, std::span<const Device> devices, Clock::time_point now);
  // Records that the container being admitted holds these devices of the resource, or shares of them. ids: of
  // the devices. Returns why not, as a sentence, if another container has some of their hardware; else empty.
  std::string give(const std::string& resource, std::span<const std::string> ids, Clock::time_point now);
  // Who holds what, by the answer to a question that was put then.
  void update_holds(const Holds& holds, Clock::time_point asked, Clock::time_point now);

  // To which hardware of others leads what containers were given for the resource's devices, by the device's
  // id: whoever holds the device has that, too.
  void lead(const std::string& resource, const std::map<std::string, std::vector<std::string>>& units,
            Clock::time_point now);

  // The container that was being admitted may have been by now.
  void refresh(Clock::time_point now);

  // Another number when devices are blocked that were not, or the other way round.
  std::uint64_t version() const;
  bool held(const Name& name) const;
  // Is a device blocked, or held by two names, or was one given that nobody has told of?
  bool open() const;
  bool touches(const std::string& resource) const override;
  void apply(const std::string& resource, std::vector<Device>& devices) const override;

 private:
  struct Given {
    std::string who = {};                 // empty: nobody has told yet
    std::vector<std::string> units = {};  // see lead()
    std::vector<std::string> kept = {};   // see keep() and list()
    std::uint64_t container = 0;          // the number of the one that was being admitted; 0: it is not known
    Clock::time_point when = Clock::time_point::min();
  };

  void recompute(Clock::time_point now);
  void block(const Name& holder, const Given& hold, const std::string& unit, Clock::time_point now);

  const std::function<void()> given_;
  mutable std::mutex mutex_;
  std::map<Name, std::vector<std::string>> units_;  // of the devices that are listed
  std::map<std::string, std::set<Name>> by_unit_;   // the same
  std::map<Name, Given> held_;
  std::map<Name, std::string> blocked_;  // and why
  bool contested_ = false;               // two that are held are one piece of hardware: has one of them gone?
  std::uint64_t version_ = 0;
  std::set<std::string> givers_;  // the resources that the container which came last has been given of
  std::uint64_t container_ = 0;
  Clock::time_point last_ = Clock::time_point::min();
};

}  // namespace plughost
