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

#include "base/system/event_loop.hpp"
#include "daemon/adoption/adoption.hpp"
#include "daemon/platform/kubelet_link.hpp"
#include "kubernetes/kubelet/checkpoint.hpp"
#include "kubernetes/kubelet/pod_resources.hpp"
#include "model/device/inventory.hpp"

namespace plughost {

// The devices of an entry that containers hold by ids with which they are not listed, or for which they were
// given nodes that lead elsewhere by now, until these have gone.
// A value; not thread-safe.
class AdoptedDevices final : public Overlay {
 public:
  struct Name {
    std::string resource;
    std::string id;

    auto operator<=>(const Name&) const = default;
  };
  // What a log should say.
  struct News {
    struct Device {
      Name device;
      FormerId holder;
    };
    std::vector<Device> adopted;                // from now on
    std::vector<std::pair<Name, Stale>> moved;  // so
    std::vector<Name> over;                     // ids of former days that nobody holds any more
    // No device of theirs is recognised; told of once, when the kubelet says who holds it.
    std::vector<std::pair<Name, Holder>> strangers;
  };

  // Adds the result of a scan, of all the resources that it has seen.
  News merge(std::map<std::string, Adoption> found);
  // Who holds what now: an id that nobody holds is adopted no longer. final: the answer may be taken at its
  // word; otherwise it only names those who hold.
  News update(const Holdings& holdings, bool final);
  // The checkpoint has been read anew: what is over may have begun again.
  void read_again() { over_.clear(); }

  bool touches(const std::string& resource) const override;
  // Takes the shares that are held so.
  void apply(const std::string& resource, std::vector<Device>& devices) const override;
  // Hardware of others to which leads what was given for the resource's devices, by the device's id.
  std::map<std::string, std::vector<std::string>> units_elsewhere(const std::string& resource) const;
  // Of all resources.
  const std::map<std::string, std::set<std::string>>& ids() const { return ids_; }
  // Ids that a checkpoint has, and the resources list or have listed.
  const std::map<std::string, IdsPointer>& own() const { return own_; }
  // Is there anything that the kubelet should be asked?
  bool open() const { return !ids_.empty() || !strangers_.empty() || !stale_.empty(); }

 private:
  std::string pod_of(const std::string& resource, const FormerId& held) const;
  std::string holder_text(const std::string& resource, const std::vector<FormerId>& holders) const;
  void forget_over();

  std::map<std::string, Adoption> found_;
  std::map<std::string, std::set<std::string>> ids_;  // adopted, and not over; none of the sets is empty
  std::map<std::string, IdsPointer> own_;
  // Ids for which containers that hold them have stale nodes. true: with none of the device's, which was
  // told.
  std::map<Name, bool> stale_;
  std::map<Name, Holder> holders_;  // of ids_ and stale_, as far as the kubelet has told
  std::set<Name> strangers_;        // nobody has told yet whether they hold on
  std::set<Name> told_;             // of strangers
  std::set<Name> over_;
};

// Which devices of an entry pods hold by ids of another plugin, or of before a reload: read in the kubelet's
// checkpoint, asked of the kubelet until these pods have gone, and told in the log. Loop thread only.
class AdoptionTracker {
 public:
  using Clock = EventLoop::Clock;
  // A checkpoint that could not be read is tried again after this.
  static constexpr std::chrono::seconds kReadAgain{30};

  // changed: devices() may give something else, and there may be something to tell; called from
  // the loop, not from within. platform and link outlive it.
  AdoptionTracker(Platform& platform, KubeletLink& link, std::function<void()> changed);
  AdoptionTracker& operator=(AdoptionTracker&&) = delete;

  // Gets what a scan has to know. done runs in the loop, maybe at once. may_be_new: resources may appear of
  // which pods have got something since the checkpoint was read last.
  void prepare(bool may_be_new, const std::function<void(HeldIds held)>& done);
  // Adds the result of a scan.
  void merge(std::map<std::string, Adoption> found);
  // A device has other nodes under its id: what is known of answers has to be as new as this.
  void read_anew() { since_ = Clock::now(); }
  // The lists with that are out: the log may be told.
  void notify();
  const AdoptedDevices& devices() const { return devices_; }

  // The entry says something else from now on; these were its lists.
  void on_reload(std::map<std::string, Inventory> listed);

 private:
  // Of before reloads.
  static constexpr std::size_t kMostLists = 8;

  bool on_answer(const PodResources::Answer& answer);
  void log_news(const AdoptedDevices::News& news) const;

  Platform& platform_;
  KubeletLink& link_;
  std::function<void()> changed_;
  AdoptedDevices devices_;
  std::vector<AdoptedDevices::News> untold_;
  CheckpointReader::Reading reading_;
  std::shared_ptr<const Checkpoint> checkpoint_;  // the last one that could be read
  std::vector<std::map<std::string, Inventory>> before_reload_;
  bool reloaded_ = false;                   // and no scan has ended since
  Clock::time_point since_ = Clock::now();  // what is read has to be as new as this
  HoldingsPoll poll_;
  Lifetime lifetime_;
};

}  // namespace plughost
