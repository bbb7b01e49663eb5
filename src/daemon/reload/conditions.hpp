#pragma once
// Which entries of the configuration apply, asked again whenever what their conditions look at changes. Loop
// thread only.

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
  // Looking takes longer: a dead network file system. What applied before goes on to apply.
  static constexpr std::chrono::seconds kDeadline{2};
  static constexpr std::chrono::seconds kSafetyInterval{60};

  // changed is called with what applies now, if that is another part of the configuration than before.
  // platform outlives it.
  Conditions(Platform& platform, std::function<void(Config part)> changed,
             std::chrono::milliseconds deadline = kDeadline);
  Conditions& operator=(Conditions&&) = delete;

  // done is called once, in the loop: with what the conditions say, or after the deadline with
  // not_asked_yet(*config, running).
  void evaluate(const std::shared_ptr<const Config>& config, const std::vector<ResourceConfig>& running,
                std::function<void(Selection)> done);
  // From now on this configuration, of which those entries apply.
  void follow(std::shared_ptr<const Config> config, Selection selection);

  // nullptr: no entry has a condition.
  const std::shared_ptr<const Config>& config() const { return config_; }
  const Selection& selection() const { return selection_; }

 private:
  void request_check();
  void check();
  void on_checked(Selection found);
  // What the API server says of our labels, if somebody wants to know it.
  NodeLabels labels_told() const;
  void log_errors(const std::vector<std::string>& errors);
  void arm();

  Platform& platform_;
  std::function<void(Config part)> changed_;
  std::chrono::milliseconds deadline_;
  std::shared_ptr<const Config> config_;  // nullptr: no entry has a condition
  Selection selection_;
  ScanSchedule schedule_;
  std::vector<std::string> told_;  // errors
  FollowedDirectories directories_;
  Timer timer_;
  std::unique_ptr<Subscription> node_;  // while conditions ask for it
  Lifetime following_;                  // this configuration
  Lifetime lifetime_;
};

}  // namespace plughost
