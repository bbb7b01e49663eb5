#pragma once
// One entry of the configuration, running: what its scanner finds becomes lists, and resources serve them.
// Loop thread only.

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/event_loop.hpp"
#include "base/rate.hpp"
#include "config/config.hpp"
#include "device/device_changes.hpp"
#include "node/kubelet_link.hpp"
#include "supervisor/adopting.hpp"
#include "supervisor/cdi_writer.hpp"
#include "supervisor/health_checks.hpp"
#include "supervisor/resource.hpp"
#include "supervisor/roster.hpp"
#include "supervisor/scanner.hpp"
#include "supervisor/status.hpp"

namespace plughost {

class Entry {
 public:
  using Clock = EventLoop::Clock;
  // A CDI specification that could not be written is tried again after this.
  static constexpr std::chrono::seconds kCdiRetry{5};

  struct Hooks {
    // Why another entry has the resource of that name; empty: it is this one's from now on, until it is
    // removed.
    std::function<std::string(const std::string& resource)> claim;
    // When the resource of that name may register first: the kubelet may still be forgetting it.
    std::function<EventLoop::Clock::time_point(const std::string& resource)> not_before;
    std::function<void(const std::string& resource)> removed;  // its stream has just been ended
    std::function<CdiWriter&()> cdi;                           // the present one
    std::function<Assuming&()> assuming;
    std::function<const Drains&()> drains;            // as they are now
    std::function<void(const Offer& offer)> offered;  // a resource of ours, from now on
    // A resource that was named after its devices goes with the last of them: what it offered before.
    std::function<void(const Offer& last)> emptied;
    std::function<void()> changed;  // a stage, a list, or the set of resources
  };

  // platform and link outlive it. Resources appear with the first scan's result.
  Entry(Platform& platform, KubeletLink& link, ResourceConfig config, Hooks hooks);
  ~Entry();
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
  // Other devices are drained now, or adopted.
  void on_other_terms();
  // See Recipe::near.
  void set_neighbours(Neighbours neighbours);
  // See Offer::joined.
  void set_joined(std::shared_ptr<GivenCards> joined);
  const std::shared_ptr<LastGiven>& given() const { return given_; }
  // Are all resources there that the machine's devices make?
  bool settled() const { return roster_.complete() && findings_.empty(); }

  EntryStatus status() const;
  template <typename Visit>
  void for_each_resource(Visit visit) const {
    for (const auto& [name, served] : served_) {
      if (served.resource) visit(*served.resource);
    }
  }

 private:
  struct Served {
    std::string cdi_trouble;    // why what its names stand for is not written; empty: it is
    std::string owner;          // the other entry that serves it
    std::string serve_trouble;  // why there is no resource, although it is this one's
    std::unique_ptr<Resource> resource;
  };

  // What a look has found, on its way to the kubelet: the names of CDI devices mean something before anybody
  // is told them.
  struct Finding {
    std::shared_ptr<const Recipe> recipe;
    std::vector<CdiFile> files;
    std::vector<Roster::Listing> listings;
  };

  std::unique_ptr<Scanner> make_scanner(ScanSchedule former);
  Clock::time_point on_found(Scanner::Found& found);
  void on_failed(const std::string& why);
  void on_stalled();
  void on_recovered();
  std::vector<Roster::Listing> take(std::map<std::string, std::vector<Device>> resources);
  void ask_for_holders();

  void specify(Finding finding);
  void specify_next();
  void publish(const Finding& finding, const CdiWriter::Outcome& specified);
  void publish(const Roster::Listing& listing, Offer offer, const std::string& cdi_trouble);
  Offer offer_of(const Finding& finding, const Roster::Listing& listing) const;
  // What could not be done is tried again.
  void arm_retry();
  // Is the resource this entry's?
  bool claim(Served& served, const std::string& name);
  // Has the resource offer this, and makes it if need be.
  void serve(Served& served, Offer offer);
  // A resource that was named after its devices goes with the last of them.
  void drop(const std::string& name);
  // Offers the resources' lists with what else there is to say of them now.
  void offer_anew();
  // See Offer::stall.
  std::string stall_of(const Served& served) const;

  void note(const std::string& trouble);
  void remark(const std::vector<std::string>& of_scan, const std::vector<std::string>& of_devices);
  void tell_unmatched(const std::vector<std::string>& of_choice, const std::vector<std::string>& of_replicas);
  void tell_changes(const std::string& resource, std::span<const DeviceChange> changes);
  void tell_specification(const std::string& resource, const std::string& before, const std::string& now);

  Platform& platform_;
  KubeletLink& link_;
  ResourceConfig config_;
  Hooks hooks_;
  HealthChecks checks_;
  Roster roster_;
  Adopting adopting_;
  std::map<std::string, Served> served_;  // by resource
  Backoff serve_again_{std::chrono::seconds(1), std::chrono::seconds(60)};
  Timer retry_;
  std::list<Finding> findings_;  // the first one is being specified
  Neighbours neighbours_;
  std::shared_ptr<GivenCards> joined_;
  const std::shared_ptr<FreeShares> free_ = std::make_shared<FreeShares>();
  std::shared_ptr<LastGiven> given_ = std::make_shared<LastGiven>();
  std::set<std::string> remarked_;   // by the last scan
  std::set<std::string> unmatched_;  // in the last scan
  std::string scan_trouble_;         // of the last scan; empty: it has ended well
  std::uint64_t scans_completed_ = 0;
  std::uint64_t scans_failed_ = 0;
  std::string last_trouble_;  // of a scan, even when it is over
  std::optional<WallTime> last_trouble_at_;
  bool stall_told_ = false;
  Lifetime lifetime_;
  std::unique_ptr<Scanner> scanner_;
};

}  // namespace plughost
