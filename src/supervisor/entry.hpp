#pragma once
// One entry of the configuration, running: what its scanner finds becomes lists, and these are published.
// Loop thread only.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/event_loop.hpp"
#include "config/config.hpp"
#include "device/drains.hpp"
#include "listing/adopting.hpp"
#include "listing/roster.hpp"
#include "listing/scanner.hpp"
#include "publication/publication.hpp"
#include "status/status.hpp"
#include "userprograms/health_checks.hpp"

namespace plughost {

class Entry final : private PublicationOwner {
 public:
  using Clock = EventLoop::Clock;

  // Resources appear with the first scan's result. What means and drains name outlives it.
  Entry(const Publication::Means& means, const Drains& drains, ResourceConfig config);
  ~Entry() override;
  Entry& operator=(Entry&&) = delete;

  const ResourceConfig& config() const { return config_; }
  // Takes the new devices and terms without touching a stream. The options are the same (see PluginOptions).
  void update(ResourceConfig config);
  // The same entry stands elsewhere in the file.
  void set_where(std::string where) { config_.where = std::move(where); }
  void on_kubelet();
  void on_sockets();
  // Look at the machine: at once, or after a quiet moment.
  void hint() { scanner_->hint(); }
  // There is another directory of CDI specifications: those of what is listed are written there, and what a
  // look finds to be written beside them.
  void specify_anew();
  // What is wrong with the device of ours is over: see Device::lasting.
  void forgive(const Drains::Name& name);
  // An overlay is another.
  void on_overlay();
  Publication& publication() { return publication_; }
  const Publication& publication() const { return publication_; }
  // Are all resources there that the machine's devices make?
  bool settled() const { return roster_.complete() && publication_.idle(); }

  EntryStatus status() const;

 private:
  void look_again() override { hint(); }
  void all_published() override { adopting_.tell(); }
  void dropped(const std::string& resource) override;
  void note(const std::string& trouble) override;

  std::unique_ptr<Scanner> make_scanner(ScanSchedule former);
  Clock::time_point on_found(Scanner::Found& found);
  // Reads anew what pods were given for devices that are others now, and looks again.
  void look_for_drift(const std::vector<Scanner::Found::Other>& others);
  void on_failed(const std::string& why);
  void on_stalled();
  void on_recovered();
  std::vector<Roster::Listing> take(std::map<std::string, std::vector<Device>> resources);
  void ask_for_holders();
  void publish(std::vector<Roster::Listing> listings, std::vector<CdiFile> files = {});
  // Those that have waited for udev for too long are remarks.
  void note_unfinished(Scan& scan);
  void remark(const std::vector<std::string>& of_scan, const std::vector<std::string>& of_devices);
  void tell_unmatched(const std::vector<std::string>& of_choice, const std::vector<std::string>& of_replicas);

  Platform& platform_;
  KubeletLink& link_;
  HeldDevices& held_;
  ResourceConfig config_;
  HealthChecks checks_;
  Adopting adopting_;
  Roster roster_;
  std::set<std::string> remarked_;                       // by the last scan
  std::set<std::string> unmatched_;                      // in the last scan
  std::map<std::string, Clock::time_point> unfinished_;  // since when they wait for udev
  std::string scan_trouble_;                             // of the last scan; empty: it has ended well
  std::uint64_t scans_completed_ = 0;
  std::uint64_t scans_failed_ = 0;
  std::string last_trouble_;  // of a scan, even when it is over
  std::optional<WallTime> last_trouble_at_;
  bool stall_told_ = false;
  bool drifts_ = false;  // the last look had held devices that were others
  Lifetime lifetime_;
  Publication publication_;
  std::unique_ptr<Scanner> scanner_;
};

}  // namespace plughost
