#pragma once
// When to list a collection, when to watch it, and how long to wait before: a value that is told what came
// and what the time is. Not thread-safe.

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

  // After a failure it waits for half of this to all of this, by chance; after the next for twice as long.
  // Where no server is the pause does not grow, so that what changed meanwhile is known within a second of
  // its return.
  static constexpr std::chrono::milliseconds kFirstPause{1000};
  static constexpr std::chrono::milliseconds kLongestPause{30'000};
  // A watch that lived for so long was a good one: the next failure is the first again.
  static constexpr std::chrono::seconds kLived{10};
  // An API server that has just started may refuse what it will allow.
  static constexpr std::chrono::seconds kForbiddenMayPass{60};
  // The server is asked to end the watch after so long, and a little more by chance.
  static constexpr std::chrono::seconds kServerTimeout{300};
  static constexpr std::chrono::seconds kServerTimeoutSpread{60};
  // It sends a bookmark each minute: a watch that has said nothing for so long is dead.
  static constexpr std::chrono::minutes kSilent{7};

  explicit Reflector(std::uint32_t seed, std::chrono::milliseconds silent = kSilent)
      : random_(seed), silent_(silent) {}

  // The next page of a list, or the first; then what came is told by page() or failed().
  struct List {
    std::string continue_token;  // empty: the first page; what came before is void
  };
  // Then began(), event() as often as there are any, and ended() or failed().
  struct Watch {
    std::string resource_version;
    std::chrono::seconds timeout;
  };
  struct Wait {
    Time until;
  };
  // Nothing before something is told.
  struct Rest {};
  using Step = std::variant<List, Watch, Wait, Rest>;
  // A List or Watch that is returned is under way.
  Step next(Time now);

  void page(const std::string& resource_version, const std::string& continue_token, Time now);
  void began(Time now);
  // Ends the trouble of a brief watch before it. To be called kLived after began().
  void lived(Time now);
  // ADDED, MODIFIED, DELETED or BOOKMARK.
  void event(const std::string& resource_version, Time now);
  // By the server, in order.
  void ended(Time now);
  // The page, or the watch, whether it began or not. fault: its body does not matter; code: of HTTP, or of an
  // event ERROR.
  void failed(const ApiAnswer& fault, Time now);
  // The next step is a list: what the watch reported is not trusted.
  void relist();

  // All objects are known, as of some time.
  bool listed() const { return listed_; }
  // What is to be said of it; empty: nothing.
  const std::string& error() const { return error_; }
  // The last word of the server about the collection.
  std::optional<Time> heard() const { return heard_; }
  // While a watch is under way: it has failed if nothing comes until then. nullopt: none is.
  std::optional<Time> silent_at() const;

 private:
  enum class Under { kNothing, kList, kWatch };

  // What was under way has come to its end. Was it a watch that lived?
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
  bool expired_ = false;          // the last list or watch was too old; no other has gone well since
  std::string continue_token_;    // of the next page
  std::string resource_version_;  // to watch from
  std::optional<Time> began_;     // the watch under way
  Time active_{};                 // it has last said something then, or was begun
  bool brief_ = false;            // the last watch failed before it had lived
  std::optional<Time> forbidden_since_;
  std::optional<Time> heard_;
  std::string error_;
};

}  // namespace plughost
