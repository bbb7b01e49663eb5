#pragma once
// Decides when an NVIDIA card is Unhealthy, and when it recovers: after a while, or after a reset. Not
// thread-safe.

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/system/event_loop.hpp"

namespace plughost {

// The XIDs (error numbers of NVIDIA's driver) that do not concern the card's health.
struct XidPolicy {
  bool ignore_all = false;
  // Caused by programs; NVIDIA's device plugin ignores the same XIDs.
  std::set<std::uint64_t> ignored{13, 31, 43, 45, 68, 109};
  bool count_all = false;
  std::set<std::uint64_t> counted;  // counted even if they are in `ignored`

  bool ignores(std::uint64_t xid) const;
  // DP_DISABLE_HEALTHCHECKS: "all", "xids" or numbers joined by commas, in addition to `ignored`.
  void disable(std::string_view words);
  // DP_ENABLE_HEALTHCHECKS, which overrides everything else: "all" or numbers.
  void enable(std::string_view words);
};

// Returns "XID 79: the GPU has fallen off the bus".
std::string xid_words(std::uint64_t xid);
// Returns true if the card may be unusable until a reset; also for an unknown XID.
bool xid_lasts(std::uint64_t xid);

class NvidiaHealth {
 public:
  using Clock = LoopClock;
  // A card recovers after this time without errors.
  static constexpr std::chrono::seconds kRecovery{30};

  struct Error {
    std::string why;     // empty: healthy
    bool lasts = false;  // until record_reset() or forget()
  };

  // `id` is the UUID of a card or of a MIG device.
  void record(const std::string& id, const std::string& why, Clock::time_point now);
  void record_lasting(const std::string& id, const std::string& why);
  // Call record_reset() when the card has been reset: a lasting error then ends after kRecovery.
  void record_reset(const std::string& id, Clock::time_point now);
  void record_all_reset(Clock::time_point now);
  // Treats the card as healthy.
  void forget(const std::string& id) { ailments_.erase(id); }
  Error error(const std::string& id, Clock::time_point now) const;

 private:
  struct Ailment {
    std::string why;
    Clock::time_point until{};
  };
  static constexpr Clock::time_point kForEver = Clock::time_point::max();
  std::map<std::string, Ailment> ailments_;
};

}  // namespace plughost
