#pragma once
// Makes the running entries match a Config, and leaves unchanged entries alone. Loop thread only.
//
// A change must touch only what has changed: registering a resource again costs the kubelet work, and leaves
// the node at 0 for a moment with kubelets up to 1.36. So entries are compared by their text. An unchanged
// entry keeps its sockets, streams and state; a changed entry is updated, and registers again only if its
// options in Register have changed. Restarting everything, as other plugins do, was refused for that moment.
// A resource that two entries claim belongs to the first entry, and passes to the second when the first ends.

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/log/log.hpp"
#include "config/config.hpp"
#include "daemon/drain/drain_controller.hpp"
#include "daemon/platform/kubelet_link.hpp"
#include "daemon/publish/allocatable_check.hpp"
#include "daemon/publish/cdi_places.hpp"
#include "daemon/reload/provisional_config.hpp"
#include "daemon/reload/reload.hpp"
#include "daemon/report/node_reporter.hpp"
#include "daemon/status/status.hpp"
#include "daemon/supervisor/resource_controller.hpp"
#include "daemon/supervisor/succession.hpp"
#include "kubernetes/pods/assuming.hpp"

namespace plughost {

// Tracks relations between entries: `near`, shared cards, and ids that two entries list. Loop thread only.
class ResourceAffinity {
 public:
  // `log` and `controllers` must outlive this object.
  ResourceAffinity(Log& log, ResourceControllers& controllers) : log_(log), controllers_(controllers) {}

  // Joins the entries that share their cards (see AllocationSpec::same_card). Needs no scan, so the first
  // list is joined already.
  void join(const std::vector<ResourceConfig>& entries);
  // Applies the present lists: updates `near` (see AllocationSpec::near) and logs ids that two entries list.
  void update();

 private:
  void publish_neighbours();
  void log_shared_ids();

  Log& log_;
  ResourceControllers& controllers_;
  std::size_t shared_ids_ = 0;                                      // number of shared ids last logged
  std::map<std::string, std::size_t> card_groups_;                  // see same_card_groups()
  std::map<std::size_t, std::shared_ptr<GivenCards>> given_cards_;  // by the number of the group
};

class Supervisor final : private DrainController::Owner, private AllocatableCheck::Owner {
 public:
  // The common safety net under every event source: checks the kubelet, the sockets, the watches and the
  // devices.
  static constexpr std::chrono::seconds kSafetyInterval{60};
  // The unit's TimeoutStopSec=5 (systemd/plughost.service), less the longest other steps of a stop:
  // Programs::kGrace and Programs::kLast for running programs, 0.2 s each for the calls of the control socket
  // and the kubelet, and LogWriter::kLastDeadline. The sum is 4.4 s.
  static constexpr std::chrono::seconds kRemovalLimit{2};

  struct Summary {
    std::size_t resources = 0;
    std::size_t attached = 0;
    bool kubelet = false;
    std::string text() const;
    bool operator==(const Summary&) const = default;
  };

  // Reads the drains, which may block. Calls `on_change` when summary() may have changed. Throws
  // DirectoryHeld or std::system_error. `inheritance` is of a predecessor that still serves; nullptr: there
  // is none. `platform` must outlive this object.
  Supervisor(Platform& platform, Config config, const DrainFile& drains, std::function<void()> on_change,
             const Inheritance* inheritance = nullptr);
  ~Supervisor() override;

  // Throws as the constructor does, and changes nothing on failure.
  Changes apply(Config config);
  // Ends all resources: runs the `onRemove` programs of their devices and sets the counts of the node to 0.
  // Calls `done` later, after that or after kRemovalLimit. Call nothing else in between.
  void stop(const std::function<void()>& done);
  const Config& config() const { return config_; }
  void record_refusal(const std::vector<std::string>& errors) { reporter_.record_refusal(errors); }
  Summary summary() const;
  Attachments attachments() const;

  // Fills the whole status except the fields of the process. Calls `done` in the loop, possibly from within
  // the call; never, if this object is destroyed first.
  using StatusDone = std::function<void(DaemonStatus)>;
  void query_status(WithHolders with, StatusDone done);

  using DrainDone = DrainController::Done;
  void drain(const DrainOrder& order, DrainDone done) { drain_controller_.carry_out(order, std::move(done)); }
  // Valid until the next apply().
  Succession succession() { return {controllers_, held_, drain_controller_, *link_}; }

 private:
  std::unique_ptr<KubeletLink> make_link(const KubeletConfig& config, const KubeletLink* former,
                                         const Inheritance* inheritance = nullptr);
  Assuming::Context assuming_context();
  KubeletStatus kubelet_status() const;
  DaemonStatus status() const;
  std::vector<SharedSnapshot> snapshots() const override { return controllers_.snapshots(); }
  void read_holdings(HoldingsReader::Done done) override;
  void on_drains() override { on_overlay(); }
  void forgive(const DrainSet::Name& name) override;
  std::vector<AllocatableCheck::Subject> subjects() const override;
  void register_again(const std::string& resource) override;
  void on_disagreement() override { on_change_(); }
  void on_overlay();
  void on_kubelet();
  void on_changed();
  void on_safety();
  void after_burst();

  Platform& platform_;
  Config config_;
  std::function<void()> on_change_;
  WallTime kubelet_since_ = std::chrono::system_clock::now();
  Timer safety_;
  Timer sockets_timer_;
  Timer burst_timer_;
  std::unique_ptr<KubeletLink> link_;
  CdiPlaces cdi_;
  NodeReporter reporter_;
  DrainController drain_controller_;
  AllocatableCheck allocatable_;
  Assuming assuming_;
  HeldDevices held_;
  ResourceControllers controllers_;
  ResourceAffinity affinity_;
};

}  // namespace plughost
