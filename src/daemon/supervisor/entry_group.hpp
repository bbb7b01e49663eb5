#pragma once
// The entries of one name, and the scan results of all of them. Loop thread only.

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

// The owner of the resources that the entry contributes to.
class EntryScanOwner {
 public:
  using Clock = Scanner::Clock;

  virtual ~EntryScanOwner() = default;

  virtual std::map<std::string, Inventory> listed() const = 0;
  virtual Scanner::Siblings siblings_of(const EntryScan& entry) const = 0;
  // See Scanner::Owner.
  virtual void prepare(const std::function<void(HeldIds held)>& then) = 0;
  virtual Clock::time_point accept(EntryScan& entry, Scanner::Found& found) = 0;
  // Called when a scan has failed or stalled, or a stalled scan has ended.
  virtual void on_error() = 0;
};

// The scanning side of one configuration entry: its scanner, and the remarks and errors of its scans. Loop
// thread only.
class EntryScan final : private Scanner::Owner {
 public:
  using Clock = Scanner::Clock;

  // `owner` and `platform` must outlive this object.
  EntryScan(Platform& platform, EntryScanOwner& owner, ResourceConfig config);
  EntryScan& operator=(EntryScan&&) = delete;

  // Starts scanning. `former` is the schedule of the replaced entry.
  void begin(ScanSchedule former = {});

  const ResourceConfig& config() const { return config_; }
  // Updates the position of an entry that has moved in the file.
  void set_where(std::string where) { config_.where = std::move(where); }
  void request_scan() { scanner_->request_scan(); }
  void set_fault(const Device& device, const std::string& fault) { scanner_->set_fault(device, fault); }
  void rest(bool at_rest) { scanner_->rest(at_rest); }
  const ScanSchedule& schedule() const { return scanner_->schedule(); }

  // Logs what a completed scan could not use, and patterns without a match.
  void log_remarks(const Scan& scan, const Assembly& assembly);
  // Returns the latest scan result if the resource has several entries; nullptr if there is none yet.
  const std::shared_ptr<const DevicesOf>& devices() const { return devices_; }
  // Returns true if the devices differ from the previous scan.
  bool set_devices(std::shared_ptr<const DevicesOf> devices);
  // Returns true once the first scan has finished, failed or timed out.
  bool has_scanned() const { return has_scanned_; }
  void mark_scanned() { has_scanned_ = true; }
  // Returns why the devices cannot be allocated; nullopt: no scan is stalled.
  std::optional<std::string> stall() const;
  // Records an error from outside a scan for the entry's status.
  void record_error(const std::string& error);
  EntryStatus status() const;

 private:
  std::map<std::string, Inventory> listed() const override { return owner_.listed(); }
  Scanner::Siblings siblings() const override { return owner_.siblings_of(*this); }
  void prepare(const std::function<void(HeldIds held)>& then) override { owner_.prepare(then); }
  Clock::time_point on_found(Scanner::Found& found) override;
  void on_failed(const std::string& why) override;
  void on_stalled() override;
  void on_recovered();
  // Records why the entry has no devices, and logs at debug what each selector has seen.
  void record_funnels(const Scanner::Found& found);
  // Returns the devices that have waited for udev for too long, as remarks.
  std::vector<std::string> unfinished(const std::vector<std::string>& names);

  Platform& platform_;
  EntryScanOwner& owner_;
  ResourceConfig config_;
  std::shared_ptr<const DevicesOf> devices_;
  std::set<std::string> remarked_;                       // remarks of the last scan
  std::set<std::string> unmatched_;                      // unmatched patterns of the last scan
  std::map<std::string, Clock::time_point> unfinished_;  // since when each device has waited for udev
  std::set<std::string> funnels_;                        // what the selectors of the last scan have seen
  std::string no_devices_;                               // why the last scan found none; empty: it found some
  std::string scan_error_;                               // error of the last scan; empty if it succeeded
  std::uint64_t scans_completed_ = 0;
  std::uint64_t scans_failed_ = 0;
  std::string last_error_;  // kept after recovery
  std::optional<WallTime> last_error_at_;
  bool has_scanned_ = false;
  bool stalled_ = false;
  std::unique_ptr<Scanner> scanner_;  // nullptr: begin() was not called
};

class EntryGroup {
 public:
  // Entries of one name in the order of the file; never empty.
  using Configs = std::vector<ResourceConfig>;
  using Lists = std::map<std::string, Inventory>;

  // `platform` and `owner` must outlive this object.
  EntryGroup(Platform& platform, EntryScanOwner& owner, Configs configs);

  // Starts the first scan of each entry.
  void begin();
  // Replaces the entries. An unchanged entry keeps its result. A changed entry scans at once, and keeps its
  // predecessor's result until then. `listed` are the present lists, used if there was only one entry.
  void update(Configs configs, const Lists& listed);
  void set_where(const Configs& configs);
  // Returns one configuration for the resource: the first entry's, with all entries' labels and counts.
  ResourceConfig whole() const;

  bool several() const { return entries_.size() > 1; }
  EntryScan& first() { return *entries_.front(); }
  void request_scan();
  void set_fault(const Device& device, const std::string& fault);
  // Rests the entries whose devices are all drained, so that their driver can be replaced.
  void rest_drained(const Lists& listed);
  // Returns true if a CDI specification of plughost's own names some of the devices.
  bool names_by_cdi() const;
  std::vector<Stall> stalls() const;
  std::vector<EntryStatus> status() const;
  Scanner::Siblings siblings_of(const EntryScan& entry) const;

  // Returns true if the completed scan began after the last update, which has requested a scan of each entry.
  bool counts(EntryScan& entry, const Scanner::Found& found) const;
  // Returns the devices of all entries, including this result. Returns nullopt while an entry has not scanned
  // yet: a partial list would take the devices of running pods away.
  std::optional<DevicesOf> merge(EntryScan& entry, Scanner::Found& found, const Lists& listed);
  // Returns true if the entries' devices must be merged without a further scan: an update started none, or
  // the last missing scan failed.
  bool is_due() const { return !taken_ && all_have_scanned(); }
  // Merges the devices if is_due(). Requests a scan of each entry, which then receives the holders.
  std::optional<DevicesOf> merge_due(const Lists& listed);

 private:
  EntryScan* make(ResourceConfig config);
  bool all_have_scanned() const;
  std::vector<EntryFound> found() const;

  Platform& platform_;
  EntryScanOwner& owner_;
  std::vector<std::unique_ptr<EntryScan>> entries_;
  std::uint64_t version_ = 0;  // see Scanner::Siblings
  std::uint64_t updated_ = 0;  // the version at the last update
  bool taken_ = false;         // the devices have been merged since the last update
};

}  // namespace plughost
