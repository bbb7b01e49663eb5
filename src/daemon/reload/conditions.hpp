#pragma once
// Decides which entries of the configuration apply on this node, and in which directory the kubelet is, and
// decides again when the facts have changed on which a condition depends. Loop thread only.

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/system/event_loop.hpp"
#include "config/config.hpp"
#include "config/selection.hpp"
#include "daemon/platform/followed_directories.hpp"
#include "daemon/platform/platform.hpp"
#include "daemon/platform/scan_schedule.hpp"

namespace plughost {

class Conditions {
 public:
  using Clock = ScanSchedule::Clock;
  // An evaluation that takes longer has stalled (a dead network file system): the selection stays as it is.
  static constexpr std::chrono::seconds kDeadline{2};
  static constexpr std::chrono::seconds kSafetyInterval{60};

  // Calls `changed` with the part of the configuration that applies, when that part changes, and again later
  // if it throws std::runtime_error. `platform` must outlive this object.
  Conditions(Platform& platform, std::function<void(Config part)> changed,
             std::chrono::milliseconds deadline = kDeadline);
  Conditions& operator=(Conditions&&) = delete;

  // Calls `done` once, in the loop: with the result of the conditions, or, after the deadline, with
  // not_asked_yet(*config, running).
  void evaluate(const std::shared_ptr<const Config>& config, const std::vector<ResourceConfig>& running,
                std::function<void(Selection)> done);
  // Watches the conditions of this configuration from now on. `selection` is their present result.
  void follow(std::shared_ptr<const Config> config, Selection selection);

  // Returns nullptr if no entry has a condition.
  const std::shared_ptr<const Config>& config() const { return config_; }
  const Selection& selection() const { return selection_; }

 private:
  void request_check();
  void check();
  void on_checked(Selection found);
  // Returns the node's labels as last received from the API server, if any condition needs them.
  NodeLabels labels_told() const;
  void log_errors(const std::vector<std::string>& errors);
  void arm();

  Platform& platform_;
  std::function<void(Config part)> changed_;
  std::chrono::milliseconds deadline_;
  std::shared_ptr<const Config> config_;  // nullptr: no entry has a condition
  Selection selection_;
  ScanSchedule schedule_;
  std::vector<std::string> told_;  // errors already logged
  FollowedDirectories directories_;
  Timer timer_;
  std::unique_ptr<Subscription> node_;  // set while a condition needs the node's labels
  Lifetime following_;                  // ends with this configuration
  Lifetime lifetime_;
};

}  // namespace plughost
