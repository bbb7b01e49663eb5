#pragma once
// Tracks which devices an entry lists: present ones, vanished ones, flapping ones, and held ones. A value:
// the time is passed in. Not thread-safe.
//
// A scan reports what is present now; the kubelet needs a list that it can rely on. The kubelet reports a
// device that is no longer listed as Healthy in the status of the pod that holds it, so a vanished device
// stays listed as Unhealthy until no pod holds it. The kubelet would allocate a flapping device while the
// device is Healthy, so flapping devices are held back. Reasons that no scan finds (drained, held under
// another id) are overlays on the list: they take effect at once, even while a driver stalls. All reasons are
// combined here, because the results of two places could contradict each other. Memory grows by 5 % for 1,000
// devices that come and go for 10 s, 18,370 events (./dev bench).

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/system/rate.hpp"
#include "kubernetes/kubelet/pod_resources.hpp"
#include "model/device/history.hpp"
#include "model/device/inventory.hpp"

namespace plughost {

class DeviceTracker {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::time_point kNever = Clock::time_point::max();
  // The first interval of queries for holders of devices that are due to be forgotten; it doubles each time.
  static constexpr std::chrono::milliseconds kFirstPause{2000};
  static constexpr std::chrono::milliseconds kLongestPause{60'000};

  // The present devices of a resource, after their health checks.
  struct Seen {
    std::vector<Device> devices;
    Clock::time_point waits_until =
        kNever;  // when the wait for the devices' first checks ends; kNever: no wait
  };
  struct Terms {
    std::chrono::seconds forget_after{};
    // Returns true if a pod holds the device. See Damping, and Device::away. If not set, holders are unknown.
    std::function<bool(const std::string& resource, const std::string& id)> held = {};
    // If true, a resource of which no pod has ever held a device ends with its last device, because new names
    // may appear at any time.
    bool named_after_devices = false;
  };
  // The former and the new list of a resource.
  struct Listing {
    std::string resource;
    Inventory before;
    Inventory now;
  };

  // `overlays` must outlive the tracker.
  explicit DeviceTracker(Overlays overlays = {}) : overlays_(std::move(overlays)) {}

  // Returns the new lists of the resources that were seen or were listed before. A resource gets its first
  // list when all of its devices are known, because the kubelet would otherwise take devices from running
  // pods. A resource gets no list if there are already kMostResources, including remembered ones.
  std::vector<Listing> update(std::map<std::string, Seen> seen, Clock::time_point now, const Terms& terms);
  // Returns the lists that have changed because an overlay has changed. A device that returns to service gets
  // its own health back, and its return does not count as flapping.
  std::vector<Listing> reapply_overlays();
  // Records that a container has received a device of the resource.
  void record_held(const std::string& resource);
  // Forgets the resource.
  void drop(const std::string& resource);
  // Returns the last change of each flapping device, by resource and id.
  using Flapping = std::map<std::string, std::map<std::string, Clock::time_point>>;
  Flapping flapping() const;
  // Sets which devices flapped in a predecessor, for the resources that have no list yet.
  void inherit(Flapping flapping) { inherited_ = std::move(flapping); }

  // Returns the resource's list, which is empty if the resource is not listed.
  const Inventory& listed(const std::string& resource) const;
  std::map<std::string, Inventory> lists() const;
  // Returns true if every resource of the last update has its list.
  bool complete() const { return complete_; }
  // Returns true if there were too many resources.
  bool crowded() const { return crowded_; }
  // Returns the time at which the lists may change without a further event.
  Clock::time_point next_change() const { return next_change_; }

  // Returns the earliest time at which a query for holders is useful; nullopt if no query is needed, or if a
  // query is running. No device is forgotten before the query is answered.
  std::optional<Clock::time_point> question() const { return asking_ ? std::nullopt : question_; }
  void begin_query() { asking_ = true; }
  // Records the answer for the next update(). Without holdings, held devices stay held. After an incomplete
  // answer, every device is kept until the next answer.
  void record_holders(const PodResources::Answer& answer, Clock::time_point now);

 private:
  struct Row {
    Inventory bare;    // without overlays
    Inventory listed;  // with overlays
    Remembered remembered;
    Damping damping;
    std::set<std::string> held;  // Unhealthy devices that pods held at the kubelet's last answer
    bool ever_held = false;      // a pod has held one of its devices
  };

  Listing list(const std::string& resource, Row& row) const;
  std::vector<Device> settle(const std::string& resource, Row& row, std::vector<Device> devices,
                             Clock::time_point now, const Terms& terms);
  // The decision about a device that is due to be forgotten.
  struct Verdict {
    bool stays = true;
    Clock::time_point recheck_at = kNever;       // when the decision may change
    std::optional<Clock::time_point> ask_since;  // holders must be queried at this time or later
  };
  // `due` is the time to forget the device; `later` is added to it if the kubelet has not answered.
  Verdict verdict_on(const Row& row, const Device& device, Clock::time_point due, std::chrono::seconds later,
                     Clock::time_point now) const;

  const Overlays overlays_;
  std::map<std::string, Row> rows_;
  Flapping inherited_;
  bool complete_ = false;
  bool crowded_ = false;
  Clock::time_point next_change_ = kNever;
  bool asking_ = false;
  std::optional<Clock::time_point> question_;
  Clock::time_point asked_ = Clock::time_point::min();  // the time of the answered query
  bool told_ = false;                                   // the kubelet has answered
  Clock::time_point ask_again_ = kNever;
  Backoff pause_{kFirstPause, kLongestPause};
};

}  // namespace plughost
