#pragma once
// Which devices an entry lists: what is there, what was, what flaps, and who holds what. A value, which is
// told the time; not thread-safe.
//
// A scan says what is there now; the kubelet needs what it can rely on. It shows a device that is not listed
// any more as Healthy in the status of the pod that has it: so one that vanishes stays, Unhealthy, until
// nobody holds it. It gives a flapping device to the next pod in the moment when it is well: so that one is
// held. And the reasons that are nobody's finding (drained, held under another name) are laid over the list,
// not into the scan: they hold at once, also while a driver hangs. Every reason is decided here, in one
// place, because two places would each be right and the list wrong. It costs little: of 1,000 devices that
// come and go for 10 s, 18,370 events, memory grows by 5 % (./dev bench).

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
  // Who holds devices that are to be forgotten is asked again after the first of these, and after twice as
  // long each time.
  static constexpr std::chrono::milliseconds kFirstPause{2000};
  static constexpr std::chrono::milliseconds kLongestPause{60'000};

  // A resource's devices that are there, as their health checks left them.
  struct Seen {
    std::vector<Device> devices;
    Clock::time_point waits_until =
        kNever;  // for a first verdict on some that are not among them; kNever: none
  };
  struct Terms {
    std::chrono::seconds forget_after{};
    // Does a pod hold the device? See Damping, and Device::away. Not set: nobody knows.
    std::function<bool(const std::string& resource, const std::string& id)> held = {};
    // A resource that nobody has ever held goes with the last of its devices: there may be others any moment.
    bool named_after_devices = false;
  };
  // A resource's list: the former one, and the one from now on.
  struct Listing {
    std::string resource;
    Inventory before;
    Inventory now;
  };

  // They outlive it.
  explicit DeviceTracker(Overlays overlays = {}) : overlays_(std::move(overlays)) {}

  // The lists from now on: of the resources that are seen, and of those that were listed before. A resource
  // begins with all of its devices, or the kubelet would take those of running pods away: until none is
  // waited for, a new one has no list. Nor has one that would be more than kMostResources with those that are
  // remembered.
  std::vector<Listing> update(std::map<std::string, Seen> seen, Clock::time_point now, const Terms& terms);
  // Those that are others because an overlay is. A device that comes back into service is as well as it is,
  // and has not flapped.
  std::vector<Listing> reapply_overlays();
  // A container has got one of its devices.
  void record_held(const std::string& resource);
  // It ends, and what it has listed is forgotten.
  void drop(const std::string& resource);

  // Empty for a resource that has no list.
  const Inventory& listed(const std::string& resource) const;
  std::map<std::string, Inventory> lists() const;
  // Has every resource that was seen last its list?
  bool complete() const { return complete_; }
  // Were there too many?
  bool crowded() const { return crowded_; }
  // When the lists may be others, if nothing else happens.
  Clock::time_point next_change() const { return next_change_; }

  // Who holds what is to be asked: a question that is put at that time or later tells. nullopt: it is not, or
  // it is being asked. Until there is an answer, nothing is forgotten.
  std::optional<Clock::time_point> question() const { return asking_ ? std::nullopt : question_; }
  void begin_query() { asking_ = true; }
  // Records the answer for the next update(). Without holdings, devices that were held are held. An answer
  // that is not complete keeps every device until a later one.
  void record_holders(const PodResources::Answer& answer, Clock::time_point now);

 private:
  struct Row {
    Inventory bare;    // without overlays
    Inventory listed;  // with them
    Remembered remembered;
    Damping damping;
    std::set<std::string> held;  // of its Unhealthy devices: pods held them when the kubelet last told
    bool ever_held = false;      // any of its devices
  };

  Listing list(const std::string& resource, Row& row) const;
  std::vector<Device> settle(const std::string& resource, Row& row, std::vector<Device> devices,
                             Clock::time_point now, const Terms& terms);
  // What becomes of a device that is due to be forgotten.
  struct Verdict {
    bool stays = true;
    Clock::time_point recheck_at = kNever;       // the verdict may be another then
    std::optional<Clock::time_point> ask_since;  // who holds it is to be asked then or later
  };
  // due: since when. later: without the kubelet's word it is due so much later.
  Verdict verdict_on(const Row& row, const Device& device, Clock::time_point due, std::chrono::seconds later,
                     Clock::time_point now) const;

  const Overlays overlays_;
  std::map<std::string, Row> rows_;
  bool complete_ = false;
  bool crowded_ = false;
  Clock::time_point next_change_ = kNever;
  bool asking_ = false;
  std::optional<Clock::time_point> question_;
  Clock::time_point asked_ = Clock::time_point::min();  // the question that was answered
  bool told_ = false;                                   // by the kubelet, in its answer
  Clock::time_point ask_again_ = kNever;
  Backoff pause_{kFirstPause, kLongestPause};
};

}  // namespace plughost
