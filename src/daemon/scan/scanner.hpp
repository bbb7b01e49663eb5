#pragma once
// Looks for the devices of one source: on a worker, again whenever what it depends on changes. Loop thread
// only.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/system/event_loop.hpp"
#include "config/config.hpp"
#include "daemon/adoption/adoption.hpp"
#include "daemon/platform/followed_directories.hpp"
#include "daemon/platform/platform.hpp"
#include "daemon/platform/scan_schedule.hpp"
#include "model/allocate/ledger.hpp"
#include "model/device/assembly.hpp"

namespace plughost {

// A source that is replaced takes its scanner with it: what still hangs in a driver then is nobody's affair.
class Scanner {
 public:
  using Clock = ScanSchedule::Clock;
  // A scan that takes longer is wedged: a driver, or a dead network file system.
  static constexpr std::chrono::seconds kDeadline{5};

  // Where several entries are one resource.
  struct Siblings {
    std::vector<EntryFound> found;  // by all of them, in their order; empty: there is one entry
    std::size_t own = 0;            // which of them is looked at
    std::uint64_t version = 0;      // another one when one of the others has found something else
  };
  struct Found {
    Scan scan;  // its devices are in the assembly
    // Its remarks are of what the scan itself has found.
    Assembly assembly;
    // Where several entries are one resource what this one has found, and the assembly has all of them.
    std::shared_ptr<const DevicesOf> own = nullptr;
    std::vector<std::string> joint_remarks = {};     // of all of them
    std::uint64_t version = 0;                       // see Siblings
    std::map<std::string, Adoption> adoptions = {};  // by resource
    // Devices that have other nodes, or are other hardware, than they were listed with.
    std::vector<Ledger::Name> others = {};
  };
  // Called from the loop, not from within.
  struct Hooks {
    // What is listed now, by resource.
    std::function<std::map<std::string, Inventory>()> listed;
    // What the others of the resource's entries have found.
    std::function<Siblings()> siblings;
    // Before each scan: calls then when it can begin, with what is known of the ids that pods hold.
    std::function<void(const std::function<void(HeldIds held)>& then)> prepare;
    // Says when what is listed changes by itself; ScanSchedule::kNever: it does not.
    std::function<Clock::time_point(Found& found)> found;
    std::function<void(const std::string& why)> failed;
    // The scan takes longer than the deadline. Its result is used if it ever comes.
    std::function<void()> stalled;
  };

  // Begins at once. former: of the scanner of the entry's former source. platform outlives it.
  Scanner(Platform& platform, const ResourceConfig& entry, Hooks hooks, ScanSchedule former = {},
          std::chrono::milliseconds deadline = kDeadline);
  ~Scanner() { source_->rest(true); }
  Scanner& operator=(Scanner&&) = delete;

  // Look at the machine: at once, or after a quiet moment.
  void request_scan();
  void rest(bool at_rest);  // see DeviceSource::rest(): a change of it is a reason to scan
  // See DeviceSource::forgive(): the next scan goes by that.
  void forgive(const Device& device);
  const ScanSchedule& schedule() const { return schedule_; }

 private:
  struct Outcome;

  void scan();
  void prepare();
  void scan_on_worker(HeldIds held);
  void on_ended(Outcome& outcome);
  void on_overdue();
  // Follows what the scan has looked at. Says whether something is followed now that was not before.
  bool follow(const Scan& scan);
  void arm();

  Platform& platform_;
  std::shared_ptr<const DeviceSource> source_;
  std::shared_ptr<const AllocationSpec> spec_;
  Hooks hooks_;
  ScanSchedule schedule_;
  bool at_rest_ = false;
  std::chrono::milliseconds deadline_;
  FollowedDirectories directories_;
  std::map<std::string, std::unique_ptr<UdevWatch>> subsystems_;
  Timer timer_;
  Lifetime lifetime_;
  std::unique_ptr<SourceWatch> watch_;
};

}  // namespace plughost
