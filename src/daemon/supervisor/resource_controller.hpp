#pragma once
// Runs the entries of one name: their scan results become the lists of one or more resources, which are
// published. Loop thread only.

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
#include "daemon/handover/inheritance.hpp"
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

  // Resources appear once each entry's first scan has finished or failed. `inheritance` is a predecessor's;
  // nullptr: there was none. `drains` and everything in
  // `context` must outlive this object.
  ResourceController(const ResourcePublisher::Context& context, const DrainSet& drains, Configs configs,
                     const Inheritance* inheritance);
  ~ResourceController() override;
  ResourceController& operator=(ResourceController&&) = delete;

  // See EntryGroup::whole().
  const ResourceConfig& config() const { return config_; }
  // Replaces the entries. Unchanged entries go on.
  void update(Configs configs);
  // Updates the positions of entries that have moved in the file.
  void set_where(const Configs& configs);
  void on_kubelet();
  void on_sockets();
  // Requests a scan: at once, or after a quiet moment.
  void request_scan() { group_.request_scan(); }
  // Call it when the CDI directory has changed. Writes the specifications of the present lists to the new
  // directory, and requests a scan.
  void specify_anew();
  // Clears a lasting fault of one of this entry's devices (see Device::lasting).
  void forgive(const DrainSet::Name& name);
  // Called when an overlay has changed.
  void on_overlay();
  ResourcePublisher& publisher() { return publisher_; }
  const ResourcePublisher& publisher() const { return publisher_; }
  // Returns true if every resource of the present devices has its list, and all lists are published.
  bool settled() const { return tracker_.complete() && publisher_.idle(); }
  bool names_by_cdi() const { return group_.names_by_cdi(); }

  std::vector<EntryStatus> status() const { return group_.status(); }
  // Adds what a successor must know of this entry's devices.
  void add_to(Inheritance& told) const;

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

  // Returns the lists that the scan changes. If the scan is incomplete, adds the reason to its remarks.
  std::vector<DeviceTracker::Listing> merge(EntryScan& entry, Scanner::Found& found);
  void apply_due_update();
  // If held devices differ, reads the checkpoint again and requests a scan.
  void check_drift(const std::vector<Ledger::Name>& others);
  std::vector<DeviceTracker::Listing> update_lists(DevicesOf resources);
  void apply_faults(const std::string& resource, std::vector<Device>& devices);
  void query_holders();
  void publish(std::vector<DeviceTracker::Listing> listings, std::vector<CdiFile> files = {});
  // Logs remarks on the resources as a whole.
  void remark(std::vector<std::string> texts);

  Platform& platform_;
  KubeletLink& link_;
  HeldDevices& held_;
  ResourceConfig config_;
  HealthChecks checks_;
  AdoptionTracker adoption_;
  DeviceTracker tracker_;
  Inheritance::ByDevice<std::string> faults_;  // those of the predecessor, until the first scan
  std::set<std::string> remarked_;
  bool drifts_ = false;  // the last scan found changes in held devices
  Lifetime lifetime_;
  ResourcePublisher publisher_;
  EntryGroup group_;  // last, because its scans publish through the members above
};

// All resource controllers, and the decisions that involve several of them. Loop thread only.
class ResourceControllers final : private ControllerOwner {
 public:
  // Calls `changed` when a stage, a list or the set of resources changes. The arguments must outlive this
  // object.
  ResourceControllers(Platform& platform, CdiPlaces& cdi, Assuming& assuming, HeldDevices& held,
                      const DrainSet& drains, NodeReporter& reporter, std::function<void()> changed);
  ~ResourceControllers() override = default;
  ResourceControllers& operator=(ResourceControllers&&) = delete;

  // `entry` has the configuration's entries of one name. `link` must outlive the controller.
  void add(ResourceController::Configs entry, KubeletLink& link, const Inheritance* inheritance = nullptr);
  // Ends a controller, so that another controller of that name can begin.
  void end(const std::string& name);
  // Ends a controller for good, and reports the end of its resources.
  void retire(const std::string& name);
  void retire_all();
  // Ends all controllers, whose resources a successor serves.
  void end_all();
  // Requests scans of the entries whose resource name has become free.
  void retry_waiting();
  // Removes the CDI specifications of resources that no longer exist.
  void forget_specifications();
  // Drops the old records of ended streams.
  void forget_ended();

  ResourceController& at(const std::string& name) { return *controllers_.at(name); }
  // Returns nullptr if no such controller exists.
  ResourceController* find(const std::string& name) const;
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const auto& [name, controller] : controllers_) visit(name, *controller);
  }
  template <typename Visit>
  void for_each_resource(Visit visit) const {
    for (const auto& [name, controller] : controllers_)
      controller->publisher().for_each_resource(
          [&, &its = *controller](Resource& resource) { visit(resource, its); });
  }
  std::vector<SharedSnapshot> snapshots() const;
  NodeReporter::Subjects subjects() const;
  // Replaces the kubelet's ids by the ids of the cards in the pods' annotations, on a worker, if a scheduler
  // chooses the cards. Calls `done` in the loop, possibly from within the call; never, if this object is
  // destroyed first.
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
  std::map<std::string, EventLoop::Clock::time_point> ended_;  // when each resource's stream was ended
  ResourceNames names_;
  std::map<std::string, std::unique_ptr<ResourceController>> controllers_;  // by the entry's name
  Lifetime lifetime_;
};

}  // namespace plughost
