#pragma once
// The DRA drivers of this node: the one that the configuration has, and those that it has no more and that
// stay until nobody needs them; and whose a device is that their pools and the kubelet's lists might both
// give away. Loop thread only.

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/event_loop.hpp"
#include "base/lifetime.hpp"
#include "device/inventory.hpp"
#include "driver/device_ledger.hpp"
#include "driver/dra_driver.hpp"
#include "driver/zero_counts.hpp"
#include "platform/cdi_writer.hpp"
#include "platform/platform.hpp"
#include "status/status.hpp"

namespace plughost {

class DraDrivers {
 public:
  struct Options {
    std::string driver;  // empty: no entry is advertised by DRA
    std::filesystem::path plugins_registry;
    bool api_server = false;  // else nobody can tell that what a driver leaves behind is gone
  };
  // What an entry lists, whoever is told.
  struct Lists {
    std::string entry;
    bool dra = false;   // in pools
    std::string where;  // the entry's place in the configuration
    std::map<std::string, Inventory> by_resource;
  };
  using Seen = std::map<std::string, std::vector<Device>>;  // by resource
  // As things are now. Those without a result are called later than what causes it, or from within use().
  struct Hooks {
    std::function<CdiWriter&()> cdi;
    std::function<std::vector<DraDriver::Subject>()> subjects;  // the entries that are advertised by DRA
    std::function<std::vector<Lists>()> lists;  // of all entries, in the order of their places
    std::function<void()> loaded;               // loaded() may say something else
    std::function<void()> occupied;             // occupied() may
    std::function<void()> changed;              // status() may
  };

  // Looks for claims that former processes have prepared: their drivers stay for them. platform outlives it.
  DraDrivers(Platform& platform, Hooks hooks);
  DraDrivers(const DraDrivers&) = delete;
  DraDrivers& operator=(const DraDrivers&) = delete;

  // From now on this is the driver; a former one leaves.
  void use(Options options);
  // What the hooks `subjects` and `lists` say may have changed.
  void on_lists();
  // Another kubelet is there, or none.
  void on_kubelet(bool present);
  // The CDI directory is another one.
  void on_other_cdi();
  // The process is about to end, and another one may come. Entries that end after this are not told of.
  void leave_to_successor();

  // Is it known what former processes have prepared?
  bool loaded() const;
  // That are prepared, or about to be; valid until the loop goes on.
  std::vector<const PreparedClaim*> claims() const;
  // The first CDI name of each of their devices; nullopt until loaded().
  std::optional<std::set<std::string>> claimed_names() const;
  // Devices that somebody has by another road than the list that they are in, as it was found last.
  const OccupiedDevices& occupied();
  // The same, looked for anew: the entry has these devices now. An empty name: all are as they are.
  const OccupiedDevices& occupied(const std::string& entry, const Seen& seen);

  SlicesState slices() const;
  // See DraDriver::tell.
  void tell(PoolStatus& pool, const SlicesState& slices) const;
  // The one that has the pools first.
  std::vector<DriverStatus> status() const;

 private:
  bool none() const { return !driver_ && leaving_.empty(); }
  std::unique_ptr<DraDriver> make(const std::string& name);
  void on_files(const ClaimFiles& files);
  void look();
  void tell_offers();
  // Of the drivers that leave.
  std::vector<PreparedClaim> left_claims() const;
  template <typename Visit>
  void for_each(Visit visit) const {
    if (driver_) visit(*driver_);
    for (const auto& driver : leaving_) visit(*driver);
  }

  Platform& platform_;
  const Hooks hooks_;
  Options options_;
  ZeroCounts zero_counts_;
  DeviceLedger ledger_;
  OccupiedDevices occupied_;
  bool left_known_ = false;  // which drivers a former process has left
  bool ending_ = false;
  Timer look_;
  Lifetime lifetime_;
  std::unique_ptr<DraDriver> driver_;
  std::vector<std::unique_ptr<DraDriver>> leaving_;
};

}  // namespace plughost
