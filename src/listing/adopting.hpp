#pragma once
// What pods hold by ids of another plugin, or of before a reload: found out, and told.

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/event_loop.hpp"
#include "base/rate.hpp"
#include "kubelet/checkpoint.hpp"
#include "kubelet/pod_resources.hpp"
#include "listing/adopted_devices.hpp"
#include "node/kubelet_link.hpp"

namespace plughost {

// Which devices of an entry pods hold by ids of another plugin, or of before a reload: read in the kubelet's
// checkpoint, asked of the kubelet until these pods have gone, and told in the log. Loop thread only.
class Adopting {
 public:
  using Clock = EventLoop::Clock;
  // Between two questions who holds what, at first and at most.
  static constexpr std::chrono::milliseconds kFirstPause{1000};
  static constexpr std::chrono::milliseconds kLongestPause{10'000};
  // A checkpoint that could not be read is tried again after this.
  static constexpr std::chrono::seconds kReadAgain{30};

  // changed: devices() may give something else, and there may be something to tell; called from
  // the loop, not from within. platform and link outlive it.
  Adopting(Platform& platform, KubeletLink& link, std::function<void()> changed);
  Adopting& operator=(Adopting&&) = delete;

  // What the next look has to know. done runs in the loop, maybe at once. may_be_new: resources may appear of
  // which pods have got something since the checkpoint was read last.
  void prepare(bool may_be_new, const std::function<void(HeldIds held)>& done);
  // What a look has found.
  void take(std::map<std::string, Adoption> found);
  // A device has other nodes under its id: what is known of answers has to be as new as this.
  void read_anew() { since_ = Clock::now(); }
  // The lists with that are out: the log may be told.
  void tell();
  const AdoptedDevices& devices() const { return devices_; }

  // The entry says something else from now on; these were its lists.
  void on_reload(std::map<std::string, Inventory> listed);

 private:
  // Of before reloads.
  static constexpr std::size_t kMostLists = 8;

  void ask();
  void on_answer(const PodResources::Answer& answer);
  void tell(const AdoptedDevices::News& news) const;

  Platform& platform_;
  KubeletLink& link_;
  std::function<void()> changed_;
  AdoptedDevices devices_;
  std::vector<AdoptedDevices::News> untold_;
  CheckpointReader::Reading reading_;
  std::shared_ptr<const Checkpoint> checkpoint_;  // the last one that could be read
  std::vector<std::map<std::string, Inventory>> before_reload_;
  bool reloaded_ = false;                   // and no look has ended since
  Clock::time_point since_ = Clock::now();  // what is read has to be as new as this
  bool asking_ = false;
  Backoff pause_{kFirstPause, kLongestPause};
  Timer again_;
  Lifetime lifetime_;
};

}  // namespace plughost
