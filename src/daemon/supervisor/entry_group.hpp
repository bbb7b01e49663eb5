#pragma once
// The entries of one name, and what all of them have found. Loop thread only.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "daemon/scan/scanner.hpp"
#include "daemon/status/status.hpp"
#include "model/allocate/resource_snapshot.hpp"

namespace plughost {

class EntryScan;

// The resource, or the resources, of which it is a part.
class EntryScanOwner {
 public:
  using Clock = Scanner::Clock;

  virtual ~EntryScanOwner() = default;

  virtual std::map<std::string, Inventory> listed() const = 0;
  virtual Scanner::Siblings siblings_of(const EntryScan& entry) const = 0;
  // See Scanner::Hooks.
  virtual void prepare(const std::function<void(HeldIds held)>& then) = 0;
  virtual Clock::time_point accept(EntryScan& entry, Scanner::Found& found) = 0;
  // It could not scan, or its scan hangs, or one that hung has ended.
  virtual void on_error() = 0;
};

// One entry of the configuration, as far as it scans the machine: its scanner, and what there is to say of
// its scans. Loop thread only.
class EntryScan {
 public:
  using Clock = Scanner::Clock;

  // owner and platform outlive it.
  EntryScan(Platform& platform, EntryScanOwner& owner, ResourceConfig config);
  EntryScan& operator=(EntryScan&&) = delete;

  // Scans at once, and again and again. former: of the entry that it takes the place of.
  void begin(ScanSchedule former = {});

  const ResourceConfig& config() const { return config_; }
  // The same entry stands elsewhere in the file.
  void set_where(std::string where) { config_.where = std::move(where); }
  void request_scan() { scanner_->request_scan(); }
  void forgive(const Device& device) { scanner_->forgive(device); }
  void rest(bool at_rest) { scanner_->rest(at_rest); }
  const ScanSchedule& schedule() const { return scanner_->schedule(); }

  // Logs what a scan that has ended could not take, and what matches nothing.
  void log_remarks(const Scan& scan, const Assembly& assembly);
  // What it has found last, where the resource has several; nullptr: nothing yet.
  const std::shared_ptr<const DevicesOf>& devices() const { return devices_; }
  // Is it something else than before?
  bool set_devices(std::shared_ptr<const DevicesOf> devices);
  // True: a scan has ended that counts, or failed, or been found to hang.
  bool has_scanned() const { return has_scanned_; }
  void mark_scanned() { has_scanned_ = true; }
  // Why its devices cannot be promised; nothing: no scan hangs.
  std::optional<std::string> stall() const;
  // Something that is not of a scan, and is for its status.
  void record_error(const std::string& error);
  EntryStatus status() const;

 private:
  Clock::time_point on_found(Scanner::Found& found);
  void on_failed(const std::string& why);
  void on_stalled();
  void on_recovered();
  // Those that have waited for udev for too long are remarks.
  std::vector<std::string> unfinished(const std::vector<std::string>& names);

  Platform& platform_;
  EntryScanOwner& owner_;
  ResourceConfig config_;
  std::shared_ptr<const DevicesOf> devices_;
  std::set<std::string> remarked_;                       // by the last scan
  std::set<std::string> unmatched_;                      // in the last scan
  std::map<std::string, Clock::time_point> unfinished_;  // since when they wait for udev
  std::string scan_error_;                               // of the last scan; empty: it has ended well
  std::uint64_t scans_completed_ = 0;
  std::uint64_t scans_failed_ = 0;
  std::string last_error_;  // even when it is over
  std::optional<WallTime> last_error_at_;
  bool has_scanned_ = false;
  bool stalled_ = false;
  std::unique_ptr<Scanner> scanner_;  // nullptr: it has not begun
};

class EntryGroup {
 public:
  // Of one name, in the order in which they stand; never empty.
  using Configs = std::vector<ResourceConfig>;
  using Lists = std::map<std::string, Inventory>;

  // They outlive it.
  EntryGroup(Platform& platform, EntryScanOwner& owner, Configs configs);

  // Each scans at once.
  void begin();
  // One that says the same as before goes on; another scans at once, and has until then what the one in whose
  // place it stands had. listed: by the only one that there was.
  void update(Configs configs, const Lists& listed);
  // The same entries stand elsewhere in the file.
  void set_where(const Configs& configs);
  // What is said of the whole: the first one's words, with the labels and counts of all.
  ResourceConfig whole() const;

  bool several() const { return entries_.size() > 1; }
  EntryScan& first() { return *entries_.front(); }
  void request_scan();
  void forgive(const Device& device);
  // Lets the entries rest whose devices are all drained, so that their driver can be replaced.
  void rest_drained(const Lists& listed);
  // Is a specification of ours written for some of the devices?
  bool names_by_cdi() const;
  std::vector<Stall> stalls() const;
  std::vector<EntryStatus> status() const;
  Scanner::Siblings siblings_of(const EntryScan& entry) const;

  // True: the scan, which has ended, knows the entries that there are. One that began before an update does
  // not, and another has been requested.
  bool counts(EntryScan& entry, const Scanner::Found& found) const;
  // The devices of all, with what this entry has found; nothing: one of them has not scanned yet, and the
  // kubelet would take the devices of running pods away.
  std::optional<DevicesOf> merge(EntryScan& entry, Scanner::Found& found, const Lists& listed);
  // True: the devices of all are to be taken without a scan: an update has begun none, or the last one that
  // the others have waited for could not scan.
  bool is_due() const { return !taken_ && all_have_scanned(); }
  // If they are. Each scans again: who holds what, they know then.
  std::optional<DevicesOf> merge_due(const Lists& listed);

 private:
  EntryScan* make(ResourceConfig config);
  bool all_have_scanned() const;
  std::vector<EntryFound> found() const;

  Platform& platform_;
  EntryScanOwner& owner_;
  std::vector<std::unique_ptr<EntryScan>> entries_;
  std::uint64_t version_ = 0;  // see Scanner::Siblings
  std::uint64_t updated_ = 0;  // the version since which the entries are these
  bool taken_ = false;         // the devices of all, since then
};

}  // namespace plughost
