#pragma once
// A configuration that is in force until somebody keeps it: else it is given up for the one before, when its
// time is over or the kubelet has lost a resource. A value: no I/O, and no clock but the time that it is
// told; not thread-safe.

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "config/config.hpp"

namespace plughost {

// What the kubelet listens to.
struct Attachments {
  bool kubelet = false;                          // it is there, and listens
  std::map<std::string, std::string> resources;  // whose stream is open, and the names of their entries
  std::set<std::string> entries;                 // that are in force
};

class ProvisionalConfig {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // What is registered anew has no stream for a moment: that is no loss.
  static constexpr std::chrono::seconds kLost{5};

  // The way back.
  struct Before {
    std::shared_ptr<const Config> config;  // as it was read, with the entries that do not apply
    std::chrono::system_clock::time_point loaded_at;
    std::map<std::string, std::string> resources;  // Attachments::resources, when it was in force
  };

  // kubelet: that of the configuration on trial.
  ProvisionalConfig(Before before, const KubeletConfig& kubelet, std::chrono::seconds duration, Time now);

  const Before& before() const { return before_; }
  std::chrono::seconds duration() const { return duration_; }

  // Why it is given up; empty: it goes on, and is to be asked again when something changes, or at due().
  std::string check(const Attachments& seen, Time now);
  Time due() const;

 private:
  Before before_;
  std::chrono::seconds duration_;
  Time until_;
  bool moved_;  // another kubelet is meant: its absence is this configuration's doing
  std::map<std::string, Time> missing_;  // resources, since when
};

}  // namespace plughost
