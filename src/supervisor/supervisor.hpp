#pragma once
// Makes what runs equal to a Config; what did not change is not touched. Loop thread only.

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "config/config.hpp"
#include "node/kubelet_link.hpp"
#include "pods/assuming.hpp"
#include "reload/reconciliation.hpp"
#include "reload/trial.hpp"
#include "supervisor/allocatable_check.hpp"
#include "supervisor/cdi_writer.hpp"
#include "supervisor/device_programs.hpp"
#include "supervisor/draining.hpp"
#include "supervisor/entry.hpp"
#include "supervisor/feature_labels.hpp"
#include "supervisor/node_capacity.hpp"
#include "supervisor/node_events.hpp"
#include "supervisor/resource_names.hpp"
#include "supervisor/status.hpp"

namespace plughost {

class Supervisor {
 public:
  // The one safety net under every event source: kubelet, sockets, watches and devices are looked at again.
  static constexpr std::chrono::seconds kSafetyInterval{60};
  // What systemd waits for (TimeoutStopSec=5 in systemd/plughost.service), less what the rest of a stop takes
  // at worst: Programs::kGrace for those that do not end, and Programs::kLast to reap them; 0.2 s for the
  // control socket's calls and as much for the kubelet's; LogWriter::kLastDeadline. That is 4.4 s in all.
  static constexpr std::chrono::seconds kRemovalLimit{2};
  // When nobody is to ask the API server any more it is asked for so long yet: what it shows of ours goes.
  static constexpr std::chrono::seconds kFarewellLimit{10};

  struct Summary {
    std::size_t resources = 0;
    std::size_t attached = 0;
    bool kubelet = false;
    std::string text() const;
    bool operator==(const Summary&) const = default;
  };

  // Reads what is drained, and may block. on_change is called when summary() may be another. Throws
  // DirectoryHeld, or std::system_error. platform outlives it.
  Supervisor(Platform& platform, Config config, const DrainFile& drains, std::function<void()> on_change);
  ~Supervisor();

  // Throws as the constructor does, and then nothing has changed.
  Changes apply(Config config);
  // All resources end, what onRemove says is run for their devices, and what the node shows of them is 0.
  // done is called later, when that has ended or kRemovalLimit is over; nothing else is to be asked of it by
  // then.
  void stop(std::function<void()> done);
  const Config& config() const { return config_; }
  // A reload was refused for these.
  void note_refusal(const std::vector<std::string>& errors) { events_.note_refusal(errors); }
  Summary summary() const;
  Attachments attachments() const;

  // What is now, without what the process knows. done runs in the loop, maybe at once; never, if this is gone
  // by then.
  using StatusDone = std::function<void(DaemonStatus)>;
  void ask_status(WithHolders with, StatusDone done);

  using DrainDone = Draining::Done;
  void drain(const DrainOrder& order, DrainDone done);

 private:
  std::unique_ptr<CdiWriter> make_cdi(const Config& config) const;
  void move_cdi(const Config& config);
  // Nothing is left there.
  void end_former_cdi();
  FeatureDirectory feature_directory(const Config& config) const;
  std::unique_ptr<KubeletLink> make_link(const KubeletConfig& config, const KubeletLink* former);
  Assuming::Means means_of_assuming();
  AllocatableCheck::Hooks allocatable_hooks();
  Draining::Hooks drain_hooks();
  DaemonStatus status() const;
  std::vector<std::shared_ptr<const Offer>> offers() const;
  void read_holdings(HoldingsReader::Done done);
  // Where a scheduler has chosen the card the kubelet's ids do not say it.
  PodResources::Answer by_chosen_card(const PodResources::Answer& answer) const;
  void forget(const std::string& resource);
  void add(const ResourceConfig& resource);
  void end(const std::string& name);
  // Its entry ends for good.
  void retire(const std::string& name);
  // Of the entry of that name.
  Entry::Hooks hooks(const std::string& entry);
  // Why the entry cannot serve the resource; empty: nobody else does.
  std::string claim(const std::string& resource, const std::string& entry);
  void use_api_server();
  void on_kubelet();
  void on_safety();
  void after_burst();
  void look_for_shared_ids();
  void forget_specifications();
  void tell_neighbours();
  // See Recipe::same_card.
  void join();
  void tell_labels();
  void tell_node_counts();
  void tell_hopeful();

  Platform& platform_;
  Config config_;
  std::function<void()> on_change_;
  std::map<std::string, EventLoop::Clock::time_point> ended_;  // when we ended a resource's stream
  ResourceNames names_;
  std::size_t shared_ids_ = 0;                                      // that were told of
  std::map<std::string, std::size_t> card_groups_;                  // see same_card_groups()
  std::map<std::size_t, std::shared_ptr<GivenCards>> given_cards_;  // by the number of the group
  RemovalPrograms removals_;
  WallTime kubelet_since_ = std::chrono::system_clock::now();
  Timer safety_;
  Timer sockets_timer_;
  Timer burst_timer_;
  std::unique_ptr<KubeletLink> link_;
  // Stays as it is when the daemon ends: containers that are started again meanwhile need what is in it.
  std::unique_ptr<CdiWriter> cdi_;
  std::unique_ptr<CdiWriter> former_cdi_;  // until what it has written is written by cdi_; nullptr: it is
  FeatureLabels labels_;                   // likewise
  NodeCapacity node_capacity_;
  NodeEvents events_;
  Draining draining_;
  UnhealthyPrograms unhealthy_;
  AllocatableCheck allocatable_;
  Assuming assuming_;
  std::map<std::string, std::unique_ptr<Entry>> entries_;  // by the text of the entry's name
};

}  // namespace plughost
