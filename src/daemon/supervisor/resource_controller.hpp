#pragma once
// The entries of one name, running: what they find becomes the lists of a resource, or of several, and these
// are published. Loop thread only.

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/system/event_loop.hpp"
#include "config/config.hpp"
#include "daemon/adoption/adoption_tracker.hpp"
#include "daemon/devices/device_tracker.hpp"
#include "daemon/hooks/health_checks.hpp"
#include "daemon/publish/cdi_places.hpp"
#include "daemon/publish/resource_publisher.hpp"
#include "daemon/report/node_reporter.hpp"
#include "daemon/status/status.hpp"
#include "daemon/supervisor/entry_group.hpp"
#include "model/device/drain_set.hpp"

namespace plughost {

class ResourceController final : private PublisherOwner, private EntryScanOwner {
 public:
  using Clock = EventLoop::Clock;
  using Configs = EntryGroup::Configs;

  // Resources appear when each entry has been scanned once, or could not. What context and drains name
  // outlives it.
  ResourceController(const ResourcePublisher::Context& context, const DrainSet& drains, Configs configs);
  ~ResourceController() override;
  ResourceController& operator=(ResourceController&&) = delete;

  // See EntryGroup::whole().
  const ResourceConfig& config() const { return config_; }
  // Takes the new devices and terms without touching a stream; an entry that says the same as before goes on.
  // The options are the same (see PluginOptions).
  void update(Configs configs);
  // The same entries stand elsewhere in the file.
  void set_where(const Configs& configs);
  void on_kubelet();
  void on_sockets();
  // Scan: at once, or after a quiet moment.
  void request_scan() { group_.request_scan(); }
  // There is another directory of CDI specifications: those of what is listed are written there, and what a
  // scan finds to be written beside them.
  void specify_anew();
  // The error of the device, one of ours, is over: see Device::lasting.
  void forgive(const DrainSet::Name& name);
  // An overlay is another.
  void on_overlay();
  ResourcePublisher& publisher() { return publisher_; }
  const ResourcePublisher& publisher() const { return publisher_; }
  // True: all resources exist that the machine's devices make.
  bool settled() const { return tracker_.complete() && publisher_.idle(); }
  bool names_by_cdi() const { return group_.names_by_cdi(); }

  std::vector<EntryStatus> status() const { return group_.status(); }

 private:
  void on_incomplete() override { request_scan(); }
  void all_published() override { adoption_.notify(); }
  void dropped(const std::string& resource) override;
  void record_error(const std::string& error) override { group_.first().record_error(error); }

  std::map<std::string, Inventory> listed() const override { return tracker_.lists(); }
  Scanner::Siblings siblings_of(const EntryScan& entry) const override { return group_.siblings_of(entry); }
  void prepare(const std::function<void(HeldIds held)>& then) override;
  Clock::time_point accept(EntryScan& entry, Scanner::Found& found) override;
  void on_error() override;

  // The lists that the entry's scan changes. What keeps it from counting becomes a remark of the scan.
  std::vector<DeviceTracker::Listing> merge(EntryScan& entry, Scanner::Found& found);
  void apply_due_update();
  // Reads anew what pods were given for devices that are others now, and scans again.
  void check_drift(const std::vector<Ledger::Name>& others);
  std::vector<DeviceTracker::Listing> update_lists(DevicesOf resources);
  void query_holders();
  void publish(std::vector<DeviceTracker::Listing> listings, std::vector<CdiFile> files = {});
  // Of the resources as a whole.
  void remark(std::vector<std::string> texts);

  Platform& platform_;
  KubeletLink& link_;
  HeldDevices& held_;
  ResourceConfig config_;
  HealthChecks checks_;
  AdoptionTracker adoption_;
  DeviceTracker tracker_;
  std::set<std::string> remarked_;
  bool drifts_ = false;  // the last scan had held devices that were others
  Lifetime lifetime_;
  ResourcePublisher publisher_;
  EntryGroup group_;  // which publish what they find
};

// The resources that are served, and what they have in common. Loop thread only.
class ResourceControllers final : private ControllerOwner {
 public:
  // changed: a stage, a list, or the set of resources. All outlive it.
  ResourceControllers(Platform& platform, CdiPlaces& cdi, Assuming& assuming, HeldDevices& held,
                      const DrainSet& drains, NodeReporter& reporter, std::function<void()> changed);
  ~ResourceControllers() override = default;
  ResourceControllers& operator=(ResourceControllers&&) = delete;

  // entry: the configuration's entries of one name. link outlives the controller.
  void add(ResourceController::Configs entry, KubeletLink& link);
  // Another one of its name may begin.
  void end(const std::string& name);
  // It ends for good: whoever wants to be told is.
  void retire(const std::string& name);
  void retire_all();
  // One that was refused a resource's name scans again when that is free.
  void retry_waiting();
  // Those of resources that are no more go.
  void forget_specifications();
  // When resources' streams were ended long ago does not matter any more.
  void forget_ended();

  ResourceController& at(const std::string& name) { return *controllers_.at(name); }
  // nullptr: there is none.
  ResourceController* find(const std::string& name) const;
  // Visits name and Entry&.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const auto& [name, controller] : controllers_) visit(name, *controller);
  }
  // Visits the resource and its entry.
  template <typename Visit>
  void for_each_resource(Visit visit) const {
    for (const auto& [name, controller] : controllers_)
      controller->publisher().for_each_resource(
          [&, &its = *controller](Resource& resource) { visit(resource, its); });
  }
  std::vector<SharedSnapshot> snapshots() const;
  NodeReporter::Subjects subjects() const;
  // Replaces the kubelet's ids by those of the cards that the pods' annotations name, on a worker, where a
  // scheduler chooses the cards. done runs in the loop, maybe at once; never, if this is gone by then.
  void by_chosen_card(const PodResources::Answer& answer, HoldingsReader::Done done) const;

 private:
  std::string claim(const std::string& resource, const std::string& entry) override;
  EventLoop::Clock::time_point not_before(const std::string& resource) const override;
  void removed(const std::string& resource, const std::string& entry) override;
  void published(const ResourceSnapshot& snapshot) override { reporter_.follow(snapshot); }
  void emptied(const ResourceSnapshot& last) override { reporter_.end(last); }
  void changed() override { changed_(); }

  Platform& platform_;
  CdiPlaces& cdi_;
  Assuming& assuming_;
  HeldDevices& held_;
  const DrainSet& drains_;
  NodeReporter& reporter_;
  const std::function<void()> changed_;
  std::map<std::string, EventLoop::Clock::time_point> ended_;  // when we ended a resource's stream
  ResourceNames names_;
  std::map<std::string, std::unique_ptr<ResourceController>> controllers_;  // by the text of the entry's name
  Lifetime lifetime_;
};

}  // namespace plughost
