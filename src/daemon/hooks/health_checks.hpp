#pragma once
// The programs that say whether an entry's devices are well. Loop thread only.

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/log/log.hpp"
#include "base/system/event_loop.hpp"
#include "host/programs/subprocess.hpp"
#include "model/device/allocation_spec.hpp"
#include "model/device/device.hpp"

namespace plughost {

class HealthChecks {
 public:
  using Clock = EventLoop::Clock;
  // However many devices there are. A program that cannot be killed does not count, but its device is not
  // checked again while it lives.
  static constexpr std::size_t kAtOnce = 4;

  // on_verdict is called when a device's health, or the reason for it, may be another than apply() last saw;
  // never from within follow() or apply(). programs and log outlive it.
  HealthChecks(Programs& programs, Log& log, std::function<void()> on_verdict);

  // From now on those of these devices are checked, by resource, whose entry says how; new ones at once. A
  // verdict stands until the next one, even if the spec is another now, or the machine has nothing to start
  // a program with. spec: of devices without terms of their own.
  void follow(const AllocationSpec& spec, const std::map<std::string, std::vector<Device>>& resources);
  // Makes the devices Unhealthy whose last check says so; an error of their own stays. One that is not
  // listed as Healthy and has no verdict yet is taken away until it has one: no device becomes Healthy
  // unchecked, and none is Unhealthy because its check waits for its turn. One that the machine cannot check
  // is Unhealthy after a check's time-out, which counts from the check's own start. listed: sorted by id.
  void apply(const std::string& resource, std::span<const Device> listed, std::vector<Device>& devices) const;
  // For so long a new resource waits for its devices' first verdicts, and a device that cannot be checked;
  // Clock::time_point::max(): none waits.
  Clock::time_point waits_until(const std::string& resource) const;

 private:
  struct Check {
    std::string resource;
    std::vector<std::string> command;
    std::chrono::milliseconds interval{0};
    std::chrono::milliseconds timeout{0};
    std::optional<std::string> verdict;  // empty text: it is well; nullopt: there is none yet
    std::string why_none;                // why the machine could not check it the last time
    Clock::time_point wait_until;        // see waits_until()
    Clock::time_point due;
    std::unique_ptr<Subprocess>
        program;  // while it waits for its turn, runs, or lives although it was killed
  };
  using Checks = std::map<std::string, Check>;  // by the device's id

  void follow(const AllocationSpec& spec, const std::string& resource, const std::vector<Device>& devices);
  void stop(Check& check);
  void run_due();
  void start(Check& check);
  void on_end(Check& check, const Ending& ending);
  void on_gone(Check& check);
  void judge(Check& check, std::string verdict);
  void record_means(const Check& check, const std::string& why);

  Log& log_;
  std::function<void()> on_verdict_;
  ProgramQueue queue_;
  std::map<std::string, Checks> resources_;
  std::set<std::pair<Clock::time_point, Check*>> due_;  // those without a program
  bool means_ = true;                                   // the machine has what it takes to start a program
  Timer next_;
};

}  // namespace plughost
