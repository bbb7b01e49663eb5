#pragma once
// The programs that are told what became of devices: they are Unhealthy, or gone for good.

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

// The programs that hear of devices that stay Unhealthy. Loop thread only.
class UnhealthyPrograms {
 public:
  // However many devices there are.
  static constexpr std::size_t kAtOnce = 4;

  // Who holds what. done runs in the loop, maybe at once.
  using QueryHolders = std::function<void(std::function<void(const PodResources::Answer& answer)> done)>;

  // programs and log outlive it. Destroyed means that what runs is killed.
  UnhealthyPrograms(Programs& programs, Log& log, QueryHolders query_holders);
  UnhealthyPrograms& operator=(UnhealthyPrograms&&) = delete;

  // The resource offers this from now on. A device's whenUnhealthy is run once for each bad spell that lasts,
  // with what is known then on its standard input. How it ended is logged.
  void follow(const ResourceSnapshot& snapshot);
  // Nobody offers it any more, and its spells are over. What runs goes on.
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
  // If its spell has not ended meanwhile.
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

// What the program reads, JSON on one line.
std::string unhealthy_document(const std::string& resource, const Device& device,
                               std::chrono::system_clock::time_point since,
                               const PodResources::Answer& holders);

// The programs that are run for the devices of resources that are not offered any more. Loop thread only.
class RemovalPrograms {
 public:
  // However many devices there are.
  static constexpr std::size_t kAtOnce = 16;

  // programs and log outlive it. Destroyed means that what runs is killed.
  RemovalPrograms(Programs& programs, Log& log);
  RemovalPrograms& operator=(RemovalPrograms&&) = delete;

  // Runs the program of onRemove for each of the snapshot's devices whose entry has one. What goes wrong is
  // logged.
  void run(const ResourceSnapshot& snapshot);
  // Calls done, later, when all programs have ended; or after limit, and then what has not ended is killed.
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
  Removals removals_;           // that have not ended
  std::function<void()> done_;  // set: it is the end
  Timer limit_;
};

}  // namespace plughost
