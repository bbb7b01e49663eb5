#pragma once
// The programs that check the devices of an entry. Loop thread only.

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
  // At most this many programs run at the same time, for any number of devices. A program that cannot be
  // killed does not count, but its device is not checked again before the program has ended.
  static constexpr std::size_t kAtOnce = 4;

  // Calls `on_verdict` when the result for a device may have changed since the last apply(), never from
  // within follow() or apply(). `programs` and `log` must outlive this object.
  HealthChecks(Programs& programs, Log& log, std::function<void()> on_verdict);

  // Starts checking the devices whose spec has a health check, by resource; new devices are checked
  // immediately. A result stays valid until the next result, even if the spec changes or no program can be
  // started. `spec` applies to devices without terms of their own.
  void follow(const AllocationSpec& spec, const std::map<std::string, std::vector<Device>>& resources);
  // Makes devices whose last check failed Unhealthy; devices with an error of their own keep that error.
  // Removes a device that is not listed as Healthy and has no result yet, so that no device becomes Healthy
  // unchecked, or Unhealthy because its check waits for its turn. A device that cannot be checked is
  // Unhealthy after the check's timeout, which counts from the check's own start. `listed` is sorted by id.
  void apply(const std::string& resource, std::span<const Device> listed, std::vector<Device>& devices) const;
  // Returns until when a new resource waits for its devices' first results; then a device that cannot be
  // checked becomes Unhealthy. Returns Clock::time_point::max() if the resource waits for no result.
  Clock::time_point waits_until(const std::string& resource) const;

 private:
  struct Check {
    std::string resource;
    std::vector<std::string> command;
    std::chrono::milliseconds interval{0};
    std::chrono::milliseconds timeout{0};
    std::optional<std::string> verdict;  // "": healthy; nullopt: no result yet
    std::string why_none;                // why the last check could not be run
    Clock::time_point wait_until;        // see waits_until()
    Clock::time_point due;
    std::unique_ptr<Subprocess> program;  // set while it waits for its turn, runs, or survives its kill
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
  std::set<std::pair<Clock::time_point, Check*>> due_;  // checks without a program
  bool means_ = true;                                   // programs can be started on this machine
  Timer next_;
};

}  // namespace plughost
