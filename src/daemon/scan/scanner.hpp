#pragma once
// Scans one source on a worker, and scans again whenever something that the scan depends on may have changed.
// Loop thread only.
//
// A scan may stall in a driver, and events may come faster than scans end. So events only request a scan, one
// scan runs at a time, and requests during a scan count as one. After 5 s a scan is reported as stalled, the
// former list stays, Allocate refuses with that reason, and another thread replaces the worker; a late result
// is used. Scans are not cancelled, because a thread in the kernel cannot be. Directories that a scan has
// read are watched afterwards, so scans and watches cannot differ.

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

// A replaced source is destroyed with its scanner, even while one of its scans is stalled in a driver.
class Scanner {
 public:
  using Clock = ScanSchedule::Clock;
  // A scan that takes longer has stalled in a driver or a dead network file system.
  static constexpr std::chrono::seconds kDeadline{5};

  // The entries that form one resource together.
  struct Siblings {
    std::vector<EntryFound> found;  // scan results of all entries, in their order; empty: the entry is alone
    std::size_t own = 0;            // index of the scanned entry
    std::uint64_t version = 0;      // changes when another entry's result changes
  };
  struct Found {
    Scan scan;  // its devices have moved into `assembly`
    // The remarks belong to this entry's scan.
    Assembly assembly;
    // This entry's devices if several entries form one resource; `assembly` then has all entries' devices.
    std::shared_ptr<const DevicesOf> own = nullptr;
    std::vector<std::string> joint_remarks = {};     // remarks about all entries' devices together
    std::uint64_t version = 0;                       // see Siblings
    std::map<std::string, Adoption> adoptions = {};  // by resource
    // Devices that have gone, or whose nodes or hardware differ from the previous list.
    std::vector<Ledger::Name> others = {};
  };
  // Gives a scan its input and receives its result. Called from the loop, never from within a call of Scanner
  // except its constructor, which calls prepare().
  class Owner {
   public:
    virtual ~Owner() = default;
    // Returns the present lists, by resource.
    virtual std::map<std::string, Inventory> listed() const = 0;
    // Returns the results of the other entries of the resource.
    virtual Siblings siblings() const = 0;
    // Called before each scan. Calls `then` when the scan may begin, with the ids that pods hold.
    virtual void prepare(const std::function<void(HeldIds held)>& then) = 0;
    // Returns when the result changes without another event; ScanSchedule::kNever: never.
    virtual Clock::time_point on_found(Found& found) = 0;
    virtual void on_failed(const std::string& why) = 0;
    // Called when a scan exceeds the deadline. A late result is still used.
    virtual void on_stalled() = 0;
  };

  // Starts the first scan. `former` is the schedule of the entry's former source. `platform` and `owner` must
  // outlive this object.
  Scanner(Platform& platform, const ResourceConfig& entry, Owner& owner, ScanSchedule former = {},
          std::chrono::milliseconds deadline = kDeadline);
  ~Scanner() { source_->rest(true); }
  Scanner& operator=(Scanner&&) = delete;

  // Requests a scan: at once, or after a quiet moment.
  void request_scan();
  void rest(bool at_rest);  // see DeviceSource::rest(); a change requests a scan
  // See DeviceSource::set_fault(). Requests a scan.
  void set_fault(const Device& device, const std::string& fault);
  const ScanSchedule& schedule() const { return schedule_; }

 private:
  struct Outcome;

  void scan();
  void prepare();
  void scan_on_worker(HeldIds held);
  void on_ended(Outcome& outcome);
  void on_overdue();
  // Watches what the scan has read. Returns true if a udev subsystem was not watched before.
  bool follow(const Scan& scan);
  void arm();

  Platform& platform_;
  std::shared_ptr<const DeviceSource> source_;
  std::shared_ptr<const AllocationSpec> spec_;
  Owner& owner_;
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
