#pragma once
// Kinds of resources: a key in the configuration, its value, and how devices are found.
//
// A kind is one file and one row of a table: it reads the value of its key, and scans. A kind keeps no state,
// so that a reload or a stalled scan can drop it at any time; the DeviceTracker keeps the history (vanished,
// flapping, held). A scan runs on a worker and may block, because no kind can promise that a driver responds.
// Plugins in shared libraries were refused: an ABI would bind every later change, and the kind `exec` serves
// users who cannot compile plughost. docs/adding-a-kind.md is a kind that a test compiles.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/document/fields.hpp"
#include "host/hardware/host_root.hpp"
#include "kinds/funnel.hpp"
#include "model/device/allocation_spec.hpp"
#include "model/device/device.hpp"

namespace plughost {

class Programs;
class SysDevice;

// A CDI specification created by another program.
struct CdiFile {
  std::string name;  // in CDI's directory
  std::string text;
};

struct Scan {
  // No result yet; another scan will be requested. The previous result stays valid.
  bool undecided = false;
  std::vector<Device> devices;           // in a stable order
  std::vector<WatchedDirectory> watch;   // changes here request another scan
  std::vector<std::string> remarks;      // for the log, one line each
  std::vector<Funnel> funnels;           // one for each selector; for kinds without selectors: none
  std::vector<std::string> unmatched;    // the places of patterns that match no device
  std::vector<std::string> subsystems;   // udev events of these subsystems request another scan
  std::vector<std::string> unfinished;   // devices that are left out until udev has processed them
  std::vector<CdiFile> cdi;              // to be written before the devices are offered
  std::string not_yet;                   // why offering the devices must wait at the start; empty: no reason
  std::chrono::seconds rescan_after{0};  // for state that no event reports; 0: no such state
  NodeNumbers numbers;                   // of the nodes in the kernel's device model
};

// Returns the path of the device's node, and records the node's number in the scan. nullopt: no node.
std::optional<std::string> node_of(const SysDevice& device, Scan& scan);
// Records the device's number for another path of its node, such as a link. An empty path is ignored.
void record_number(const std::string& path, const SysDevice& device, Scan& scan);

// Returns true if the device waits for udev, and records that in the scan.
bool waits_for_udev(const SysDevice& device, Scan& scan);
// The rule of a Funnel that leaves out such a device.
inline constexpr std::string_view kWaitsForUdev = "udev has not processed it yet";
// After this time, a device that waits for udev is worth a warning, whose text is unfinished_text().
inline constexpr std::chrono::seconds kUdevPatience{10};
std::string unfinished_text(const std::string& name);

// Reads a list of names of subsystems. Reports names that are none with the message `what`.
std::vector<std::string> read_subsystems(Fields& fields, std::string_view key, const std::string& what);

// Returns the remark about hubs, bridges and cards with virtual functions that are left out because the entry
// names only a vendor.
std::string not_named_text(const std::vector<std::string>& devices);

// An activity that a source keeps running between scans in order to notice changes. Loop thread only. The
// destructor ends the activity and its callbacks.
class SourceWatch {
 public:
  virtual ~SourceWatch() = default;
  // Called once before each scan. Calls `then`, from within or later in the loop, when the scan can begin.
  // Serves for waits that must not occupy a thread.
  virtual void before_scan(const std::function<void()>& then) { then(); }
};

// The needs of a source that the shipped unit's sandbox does not permit.
struct SandboxNeeds {
  bool nvml = false;      // opens the nodes of NVIDIA's cards
  bool programs = false;  // runs the user's programs
  bool users = false;     // runs these programs as other users

  bool operator==(const SandboxNeeds&) const = default;
};

// Finds the devices of one entry.
class DeviceSource {
 public:
  virtual ~DeviceSource() = default;
  // Worker thread; may block. Never runs concurrently for one source. Throws std::system_error if the machine
  // cannot be scanned: the previous result stays valid then.
  virtual Scan scan(const HostRoot& host) const = 0;
  // Worker thread, after each scan, when the entry's choice has been applied. Adds remarks that concern
  // several chosen devices, and makes changes that depend on the spec. Throws like scan().
  virtual void finish(Scan& /*taken*/, const AllocationSpec& /*spec*/) const {}
  // Returns a scan reduced to the devices that the entry chooses and that udev has processed. Worker thread;
  // throws, and is serialized, like scan().
  Scan scan_chosen(const HostRoot& host, const AllocationSpec& spec) const;
  // Loop thread, possibly during a scan. Clears a fault that does not end by itself (Device::lasting), or
  // sets one that a former process has found; empty: clears. Effective from the next scan.
  virtual void set_fault(const Device& /*device*/, const std::string& /*fault*/) const {}
  // Loop thread, possibly during a scan. While at rest, the source releases everything that prevents a driver
  // from being replaced, at the latest at the end of that scan; scans then repeat the last result.
  virtual void rest(bool /*at_rest*/) const {}
  // Loop thread, at most once, before the first scan. A source that notices changes by an activity of its own
  // starts it here. The activity calls `request_scan` in the loop, not from within, whenever a scan would
  // have a different result. `programs` must outlive the result, which may be destroyed before or after the
  // source. Returns nullptr if scans and their watches suffice. Without this call, a scan does the activity's
  // work.
  virtual std::unique_ptr<SourceWatch> watch(Programs& /*programs*/,
                                             const std::function<void()>& /*request_scan*/) const {
    return nullptr;
  }
  // Returns the devices that do not depend on the machine, for the check when the configuration is loaded.
  virtual std::vector<Device> fixed_devices() const { return {}; }
  // Returns the rule for the units of one container if ids are units of cards; nullopt otherwise.
  virtual std::optional<SharesOf> units() const { return std::nullopt; }
  // Returns the entry's `assume`, with which a scheduler chooses the card.
  virtual std::optional<AssumeTerms> assume() const { return std::nullopt; }
  // Returns everything that the source's devices may add to a container, on any machine.
  virtual std::vector<std::shared_ptr<const KindSpec>> specs() const { return {}; }
  virtual SandboxNeeds sandbox_needs() const { return {}; }
};

struct Kind {
  std::string_view key;                          // as in KindRow; set by kinds()
  std::span<const std::string_view> attributes;  // attributes of its devices for templates, besides id
  // The template of entries without `id`; empty: the devices' own ids.
  std::string_view default_id;
  // Reads the key's value. Errors are reported to entry.diagnostics(), and the result is then not used.
  std::unique_ptr<const DeviceSource> (*read)(Fields& entry) = nullptr;
  // Returns the attributes that the entry declares, as views into the key's value. Not set if there are none.
  std::vector<std::string_view> (*declared)(const Node& value) = nullptr;
  // Returns the placeholders that only an allocation has, for this value of the key. May be nullptr.
  std::span<const std::string_view> (*of_allocation)(const Node& value) = nullptr;
};

// A row of the table in registry.cpp.
struct KindRow {
  std::string_view key;    // the entry's key: "directory"
  std::string_view lists;  // the key's meaning in docs/configuration.md
  std::string_view file;   // its file in src/kinds
  SandboxNeeds needs;      // the most that one of its sources may need
  Kind (*define)();
};

std::span<const KindRow> kind_rows();
// All kinds, in the order of the rows.
std::span<const Kind> kinds();

}  // namespace plughost
