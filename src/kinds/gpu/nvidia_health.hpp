#pragma once
// When an NVIDIA card is sick, and when it is well again: after a while, or after a reset. Not thread-safe.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace plughost {

// Which XIDs (error numbers of NVIDIA's driver) say nothing about the card.
struct XidPolicy {
  bool ignore_all = false;
  // Those that a program causes by itself; NVIDIA's device plugin ignores the same.
  std::set<std::uint64_t> ignored{13, 31, 43, 45, 68, 109};
  bool count_all = false;
  std::set<std::uint64_t> counted;  // even if they are ignored

  bool ignores(std::uint64_t xid) const;
  // DP_DISABLE_HEALTHCHECKS: "all", "xids" or numbers joined by commas, beside those that are ignored anyway.
  void disable(std::string_view words);
  // DP_ENABLE_HEALTHCHECKS, which wins over everything else: "all" or numbers.
  void enable(std::string_view words);
};

// "XID 79: the GPU has fallen off the bus"
std::string xid_words(std::uint64_t xid);
// Can the card be used again only after it was reset? Of one that is not in the table it is not known: it may
// be.
bool xid_lasts(std::uint64_t xid);

class NvidiaHealth {
 public:
  using Clock = std::chrono::steady_clock;
  using Now = std::function<Clock::time_point()>;
  // A card is well again after so long without anything wrong.
  static constexpr std::chrono::seconds kRecovery{30};

  struct Error {
    std::string why;     // empty: it is well
    bool lasts = false;  // until record_reset() or forget()
  };

  // id: of a card or a MIG device.
  void record(const std::string& id, const std::string& why, Clock::time_point now);
  void record_lasting(const std::string& id, const std::string& why);
  // It has been reset: what would last ends as anything else.
  void record_reset(const std::string& id, Clock::time_point now);
  void record_all_reset(Clock::time_point now);
  // Somebody says that it is well.
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
