#pragma once
// Devices that an operator has taken out of service: orders, the file, and the controller.

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/log/log.hpp"
#include "base/system/coalescing_writer.hpp"
#include "base/text/json.hpp"
#include "daemon/platform/kubelet_link.hpp"
#include "kubernetes/kubelet/pod_resources.hpp"
#include "model/allocate/resource_snapshot.hpp"
#include "model/device/drain_set.hpp"
#include "model/device/inventory.hpp"

namespace plughost {

// A request to drain or undrain a device, or all devices of a resource. A plain value.
struct DrainOrder {
  static constexpr std::chrono::seconds kShortest{1};
  static constexpr std::chrono::seconds kLongest = std::chrono::days(1000);

  struct Terms {
    std::string reason;
    std::optional<std::chrono::seconds> duration;  // nullopt: until undrained

    bool operator==(const Terms&) const = default;
  };

  std::string resource;        // empty, as `device`: undrains what DrainSet::unreadable() drains
  std::string device;          // an id that the kubelet knows; a replica's id means its device; empty: all
  std::optional<Terms> terms;  // nullopt: undrain

  bool operator==(const DrainOrder&) const = default;
};

// Returns why the order is invalid for any device, as a sentence; empty if it is valid.
std::string error_of(const DrainOrder& order);

using ResourceSnapshots = std::span<const SharedSnapshot>;  // of all resources
// Returns why the order is invalid for that device, as a sentence; empty if it is valid.
std::string why_not(const DrainOrder& order, const DrainSet::Name& name, const DrainSet& drains,
                    ResourceSnapshots snapshots);

// The result of an order. A plain value.
struct DrainAnswer {
  std::string error;  // not empty: nothing has changed
  DrainSet::Name name;
  std::optional<Drain> drain;   // nullopt: the device is back in service
  std::string former;           // the text of the drain that the order replaces; empty: there was none
  std::string unsaved;          // why the change is not saved yet; empty if it is saved
  std::vector<Device> devices;  // the listed device; of a whole resource those held, and one Unhealthy one
  std::shared_ptr<const Holdings> holdings;
  std::string holders_unknown;

  Json json() const;
};

// Returns the device that has this id, or a replica with this id; nullptr if there is no such device.
const Device* device_named(const Inventory& inventory, std::string_view id);
const Device* device_named(ResourceSnapshots snapshots, std::string_view resource, std::string_view id);

// The file with the drains, which outlives the daemon. Blocks; one thread at a time.
//
// A damaged file must not return a device to service that an operator took out: a drain that has its names
// stays, and if names are lost, every device of the node is out of service until the operator ends that (the
// order with empty names). Running pods keep their devices.
class DrainFile {
 public:
  static constexpr const char* kName = "drains.json";
  // Far more than needed: a node has some hundred devices, and a drain has some hundred bytes.
  static constexpr std::size_t kMostBytes = 16u << 20;

  // The directory need not exist.
  explicit DrainFile(const std::filesystem::path& directory) : path_(directory / kName) {}

  const std::filesystem::path& path() const { return path_; }
  // Returns the file's content; empty if it is missing. Invalid parts are reported as sentences, and the
  // whole file is kept as drains.json.broken, drains.json.broken-2 and so on.
  DrainSet::Parsed read();
  // Replaces the file's content durably. Returns an error, with the old content unchanged; empty on success.
  std::string write(const std::string& text);

 private:
  // Throws std::system_error.
  std::filesystem::path set_aside();

  std::filesystem::path path_;
  bool broken_ = false;  // the file is invalid and could not be renamed
};

// Executes orders to drain and undrain, saves the drains, and ends them when their time is over. Loop thread
// only.
class DrainController {
 public:
  // The longest wait of a timer: timers use the steady clock, and the wall clock may be set meanwhile.
  static constexpr std::chrono::seconds kLongestWait{60};

  // Owns the drained devices. Called from the loop, never from within the constructor.
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual std::vector<SharedSnapshot> snapshots() const = 0;
    virtual void read_holdings(HoldingsReader::Done done) = 0;
    // Called when drains() has changed.
    virtual void on_drains() = 0;
    // Clears the device's lasting error (Device::lasting).
    virtual void forgive(const DrainSet::Name& name) = 0;
  };

  // Reads the file and may block: construct it before the loop runs. workers, log and owner must outlive it.
  DrainController(EventLoop& loop, Workers& workers, Log& log, const DrainFile& file, Owner& owner)
      : DrainController(loop, workers, log, std::make_shared<DrainFile>(file), owner) {}

  // Returns how long a timer started at `now` must run for a drain that ends at `end`.
  static Drain::Clock::duration wait_for(Drain::Clock::time_point end, Drain::Clock::time_point now);
  const DrainSet& drains() const { return drains_; }
  // Returns true if the file has them.
  bool saved() const { return latest_.written(); }
  // `done` runs in the loop, possibly at once, when the order is saved and the device's holders are known;
  // never after this object is destroyed.
  using Done = std::function<void(const DrainAnswer& answer)>;
  void carry_out(const DrainOrder& order, Done done);

 private:
  // After construction, the file belongs to the worker that writes it.
  DrainController(EventLoop& loop, Workers& workers, Log& log, std::shared_ptr<DrainFile> file, Owner& owner);
  // Ends the drains whose time is over. Returns true if there were any.
  bool expire();
  void on_time();
  void change(CoalescingWriter::Told saved);
  void save(CoalescingWriter::Told saved);
  void arm();
  void answer(DrainAnswer answer, const Done& done);

  Log& log_;
  Owner& owner_;
  const std::shared_ptr<DrainFile> file_;
  DrainSet drains_;
  CoalescingWriter latest_;
  Timer timer_;
};

}  // namespace plughost
