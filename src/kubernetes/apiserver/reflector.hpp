#pragma once
// Decides when to list a collection, when to watch it, and how long to wait. A value: events and the time are
// passed in. Not thread-safe.
//
// The API server is optional, remote and shared: a node must neither send too many requests nor use an
// outdated answer for long. The rules are those of client-go's reflector: list, watch from the list's
// version, list again after a 410. Pauses grow, Retry-After is obeyed for a minute at most, and a connection
// that is silent for seven minutes counts as dead. The official C client was refused: it is generated, and
// its calls block. A value can be tested without a server or a clock.

#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <variant>

#include "base/system/rate.hpp"
#include "kubernetes/apiserver/api_request.hpp"

namespace plughost {

class Reflector {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // The pause after the first failure; a random half to all is used. Each further failure doubles the pause,
  // but not while no server is reachable, so that changes are known within a second of the server's return.
  static constexpr std::chrono::milliseconds kFirstPause{1000};
  static constexpr std::chrono::milliseconds kLongestPause{30'000};
  // A watch that lived this long was healthy: the next failure counts as the first.
  static constexpr std::chrono::seconds kLived{10};
  // A 403 is an error only after this time: a server that has just started may refuse requests at first.
  static constexpr std::chrono::seconds kForbiddenMayPass{60};
  // The requested duration of a watch, plus a small random part.
  static constexpr std::chrono::seconds kServerTimeout{300};
  static constexpr std::chrono::seconds kServerTimeoutSpread{60};
  // The server sends a bookmark each minute: a watch that has been silent for this long is dead.
  static constexpr std::chrono::minutes kSilent{7};

  explicit Reflector(std::uint32_t seed, std::chrono::milliseconds silent = kSilent)
      : random_(seed), silent_(silent) {}

  // Request the next page of a list, then call page() or failed().
  struct List {
    std::string continue_token;  // empty: the first page; the pages so far are void
  };
  // Start a watch, then call began(), event() for each event, and ended() or failed().
  struct Watch {
    std::string resource_version;
    std::chrono::seconds timeout;
  };
  struct Wait {
    Time until;
  };
  // A list or a watch is running: do nothing until a function below has been called.
  struct Rest {};
  using Step = std::variant<List, Watch, Wait, Rest>;
  // Returns what to do. A returned List or Watch counts as begun.
  Step next(Time now);

  void page(const std::string& resource_version, const std::string& continue_token, Time now);
  void began(Time now);
  // Clears the error that an earlier, brief watch has left. Call this function kLived after began().
  void lived(Time now);
  // Handles an event of type ADDED, MODIFIED, DELETED or BOOKMARK.
  void event(const std::string& resource_version, Time now);
  // Call it when the server has ended the watch regularly.
  void ended(Time now);
  // Call it when the page or the watch has failed, even before it began. The code of `fault` is an HTTP
  // status, or the code of an ERROR event; its body is ignored.
  void failed(const ApiAnswer& fault, Time now);
  // Makes the next step a list, because the watch's events are not trusted.
  void relist();

  // Returns true if all objects are known, as they were at some time.
  bool listed() const { return listed_; }
  // Returns the error to report; empty: none.
  const std::string& error() const { return error_; }
  // Returns the time of the server's last message about the collection.
  std::optional<Time> heard() const { return heard_; }
  // Returns when the running watch fails if nothing arrives before; nullopt if no watch is running.
  std::optional<Time> silent_at() const;

 private:
  enum class Under { kNothing, kList, kWatch };

  // Ends the present step. Returns true if it was a watch that lived.
  bool end(Time now);
  void pause(const ApiAnswer& fault, Time now);
  void record_fault(const ApiAnswer& fault, Time now);
  void well();

  std::minstd_rand random_;
  std::chrono::milliseconds silent_;
  Backoff pauses_{kFirstPause, kLongestPause};
  Under under_ = Under::kNothing;
  std::optional<Time> not_before_;
  bool listed_ = false;
  bool must_list_ = true;
  bool expired_ = false;          // a 410 came, and no watch has lived or received an event since
  std::string continue_token_;    // of the next page
  std::string resource_version_;  // where to start the watch
  std::optional<Time> began_;     // of the running watch
  Time active_{};                 // the time of the watch's last message, or of its start
  bool brief_ = false;            // the last watch failed before kLived
  std::optional<Time> forbidden_since_;
  std::optional<Time> heard_;
  std::string error_;
};

}  // namespace plughost
