#pragma once
// What to write so that the API server shows our slices as they should be: a value that is told what is
// wanted, what is shown, how writes ended, and what the time is. Not thread-safe.
//
// A pool is never in parts while its content changes: a slice is replaced by one write, of the same
// generation. Where the number of slices changes, the new ones are made first, of generation 0, which counts
// for nobody; then all get the next generation at once; then those go that are not wanted. Counters come
// before the devices that use them, and go after them.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/backoff.hpp"
#include "dra/layout.hpp"
#include "dra/slice_json.hpp"

namespace plughost {

struct SliceWrite {
  enum class What { kRead, kCreate, kUpdate, kDelete };
  What what = What::kRead;
  std::string name;
  Slice slice;                   // of kCreate and kUpdate
  std::string resource_version;  // of kUpdate: of what it takes the place of
  std::string uid;               // of what is shown; of kDelete: of what is to go
};

struct SliceAnswer {
  int code = 0;                     // of HTTP; 0: there was none
  std::optional<ShownSlice> shown;  // what came with a 2xx, if it was a slice
  std::string trouble;              // why it is no 2xx, as a sentence
  std::optional<std::chrono::seconds> retry_after;
};

class SliceKeeper {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // The first change of a pool is written at once. Then this passes for each slice that was written, a second
  // at most.
  static constexpr std::chrono::milliseconds kBetween{125};
  static constexpr std::chrono::milliseconds kLongestBetween{1000};
  // After a failure half of this to all of it passes, by chance.
  static constexpr std::chrono::milliseconds kFirstPause{1000};
  static constexpr std::chrono::milliseconds kLongestPause{30'000};
  // What somebody takes away or changes again and again is mended at once so many times; then with pauses
  // that double, until it was left alone for so long.
  static constexpr unsigned kAtOnce = 3;
  static constexpr std::chrono::seconds kLeftAlone{60};
  // An API server that has just been told of a slice may refuse the next write of it.
  static constexpr unsigned kForbiddenMayPass = 2;

  explicit SliceKeeper(std::uint32_t seed) : random_(seed) {}

  // Whose slices they are. Without node_uid nothing is made or changed. Those of a driver before are deleted.
  // What another driver or node shows has to be listed anew.
  void own(SliceOwner owner);
  const SliceOwner& owner() const { return owner_; }
  // All pools. undecided: names of pools of which nothing is touched. Nothing is written before the first
  // call, and nothing before listed().
  void want(std::vector<Pool> pools, std::set<std::string> undecided);

  void listed(std::vector<ShownSlice> shown);
  void changed(ShownSlice shown, Time now);
  void gone(const ShownSlice& shown, Time now);

  // What may be written now; each is under way until it is answered.
  std::vector<SliceWrite> next(Time now);
  // When next() has more, if nothing is told before. nullopt: never.
  std::optional<Time> due() const { return due_; }
  void answered(const std::string& name, const SliceAnswer& answer, Time now);
  // The server can be asked again: what failed because it could not is due.
  void server_back();

  // What the API server has dropped of what was written since this was asked last: false is a feature that is
  // off.
  DraFeatures take_dropped() { return std::exchange(dropped_, {}); }

  struct PoolState {
    std::size_t devices = 0;
    std::size_t slices = 0;
    std::int64_t generation = 0;  // of what is wanted; 0: what is shown has not been looked at
    bool published = false;       // it is shown as it is wanted
    std::string trouble;          // empty: nothing failed
  };
  std::map<std::string, PoolState> pools() const;
  // Is there nothing of ours that is to go?
  bool clean() const;

 private:
  struct Wanted {
    Pool pool;
    std::optional<PoolLayout> layout;  // nullopt: what is shown has not been looked at
    std::map<std::string, Slice> slices;
    Time not_before{};
  };
  // Of one slice, by its name.
  struct Progress {
    bool under_way = false;
    SliceWrite write;                                     // that is, or was
    std::optional<std::string> gone;                      // since it began: the version; "": not known
    bool must_read = false;                               // what is known of it is not true any more
    bool of_another = false;                              // somebody else's slice has its name
    std::optional<std::pair<Slice, SliceOwner>> refused;  // for good
    // What was written and what the API server made of it, where that is something else.
    std::optional<std::pair<Slice, ShownSlice>> accepted;
    Backoff pauses{kFirstPause, kLongestPause};
    Time not_before{};
    unsigned failures = 0;  // in a row
    bool unanswered = false;
    unsigned repairs = 0;
    Time repaired{};
    std::string trouble;
  };

  bool is_ours(const ShownSlice& shown) const;
  void show(ShownSlice shown);
  void share(const Slice& wanted);
  const ShownSlice* shown_of(const std::string& name) const;
  bool is_right(const Slice& wanted) const;
  bool is_undecided(const ShownSlice& shown) const;
  bool is_wanted(const std::string& name) const;
  const Slice* wanted_of(const std::string& name) const;
  void lay_out(Wanted& wanted);
  std::vector<const Slice*> to_write(const Wanted& wanted, bool& staged) const;
  std::vector<const Slice*> without_moved(const Wanted& wanted, std::vector<const Slice*> wrong) const;
  void add_writes(Wanted& wanted, Time now, std::vector<SliceWrite>& writes);
  void add_deletions(Time now, std::vector<SliceWrite>& writes);
  bool may_write(const std::string& name, Time not_before, Time now);
  void begin(SliceWrite write, std::vector<SliceWrite>& writes);
  void note_repair(const std::string& name, Time now);
  void on_done(const std::string& name, const SliceAnswer& answer, Time now);
  void on_missing(const std::string& name);
  void take(const ShownSlice& answered);
  void on_failed(Progress& progress, const SliceAnswer& answer, Time now);
  void pause(Progress& progress, const SliceAnswer& answer, Time now);

  std::minstd_rand random_;
  SliceOwner owner_;
  std::set<std::string> former_drivers_;
  bool told_ = false;  // what is wanted
  bool listed_ = false;
  std::map<std::string, Wanted> wanted_;  // by the pool's name
  std::set<std::string> undecided_;
  std::map<std::string, ShownSlice> shown_;  // ours, by name
  std::map<std::string, Progress> progress_;
  DraFeatures dropped_;
  std::optional<Time> due_;
};

}  // namespace plughost
