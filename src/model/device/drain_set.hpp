#pragma once
// The devices that an operator has taken out of service, with reasons and ends. A value: the time is passed
// in. Not thread-safe.

#include <chrono>
#include <compare>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/device/inventory.hpp"

namespace plughost {

struct Drain {
  // Wall-clock time: it continues while the daemon does not run.
  using Clock = std::chrono::system_clock;

  std::string reason;  // valid UTF-8 on one line, at most kLongestReason bytes; empty: none was given
  Clock::time_point since;
  std::optional<Clock::time_point> until;  // nullopt: until undrained

  // Returns the reason for the device: "drained until 2026-11-22T19:00:00Z: the fan".
  std::string text() const;
  bool operator==(const Drain&) const = default;
};

inline constexpr std::size_t kLongestReason = 200;
// Returns why the text cannot be a reason, as a sentence; empty if it can.
std::string reason_error(std::string_view reason);

class DrainSet final : public Overlay {
 public:
  using Clock = Drain::Clock;

  // A drained device may be absent from the list, because the device may come back.
  struct Name {
    std::string resource;  // empty, as `device`: every device of the node, see unreadable()
    std::string device;    // empty: every device of the resource, also one that appears later

    // Returns "example.com/gpu=gpu-0", "example.com/gpu" or "every device".
    std::string text() const;
    auto operator<=>(const Name&) const = default;
  };
  // The content of a document from text(), as far as it is valid.
  struct Parsed;

  // Replaces a former drain of the device.
  void set(const Name& name, Drain drain) { all_[name] = std::move(drain); }
  // Returns false if the device was not drained.
  bool remove(const Name& name) { return all_.erase(name) > 0; }
  // Removes the drains whose time is over, and returns their names.
  std::vector<Name> expire(Clock::time_point now);
  // Returns when the first drain ends; nullopt if no drain has an end.
  std::optional<Clock::time_point> next_end() const;

  const Drain* find(const Name& name) const;
  // The drain of every device while it is unknown which ones an operator took out of service; nullptr if that
  // is known.
  const Drain* unreadable() const { return find({}); }
  bool touches(const std::string& resource) const override;
  const std::map<Name, Drain>& all() const { return all_; }
  std::size_t count() const { return all_.size(); }
  void apply(const std::string& resource, std::vector<Device>& devices) const override;

  // Returns the set as a JSON document.
  std::string text() const;
  static Parsed parse(std::string_view text);

  bool operator==(const DrainSet&) const = default;

 private:
  std::map<Name, Drain> all_;
};

struct DrainSet::Parsed {
  DrainSet drains;                  // a drain whose terms are damaged has no end
  std::vector<std::string> errors;  // as sentences
  bool incomplete = false;          // the names of some drained devices are lost
};

}  // namespace plughost
