#pragma once
// Programs that are run for devices that are Unhealthy, or removed for good.

#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "base/log/log.hpp"
#include "base/system/event_loop.hpp"
#include "host/programs/subprocess.hpp"
#include "kubernetes/kubelet/pod_resources.hpp"
#include "model/allocate/resource_snapshot.hpp"
#include "model/device/history.hpp"

namespace plughost {

// Runs the programs for devices that stay Unhealthy. Loop thread only.
class UnhealthyPrograms {
 public:
  // At most this many programs run at the same time, for any number of devices.
  static constexpr std::size_t kAtOnce = 4;

  // Queries the holders. done runs in the loop, possibly at once.
  using QueryHolders = std::function<void(std::function<void(const PodResources::Answer& answer)> done)>;

  // `programs` and `log` must outlive this object. The destructor kills running programs.
  UnhealthyPrograms(Programs& programs, Log& log, QueryHolders query_holders);
  UnhealthyPrograms& operator=(UnhealthyPrograms&&) = delete;

  // Replaces the resource's snapshot. Runs a device's `whenUnhealthy` program once for each Unhealthy spell
  // that lasts long enough, with the facts known at that time on standard input. Logs the result.
  void follow(const ResourceSnapshot& snapshot);
  // Call it when the resource has ended. Ends the resource's spells; running programs continue.
  void forget(const std::string& resource);

 private:
  struct Watched {
    Inventory inventory;
    std::shared_ptr<const AllocationSpec> spec;
    BadSpells spells;
    BadSpells::Patience patience() const;
  };
  struct Due {
    std::string resource;
    std::string device;
    BadSpells::Clock::time_point since;
  };
  struct Run {
    std::string resource;
    std::string device;
    std::unique_ptr<Subprocess> program;
  };
  using Runs = std::list<Run>;

  void arm();
  void on_due();
  // Starts the program unless the spell has ended meanwhile.
  void start(const Due& due, const PodResources::Answer& holders);
  void on_end(Runs::iterator run, const std::string& error);
  void log_result(const Run& run, const std::string& error);

  Log& log_;
  QueryHolders query_holders_;
  ProgramQueue queue_;
  std::map<std::string, Watched> watched_;  // by resource
  Runs runs_;
  Timer due_;
  Lifetime lifetime_;
};

// Returns the program's input, JSON on one line.
std::string unhealthy_document(const std::string& resource, const Device& device,
                               std::chrono::system_clock::time_point since,
                               const PodResources::Answer& holders);

// Runs programs for devices of resources that are no longer offered. Loop thread only.
class RemovalPrograms {
 public:
  // At most this many programs run at the same time, for any number of devices.
  static constexpr std::size_t kAtOnce = 16;

  // `programs` and `log` must outlive this object. The destructor kills running programs.
  RemovalPrograms(Programs& programs, Log& log);
  RemovalPrograms& operator=(RemovalPrograms&&) = delete;

  // Runs the `onRemove` program for each device of the snapshot whose entry has one. Failures are logged.
  void run(const ResourceSnapshot& snapshot);
  // Calls `done`, later, when all programs have ended. After `limit`, kills the remaining programs first.
  void finish(std::chrono::milliseconds limit, std::function<void()> done);

 private:
  struct Removal {
    std::string resource;
    std::string device;
    std::unique_ptr<Subprocess> program;
  };
  using Removals = std::list<Removal>;

  void on_end(Removals::iterator removal, const std::string& error);
  void on_limit();
  void log_result(const Removal& removal, const std::string& error);

  Log& log_;
  ProgramQueue queue_;
  Removals removals_;           // not ended yet
  std::function<void()> done_;  // set during shutdown
  Timer limit_;
};

}  // namespace plughost
