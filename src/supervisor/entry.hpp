#pragma once
// One entry of the configuration, running: its scans, and the resources that they make. Loop thread only.

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/backoff.hpp"
#include "config/config.hpp"
#include "device/assembly.hpp"
#include "device/damping.hpp"
#include "supervisor/cdi_directory.hpp"
#include "supervisor/health_checks.hpp"
#include "supervisor/node_link.hpp"
#include "supervisor/resource.hpp"
#include "supervisor/status.hpp"

namespace plughost {

class Entry {
 public:
  using Clock = EventLoop::Clock;
  // Events are hints, scans are truth. The first hint is followed at once; more of them wait for a quiet
  // moment, but not for ever.
  static constexpr std::chrono::milliseconds kQuiet{100};
  static constexpr std::chrono::milliseconds kLongestWait{1000};
  // A scan that takes longer is wedged: a driver, or a dead network file system.
  static constexpr std::chrono::seconds kScanDeadline{5};
  // A CDI specification that could not be written is tried again after this.
  static constexpr std::chrono::seconds kCdiRetry{5};

  struct Hooks {
    // When the resource of that name may register first: the kubelet may still be forgetting it.
    std::function<EventLoop::Clock::time_point(const std::string& resource)> not_before;
    std::function<void(const std::string& resource)> removed;  // its stream has just been ended
    std::function<CdiDirectory&()> cdi;                        // the present one
    // A resource that was named after its devices goes with the last of them: what it offered before.
    std::function<void(const Offer& last)> emptied;
    std::function<void()> changed;  // a stage, a list, or the set of resources
  };

  // platform and link outlive it. Resources appear with the first scan's result.
  Entry(Platform& platform, NodeLink& link, ResourceConfig config, Hooks hooks);
  ~Entry();

  const ResourceConfig& config() const { return config_; }
  // Takes the new devices and terms without touching a stream. The options are the same (see options_of).
  void update(ResourceConfig config);
  void on_kubelet();
  void on_sockets();
  // Look at the machine: at once, or after a quiet moment.
  void hint();
  // See Recipe::near.
  void set_neighbours(Neighbours neighbours);
  const std::shared_ptr<LastGiven>& given() const { return given_; }
  // Are all resources there that the machine's devices make?
  bool settled() const { return settled_; }

  EntryStatus status() const;
  template <typename Visit>
  void for_each_resource(Visit visit) const {
    for (const auto& [name, live] : live_) {
      if (live.resource) visit(*live.resource);
    }
  }

 private:
  struct Live {
    Remembered remembered;
    Damping damping;
    std::set<std::string> held;  // of its Unhealthy devices: pods held them when the kubelet last told
    std::string cdi_trouble;     // why what its names stand for is not written; empty: it is
    std::unique_ptr<Resource> resource;
  };
  struct Outcome;

  std::unique_ptr<SourceWatch> watch_source();
  void scan();
  void on_scanned(Outcome& outcome);
  // not_yet: see Scan.
  void take_in(const std::string& not_yet, Assembly assembly);
  void on_scan_failed(const std::string& why);
  void on_overdue();
  void note(const std::string& trouble);
  // See Offer::stall.
  void set_stall(const std::string& why);
  void remark(std::vector<std::string> remarks);
  void take(std::map<std::string, std::vector<Device>> resources);
  // The devices to list now. Says when they may be others, if nothing else happens.
  Clock::time_point settle(const std::string& name, Live& live, std::vector<Device>& devices);
  void drop_empty_resources();
  // Does the device, which has been due to be forgotten since then, stay?
  bool stays(const Live& live, const Device& device, Clock::time_point due);
  void ask_for_holders();
  void on_holders(const PodResources::Answer& answer, Clock::time_point asked);
  void tell(const std::string& name, std::span<const Device> before, std::span<const Device> after);
  void publish(const std::string& name, Live& live, std::vector<Device> devices);
  void write(const std::vector<CdiFile>& files);
  // What the container runtime will look up is written before anybody is told its name.
  void specify(Live& live, Offer& offer);
  // Follows what the scan has looked at. Says whether something is followed now that was not before.
  bool follow(const Scan& scan);

  Platform& platform_;
  NodeLink& link_;
  ResourceConfig config_;
  Hooks hooks_;
  std::map<std::string, Live> live_;
  std::map<WatchedDirectory, std::unique_ptr<DirWatch>> directories_;
  std::map<std::string, std::unique_ptr<UdevWatch>> subsystems_;
  std::set<std::string> remarked_;  // by the last scan
  std::string cdi_trouble_;         // why what the scan gave for CDI's directory is not there
  Neighbours neighbours_;
  std::shared_ptr<LastGiven> given_ = std::make_shared<LastGiven>();
  std::string scan_trouble_;
  Backoff scan_failed_{std::chrono::seconds(1), std::chrono::seconds(60)};
  HealthChecks checks_;
  std::uint64_t scans_completed_ = 0;
  std::uint64_t scans_failed_ = 0;
  std::string last_trouble_;  // of a scan, even when it is over
  std::optional<WallTime> last_trouble_at_;
  bool scanning_ = false;
  bool stalled_ = false;
  bool settled_ = false;
  bool hinted_while_scanning_ = false;
  Clock::time_point last_scan_{};
  Clock::time_point first_hint_{};
  // Who holds the devices that are to be forgotten. The kubelet was last asked at a time, and is to be asked
  // again at another.
  Clock::time_point holders_asked_ = Clock::time_point::min();
  Clock::time_point ask_again_ = Clock::time_point::max();
  Backoff held_{std::chrono::seconds(2), std::chrono::seconds(60)};
  bool asking_ = false;
  bool must_ask_ = false;
  Timer hint_timer_;
  Timer later_;  // what changes with time alone, or another try after a failed scan
  Timer poll_;   // for what no event tells
  std::unique_ptr<SourceWatch> watch_;
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

// What an endpoint of this entry says that it can do. Fixed for an endpoint's life.
PluginOptions options_of(const Recipe& recipe);

}  // namespace plughost
