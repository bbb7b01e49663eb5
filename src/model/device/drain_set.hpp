#pragma once
// The devices that somebody has taken out of service: why, and until when. A value, which is told the time;
// not thread-safe.

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
  // The wall's clock: it goes on while nobody runs.
  using Clock = std::chrono::system_clock;

  std::string reason;  // valid UTF-8 on one line, at most kLongestReason bytes; empty: none was given
  Clock::time_point since;
  std::optional<Clock::time_point> until;  // nullopt: until somebody says so

  // Why the device is out of service: "drained until 2026-11-22T19:00:00Z: the fan".
  std::string text() const;
  bool operator==(const Drain&) const = default;
};

inline constexpr std::size_t kLongestReason = 200;
// Why the text cannot be a reason, as a sentence; empty: it can.
std::string reason_error(std::string_view reason);

class DrainSet final : public Overlay {
 public:
  using Clock = Drain::Clock;

  // A device that nobody lists is drained, too: it may come back.
  struct Name {
    std::string resource;
    std::string device;
    auto operator<=>(const Name&) const = default;
  };
  // What a document of text() says, as far as it can be understood.
  struct Parsed;

  // Takes the place of a former one.
  void set(const Name& name, Drain drain) { all_[name] = std::move(drain); }
  // False: it was not drained.
  bool remove(const Name& name) { return all_.erase(name) > 0; }
  // Those whose time is over are drained no more.
  std::vector<Name> expire(Clock::time_point now);
  // When the first one's time is over; nullopt: there is none with an end.
  std::optional<Clock::time_point> next_end() const;

  const Drain* find(const Name& name) const;
  bool touches(const std::string& resource) const override;
  const std::map<Name, Drain>& all() const { return all_; }
  std::size_t count() const { return all_.size(); }
  void apply(const std::string& resource, std::vector<Device>& devices) const override;

  // As a document, JSON.
  std::string text() const;
  static Parsed parse(std::string_view text);

  bool operator==(const DrainSet&) const = default;

 private:
  std::map<Name, Drain> all_;
};

struct DrainSet::Parsed {
  DrainSet drains;
  std::vector<std::string> errors;  // what is not understood, as sentences
};

}  // namespace plughost
