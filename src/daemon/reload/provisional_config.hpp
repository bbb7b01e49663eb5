#pragma once
// A configuration on trial, which is rolled back when its time ends without a confirmation, or when the
// kubelet loses a resource. A value without I/O; callers pass the time. Not thread-safe.

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "config/config.hpp"

namespace plughost {

// The kubelet's present connections.
struct Attachments {
  bool kubelet = false;                          // the kubelet exists and listens
  std::map<std::string, std::string> resources;  // resources with an open stream, and their entries
  std::set<std::string> entries;                 // entries in force
};

class ProvisionalConfig {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // Time without a stream after which a resource counts as lost. A resource that registers again has no
  // stream for a moment.
  static constexpr std::chrono::seconds kLost{5};

  // The configuration to roll back to.
  struct Before {
    std::shared_ptr<const Config> config;  // including the entries that do not apply
    std::chrono::system_clock::time_point loaded_at;
    std::map<std::string, std::string> resources;  // Attachments::resources of that configuration
  };

  // `kubelet` belongs to the configuration on trial.
  ProvisionalConfig(Before before, const KubeletConfig& kubelet, std::chrono::seconds duration, Time now);

  const Before& before() const { return before_; }
  std::chrono::seconds duration() const { return duration_; }

  // Returns why the trial has failed, or "". Call it again after a change, and at due().
  std::string check(const Attachments& seen, Time now);
  Time due() const;

 private:
  Before before_;
  std::chrono::seconds duration_;
  Time until_;
  bool moved_;  // the kubelet's settings have changed: a missing kubelet fails the trial
  std::map<std::string, Time> missing_;  // lost resources, and since when
};

}  // namespace plughost
