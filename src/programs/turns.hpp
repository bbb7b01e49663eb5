#pragma once
// Whose turn it is to run. A plain value.

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>

namespace plughost {

// What a program is run for.
enum class Purpose : std::size_t {
  kStay,  // it stays: such programs need no turn
  kList,
  kHealth,
  kAllocate,
  kPreStart,
  kUnhealthy,
  kRemove,
};

// Those who wait stand in lines, each with a limit of its own. Within a purpose the one that has waited
// longest goes first; of the purposes, the one that has the fewest running. So many in one line, or programs
// that hang, keep no other purpose waiting.
class Turns {
 public:
  // So many programs run at once.
  static constexpr std::size_t kAtOnce = 32;
  // But so many of each purpose run whatever else does.
  static constexpr std::size_t kOfEach = 4;
  static constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

  using Line = std::uint64_t;
  using Ticket = std::uint64_t;  // rising: the smallest has waited longest

  Line open(Purpose purpose, std::size_t at_once);
  // All of its tickets have left.
  void close(Line line);
  Ticket wait(Line line);
  // Ends its waiting, or gives its place back.
  void leave(Line line, Ticket ticket);
  // The next one whose turn it is: it has its place now.
  std::optional<Ticket> next();

 private:
  struct Queue {
    Purpose purpose;
    std::size_t at_once;
    std::size_t running = 0;
    std::set<Ticket> waiting;
  };

  bool may_run(const Queue& queue) const;
  bool goes_before(const Queue& one, const Queue& other) const;
  std::size_t& running_for(Purpose purpose) { return running_for_[static_cast<std::size_t>(purpose)]; }
  std::size_t running_for(Purpose purpose) const { return running_for_[static_cast<std::size_t>(purpose)]; }

  std::map<Line, Queue> lines_;
  std::array<std::size_t, static_cast<std::size_t>(Purpose::kRemove) + 1> running_for_{};
  std::size_t running_ = 0;  // without those that stay
  Line next_line_ = 1;
  Ticket next_ticket_ = 1;
};

}  // namespace plughost
