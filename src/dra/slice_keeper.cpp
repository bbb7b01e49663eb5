#include "dra/slice_keeper.hpp"

#include <algorithm>

#include "base/number.hpp"
#include "dra/names.hpp"

namespace plughost {
namespace {

constexpr int kBadRequest = 400;
constexpr int kForbidden = 403;
constexpr int kNotFound = 404;
constexpr int kConflict = 409;
constexpr int kTooLarge = 413;
constexpr int kUnprocessable = 422;
constexpr int kUnavailable = 503;

bool is_final(int code) {
  return code == kBadRequest || code == kTooLarge || code == kUnprocessable;
}

// Versions count upwards; one that is no number is as new as any.
bool is_older(const std::string& one, const std::string& other) {
  const auto a = number_in<std::uint64_t>(one);
  const auto b = number_in<std::uint64_t>(other);
  return a && b && *a < *b;
}

bool is_older(const ShownSlice& one, const ShownSlice& other) {
  return is_older(one.resource_version, other.resource_version);
}

const CounterSet* set_of(const std::vector<CounterSet>& sets, const std::string& name) {
  const auto found = std::ranges::find(sets, name, &CounterSet::name);
  return found == sets.end() ? nullptr : &*found;
}

// Has it counters that are not shown so yet?
bool adds_counters(const Slice& wanted, const Slice& shown) {
  return std::ranges::any_of(wanted.counters, [&](const CounterSet& set) {
    const CounterSet* const there = set_of(shown.counters, set.name);
    return !there || *there != set;
  });
}

}  // namespace

void SliceKeeper::own(SliceOwner owner) {
  if (owner == owner_) return;
  const bool other = owner.driver != owner_.driver || owner.node != owner_.node;
  if (owner.driver != owner_.driver && !owner_.driver.empty()) former_drivers_.insert(owner_.driver);
  former_drivers_.erase(owner.driver);
  owner_ = std::move(owner);
  if (!other) return;
  listed_ = false;
  shown_.clear();
  for (auto& [name, wanted] : wanted_) {
    wanted.layout.reset();
    wanted.slices.clear();
  }
}

void SliceKeeper::want(std::vector<Pool> pools, std::set<std::string> undecided) {
  told_ = true;
  undecided_ = std::move(undecided);
  std::map<std::string, Wanted> before = std::exchange(wanted_, {});
  for (Pool& pool : pools) {
    const std::string name = pool.name;
    Wanted& wanted = wanted_[name];
    if (const auto found = before.find(name); found != before.end()) wanted = std::move(found->second);
    if (wanted.layout && wanted.pool == pool) continue;
    wanted.pool = std::move(pool);
    if (wanted.layout) lay_out(wanted);
  }
}

void SliceKeeper::listed(std::vector<ShownSlice> shown) {
  listed_ = true;
  const std::map<std::string, ShownSlice> before = std::exchange(shown_, {});
  for (ShownSlice& each : shown) {
    if (!is_ours(each)) continue;
    const auto known = before.find(each.slice.name);
    const std::string name = each.slice.name;
    if (known != before.end() && is_older(each, known->second))
      shown_[name] = known->second;
    else
      show(std::move(each));
  }
  for (auto& [name, progress] : progress_)
    if (!shown_.contains(name)) progress.gone = "";
  server_back();
}

void SliceKeeper::changed(ShownSlice shown, Time now) {
  const std::string name = shown.slice.name;
  const ShownSlice* const known = shown_of(name);
  if (!is_ours(shown) || (known && is_older(shown, *known))) return;
  const Slice* const wanted = wanted_of(name);
  const bool was_right = wanted && is_right(*wanted);
  show(std::move(shown));
  if (was_right && !is_right(*wanted)) note_repair(name, now);
}

void SliceKeeper::gone(const ShownSlice& shown, Time now) {
  const std::string name = shown.slice.name;
  if (const auto found = progress_.find(name); found != progress_.end()) {
    if (found->second.of_another) found->second.not_before = {};
    found->second.gone = shown.resource_version;
  }
  const ShownSlice* const known = shown_of(name);
  if (!known || is_older(shown, *known)) return;
  const Slice* const wanted = wanted_of(name);
  const bool was_right = wanted && is_right(*wanted);
  shown_.erase(name);
  if (was_right) note_repair(name, now);
}

std::vector<SliceWrite> SliceKeeper::next(Time now) {
  due_.reset();
  std::vector<SliceWrite> writes;
  if (!told_ || !listed_) return writes;
  for (auto& [name, wanted] : wanted_) {
    if (!wanted.layout && !owner_.driver.empty() && !owner_.node.empty()) lay_out(wanted);
    if (wanted.layout && !owner_.node_uid.empty()) add_writes(wanted, now, writes);
  }
  add_deletions(now, writes);
  return writes;
}

void SliceKeeper::answered(const std::string& name, const SliceAnswer& answer, Time now) {
  Progress& progress = progress_[name];
  progress.under_way = false;
  if (answer.code >= 200 && answer.code < 300) {
    if (progress.write.what != SliceWrite::What::kRead) {
      progress.failures = 0;
      progress.pauses.reset();
      progress.trouble.clear();
    }
    on_done(name, answer, now);
    server_back();
  } else if (answer.code == kNotFound && progress.write.what != SliceWrite::What::kCreate) {
    on_missing(name);
  } else {
    on_failed(progress, answer, now);
  }
  progress.write = {};
  // Nobody will ask for it again.
  if (!is_wanted(name) && !shown_.contains(name)) progress_.erase(name);
}

void SliceKeeper::server_back() {
  for (auto& [name, progress] : progress_)
    if (std::exchange(progress.unanswered, false)) progress.not_before = {};
}

std::map<std::string, SliceKeeper::PoolState> SliceKeeper::pools() const {
  std::map<std::string, PoolState> states;
  for (const auto& [name, wanted] : wanted_) {
    PoolState& state = states[name];
    state.devices = wanted.pool.devices.size();
    state.slices = wanted.slices.size();
    if (wanted.layout) state.generation = wanted.layout->generation;
    state.published = listed_ && wanted.layout;
    for (const auto& [of_slice, slice] : wanted.slices) {
      if (is_right(slice)) continue;
      state.published = false;
      const auto progress = progress_.find(of_slice);
      if (state.trouble.empty() && progress != progress_.end()) state.trouble = progress->second.trouble;
    }
  }
  return states;
}

bool SliceKeeper::clean() const {
  return listed_ && std::ranges::all_of(shown_, [&](const auto& each) {
           return is_wanted(each.first) || is_undecided(each.second);
         });
}

bool SliceKeeper::is_ours(const ShownSlice& shown) const {
  if (shown.slice.name.empty() || shown.owner.node != owner_.node) return false;
  return shown.owner.driver == owner_.driver || former_drivers_.contains(shown.owner.driver);
}

void SliceKeeper::show(ShownSlice shown) {
  const std::string name = shown.slice.name;
  shown_[name] = std::move(shown);
  if (const Slice* const wanted = wanted_of(name)) share(*wanted);
}

// What is shown as it is wanted has the same attributes in memory.
void SliceKeeper::share(const Slice& wanted) {
  const auto shown = shown_.find(wanted.name);
  if (shown != shown_.end() && shown->second.slice == wanted) shown->second.slice = wanted;
}

const ShownSlice* SliceKeeper::shown_of(const std::string& name) const {
  const auto found = shown_.find(name);
  return found == shown_.end() ? nullptr : &found->second;
}

bool SliceKeeper::is_right(const Slice& wanted) const {
  const ShownSlice* const shown = shown_of(wanted.name);
  if (!shown || shown->owner != owner_) return false;
  if (shown->slice == wanted && shown->exact) return true;
  // What was dropped, or added, by the API server itself is not written again and again.
  const auto progress = progress_.find(wanted.name);
  if (progress == progress_.end() || !progress->second.accepted) return false;
  const auto& [sent, made_of_it] = *progress->second.accepted;
  return sent == wanted && made_of_it.slice == shown->slice && made_of_it.exact == shown->exact;
}

const Slice* SliceKeeper::wanted_of(const std::string& name) const {
  for (const auto& [pool, wanted] : wanted_) {
    const auto found = wanted.slices.find(name);
    if (found != wanted.slices.end()) return &found->second;
  }
  return nullptr;
}

bool SliceKeeper::is_undecided(const ShownSlice& shown) const {
  return shown.owner.driver == owner_.driver && undecided_.contains(shown.slice.pool);
}

bool SliceKeeper::is_wanted(const std::string& name) const {
  return wanted_of(name) != nullptr;
}

void SliceKeeper::lay_out(Wanted& wanted) {
  if (!wanted.layout) {
    std::vector<Slice> there;
    for (const auto& [name, shown] : shown_) {
      const auto index = slice_index(name);
      if (index && shown.owner.driver == owner_.driver && shown.slice.pool == wanted.pool.name &&
          name == slice_name(*index, owner_.driver, owner_.node, wanted.pool.name))
        there.push_back(shown.slice);
    }
    wanted.layout = layout_shown(there);
  }
  wanted.layout = laid_out(wanted.pool, std::move(*wanted.layout));
  wanted.slices.clear();
  for (Slice& slice : slices_of(wanted.pool, *wanted.layout, owner_.driver, owner_.node)) {
    std::string name = slice.name;
    share(wanted.slices.emplace(std::move(name), std::move(slice)).first->second);
  }
}

// staged: these are to be made with generation 0.
std::vector<const Slice*> SliceKeeper::to_write(const Wanted& wanted, bool& staged) const {
  std::vector<const Slice*> wrong;
  std::vector<const Slice*> missing;
  bool other_generation = false;
  bool former_in_force = false;
  for (const auto& [name, slice] : wanted.slices) {
    const ShownSlice* const shown = shown_of(name);
    const std::int64_t generation = shown ? shown->slice.generation : 0;
    if (generation != slice.generation) other_generation = true;
    if (generation > 0 && generation < slice.generation) former_in_force = true;
    if (!is_right(slice)) wrong.push_back(&slice);
    if (!shown) missing.push_back(&slice);
  }
  staged = former_in_force && !missing.empty();
  if (staged) return missing;
  if (other_generation) return wrong;
  wrong = without_moved(wanted, std::move(wrong));
  std::vector<const Slice*> adding;
  std::vector<const Slice*> other;
  for (const Slice* const slice : wrong) {
    const Slice& shown = shown_of(slice->name)->slice;
    if (adds_counters(*slice, shown))
      adding.push_back(slice);
    else if (shown.counters.empty())
      other.push_back(slice);
  }
  if (!adding.empty()) return adding;
  return other.empty() ? wrong : other;
}

// Without those that have a device which another slice still shows: that one goes first.
std::vector<const Slice*> SliceKeeper::without_moved(const Wanted& wanted,
                                                     std::vector<const Slice*> wrong) const {
  if (wrong.size() < 2) return wrong;
  std::map<std::string_view, std::string_view> places;  // the slice that shows a device
  for (const auto& [name, slice] : wanted.slices) {
    if (const ShownSlice* const shown = shown_of(name))
      for (const PoolDevice& device : shown->slice.devices) places.emplace(device.name, name);
  }
  std::vector<const Slice*> ready;
  for (const Slice* const slice : wrong) {
    const bool moves = std::ranges::any_of(slice->devices, [&](const PoolDevice& device) {
      const auto place = places.find(device.name);
      return place != places.end() && place->second != slice->name;
    });
    if (!moves) ready.push_back(slice);
  }
  return ready.empty() ? wrong : ready;
}

void SliceKeeper::add_writes(Wanted& wanted, Time now, std::vector<SliceWrite>& writes) {
  bool staged = false;
  unsigned written = 0;
  for (const Slice* const slice : to_write(wanted, staged)) {
    Progress& progress = progress_[slice->name];
    if (progress.refused && *progress.refused == std::pair(*slice, owner_)) continue;
    // A reading changes nothing, and what is made of generation 0 counts for nobody.
    const bool paced = !progress.must_read && !staged;
    if (!may_write(slice->name, paced ? wanted.not_before : Time{}, now)) continue;
    progress.refused.reset();
    const ShownSlice* const shown = shown_of(slice->name);
    SliceWrite write{.what = SliceWrite::What::kCreate, .name = slice->name, .slice = *slice};
    if (progress.must_read) {
      write.what = SliceWrite::What::kRead;
    } else if (shown && shown->slice.pool != slice->pool) {
      write.what = SliceWrite::What::kDelete;  // a pool's name cannot be changed
    } else if (shown) {
      write.what = SliceWrite::What::kUpdate;
      write.resource_version = shown->resource_version;
    } else if (staged) {
      write.slice.generation = 0;
    }
    if (shown) write.uid = shown->uid;
    if (paced) ++written;
    begin(std::move(write), writes);
  }
  if (written > 0)
    wanted.not_before = now + std::min<std::chrono::milliseconds>(kBetween * written, kLongestBetween);
}

void SliceKeeper::add_deletions(Time now, std::vector<SliceWrite>& writes) {
  for (const auto& [name, shown] : shown_) {
    if (is_wanted(name) || is_undecided(shown)) continue;
    const auto pool = wanted_.find(shown.slice.pool);
    if (pool != wanted_.end() && shown.owner.driver == owner_.driver) {
      const bool right =
          pool->second.layout &&
          std::ranges::all_of(pool->second.slices, [&](const auto& each) { return is_right(each.second); });
      if (!right) continue;  // it may be part of what is in force
    }
    if (!may_write(name, Time{}, now)) continue;
    const bool must_read = progress_[name].must_read;
    begin({.what = must_read ? SliceWrite::What::kRead : SliceWrite::What::kDelete,
           .name = name,
           .uid = shown.uid},
          writes);
  }
}

bool SliceKeeper::may_write(const std::string& name, Time not_before, Time now) {
  const Progress& progress = progress_[name];
  if (progress.under_way) return false;
  const Time time = std::max(not_before, progress.not_before);
  if (now < time && (!due_ || time < *due_)) due_ = time;
  return now >= time;
}

void SliceKeeper::begin(SliceWrite write, std::vector<SliceWrite>& writes) {
  Progress& progress = progress_[write.name];
  progress.under_way = true;
  progress.gone.reset();
  progress.write = write;
  writes.push_back(std::move(write));
}

void SliceKeeper::note_repair(const std::string& name, Time now) {
  Progress& progress = progress_[name];
  if (now - progress.repaired > kLeftAlone) progress.repairs = 0;
  progress.repaired = now;
  if (++progress.repairs <= kAtOnce) return;
  constexpr unsigned kMostDoublings = 6;
  const auto wait = kFirstPause / 2 * (1 << std::min(progress.repairs - kAtOnce - 1, kMostDoublings));
  progress.not_before =
      std::max(progress.not_before, now + std::min<std::chrono::milliseconds>(wait, kLongestPause));
}

void SliceKeeper::on_done(const std::string& name, const SliceAnswer& answer, Time now) {
  Progress& progress = progress_[name];
  using What = SliceWrite::What;
  if (progress.write.what == What::kDelete) return on_missing(name);
  progress.must_read = false;
  const bool is_slice = answer.shown && answer.shown->slice.name == name;
  if (progress.write.what == What::kRead) {
    progress.of_another = is_slice && !is_ours(*answer.shown);
    if (progress.of_another) {
      progress.trouble = "the ResourceSlice " + name + " is there already, of the driver " +
                         answer.shown->owner.driver + " on the node " + answer.shown->owner.node +
                         ": delete it, and ours is made";
      progress.not_before = now + kLongestPause;
    } else if (is_slice) {
      take(*answer.shown);
    }
    return;
  }
  ShownSlice shown{.slice = progress.write.slice, .owner = owner_, .exact = true};
  if (is_slice) shown = *answer.shown;
  const DraFeatures kept = features_kept(progress.write.slice, shown.slice);
  dropped_.taints = dropped_.taints && kept.taints;
  dropped_.sharing = dropped_.sharing && kept.sharing;
  dropped_.partitions = dropped_.partitions && kept.partitions;
  progress.accepted.reset();
  if (shown.slice != progress.write.slice || !shown.exact)
    progress.accepted = std::pair(progress.write.slice, shown);
  take(shown);
}

// What has its name since the request was begun is another one.
void SliceKeeper::on_missing(const std::string& name) {
  Progress& progress = progress_[name];
  progress.must_read = false;
  const ShownSlice* const known = shown_of(name);
  if (known && known->uid == progress.write.uid) shown_.erase(name);
}

// The watch may have told already what came after the answer. Who is in doubt takes it for gone: a slice that
// is there is found when it is made again, but one that is not there would never be missed.
void SliceKeeper::take(const ShownSlice& answered) {
  const std::string& name = answered.slice.name;
  const Progress& progress = progress_[name];
  if (progress.gone && !is_older(*progress.gone, answered.resource_version)) return;
  const ShownSlice* const known = shown_of(name);
  if (!known || !is_older(answered, *known)) show(answered);
}

void SliceKeeper::on_failed(Progress& progress, const SliceAnswer& answer, Time now) {
  ++progress.failures;
  progress.unanswered = answer.code == 0 || answer.code == kUnavailable;
  if (answer.code == kConflict) {
    progress.must_read = true;
    if (progress.failures <= kAtOnce) return;
  }
  // A node may not read a ResourceSlice that is gone, as it may not read another's: making it tells which it
  // is.
  if (answer.code == kForbidden && progress.write.what == SliceWrite::What::kRead) progress.must_read = false;
  const bool is_write =
      progress.write.what == SliceWrite::What::kCreate || progress.write.what == SliceWrite::What::kUpdate;
  if (is_final(answer.code) && is_write) {
    progress.refused = std::pair(progress.write.slice, owner_);
    progress.trouble = answer.trouble;
    return;
  }
  if (answer.code != kForbidden || progress.failures > kForbiddenMayPass) progress.trouble = answer.trouble;
  pause(progress, answer, now);
}

void SliceKeeper::pause(Progress& progress, const SliceAnswer& answer, Time now) {
  const auto longest = progress.pauses.next();
  std::uniform_int_distribution<std::int64_t> part(longest.count() / 2, longest.count());
  std::chrono::milliseconds wait(part(random_));
  if (answer.retry_after) wait = std::max<std::chrono::milliseconds>(wait, *answer.retry_after);
  progress.not_before = now + wait;
}

}  // namespace plughost
