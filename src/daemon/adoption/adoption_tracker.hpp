#pragma once
// Finds, tracks and reports devices that pods hold by ids of another plugin, or by ids from before a reload.

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/system/event_loop.hpp"
#include "daemon/adoption/adoption.hpp"
#include "daemon/platform/kubelet_link.hpp"
#include "kubernetes/kubelet/checkpoint.hpp"
#include "kubernetes/kubelet/pod_resources.hpp"
#include "model/device/inventory.hpp"

namespace plughost {

// Tracks the devices of an entry that containers hold by unlisted ids, or whose given nodes now lead
// elsewhere, until these containers have ended. A value; not thread-safe.
class AdoptedDevices final : public Overlay {
 public:
  struct Name {
    std::string resource;
    std::string id;

    auto operator<=>(const Name&) const = default;
  };
  // Events for the log.
  struct News {
    struct Device {
      Name device;
      FormerId holder;
    };
    std::vector<Device> adopted;                // newly adopted
    std::vector<std::pair<Name, Stale>> moved;  // newly moved
    std::vector<Name> over;                     // former ids that are no longer held
    // Holders whose device was not recognised. Reported once, when the kubelet names the holder.
    std::vector<std::pair<Name, Holder>> strangers;
  };

  // Replaces the result of the previous scan. `found` has all resources of the scan.
  News merge(std::map<std::string, Adoption> found);
  // Updates the holders. If `final` is set, the kubelet's answer is complete, and an id without a holder is
  // no longer adopted. Otherwise, a missing holder has no meaning.
  News update(const Holdings& holdings, bool final);
  // Call it when the checkpoint has changed: released ids may be held again.
  void read_again() { over_.clear(); }

  bool touches(const std::string& resource) const override;
  // Adds the holders as reasons to the devices that are held this way.
  void apply(const std::string& resource, std::vector<Device>& devices) const override;
  // Returns the other devices' hardware to which the given nodes lead, by the device's id.
  std::map<std::string, std::vector<std::string>> units_elsewhere(const std::string& resource) const;
  // Returns the adopted ids, by resource.
  const std::map<std::string, std::set<std::string>>& ids() const { return ids_; }
  // Returns the ids of a checkpoint that the resources list, or have listed.
  const std::map<std::string, IdsPointer>& own() const { return own_; }
  // Returns true if the kubelet must be queried.
  bool open() const { return !ids_.empty() || !strangers_.empty() || !stale_.empty(); }

 private:
  std::string pod_of(const std::string& resource, const FormerId& held) const;
  std::string holder_text(const std::string& resource, const std::vector<FormerId>& holders) const;
  void forget_over();

  std::map<std::string, Adoption> found_;
  std::map<std::string, std::set<std::string>> ids_;  // adopted and not released; no set is empty
  std::map<std::string, IdsPointer> own_;
  // Held ids with stale nodes; true if the device's present node has been reported.
  std::map<Name, bool> stale_;
  std::map<Name, Holder> holders_;  // of ids_ and stale_, as far as the kubelet has reported
  std::set<Name> strangers_;        // unrecognised ids, which may be released already
  std::set<Name> told_;             // reported strangers
  std::set<Name> over_;
};

// Tracks which devices of an entry pods hold by ids of another plugin, or from before a reload: reads the
// kubelet's checkpoint, queries the kubelet until these pods have ended, and logs changes. Loop thread only.
class AdoptionTracker {
 public:
  using Clock = EventLoop::Clock;
  // An unreadable checkpoint is read again after this time.
  static constexpr std::chrono::seconds kReadAgain{30};

  // Calls `changed`, from the loop and never from within a call, when devices() may have changed or there may
  // be news to log. `platform` and `link` must outlive this object.
  AdoptionTracker(Platform& platform, KubeletLink& link, std::function<void()> changed);
  AdoptionTracker& operator=(AdoptionTracker&&) = delete;

  // Obtains the held ids for a scan. `done` runs in the loop, possibly at once. `may_be_new` means that
  // resources may appear whose devices pods have received since the checkpoint was last read.
  void prepare(bool may_be_new, const std::function<void(HeldIds held)>& done);
  void merge(std::map<std::string, Adoption> found);
  // Makes the next scan read the checkpoint again, because a device has different nodes under its id.
  void read_anew() { since_ = Clock::now(); }
  // Logs the news. Call it when the lists have been published.
  void notify();
  const AdoptedDevices& devices() const { return devices_; }

  // Call it when the entry has changed. `listed` has the entry's former lists.
  void on_reload(std::map<std::string, Inventory> listed);

 private:
  // The number of former lists that are kept.
  static constexpr std::size_t kMostLists = 8;

  bool on_answer(const PodResources::Answer& answer);
  void log_news(const AdoptedDevices::News& news) const;

  Platform& platform_;
  KubeletLink& link_;
  std::function<void()> changed_;
  AdoptedDevices devices_;
  std::vector<AdoptedDevices::News> untold_;
  CheckpointReader::Reading reading_;
  std::shared_ptr<const Checkpoint> checkpoint_;  // the last readable checkpoint
  std::vector<std::map<std::string, Inventory>> before_reload_;
  bool reloaded_ = false;                   // no scan has ended since the reload
  Clock::time_point since_ = Clock::now();  // the checkpoint must be at least this new
  HoldingsPoll poll_;
  Lifetime lifetime_;
};

}  // namespace plughost
