#pragma once
// A kind of resource: a word in the configuration, what it takes, and how to find its devices.

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
#include "model/device/allocation_spec.hpp"
#include "model/device/device.hpp"

namespace plughost {

class Programs;
class SysDevice;

// A CDI specification that is another program's work.
struct CdiFile {
  std::string name;  // in CDI's directory
  std::string text;
};

// The result of a scan.
struct Scan {
  // Nothing can be told yet, and a scan will be requested when it can: what was known before stands.
  bool undecided = false;
  std::vector<Device> devices;          // in a stable order
  std::vector<WatchedDirectory> watch;  // a change here is a reason to scan again
  std::vector<std::string> remarks;     // what somebody should know, one log line each
  std::vector<std::string> unmatched;   // where the entry's patterns stand that match none of the devices
  std::vector<std::string> subsystems;  // a udev event of one of these is a reason to scan again
  std::vector<std::string> unfinished;  // what udev has not finished with, and is left out until it has
  std::vector<CdiFile> cdi;             // to be written before the devices are offered
  std::string not_yet;                  // why a start has to wait; empty: offer the devices, as they are
  std::chrono::seconds rescan_after{
      0};               // for what the kernel tells by no event; 0: there is nothing of that kind
  NodeNumbers numbers;  // of the nodes that the kernel's device model knows
};

// Returns the path of the device's node, and notes its number in the scan. nullopt: it has no node.
std::optional<std::string> node_of(const SysDevice& device, Scan& scan);
// Notes the device's number for another path of its node, a link. Empty: there is none.
void record_number(const std::string& path, const SysDevice& device, Scan& scan);

// Whether the device, which the scan has come upon, waits for udev, and the scan for that.
bool waits_for_udev(const SysDevice& device, Scan& scan);
// A device that waits for udev for longer is worth a word, and this is it.
inline constexpr std::chrono::seconds kUdevPatience{10};
std::string unfinished_text(const std::string& name);

// Says which hubs, bridges and cards with virtual functions are left out, as the entry names but a vendor.
std::string not_named_text(const std::vector<std::string>& devices);

// What a source keeps running between its scans, to be told of changes. Loop thread only. Destroyed means
// that it runs no more, and calls nobody.
class SourceWatch {
 public:
  virtual ~SourceWatch() = default;
  // Before each scan: calls then, from within or later in the loop, when the scan can begin. For what a scan
  // has to wait for and no thread should; never again before it has called.
  virtual void before_scan(const std::function<void()>& then) { then(); }
};

// What a source does that the sandbox of the unit that comes with plughost keeps from it.
struct SandboxNeeds {
  bool nvml = false;      // it opens the nodes of NVIDIA's cards
  bool programs = false;  // programs of the user's own
  bool users = false;     // which become another user

  bool operator==(const SandboxNeeds&) const = default;
};

// Finds the devices of one entry of the configuration.
class DeviceSource {
 public:
  virtual ~DeviceSource() = default;
  // Worker thread; may block. Never runs twice at once for one source. Throws std::system_error when the
  // machine does not let it scan: what was known before then stands.
  virtual Scan scan(const HostRoot& host) const = 0;
  // Worker thread, after each scan, when those that the entry does not take are out of its devices: what is
  // to be said of the others together, or made of them for this spec. Throws as scan does.
  virtual void finish(Scan& /*taken*/, const AllocationSpec& /*spec*/) const {}
  // A scan of which an entry takes what it chooses, of what udev has finished with. Worker thread, throws and
  // never runs twice as they do.
  Scan scan_chosen(const HostRoot& host, const AllocationSpec& spec) const;
  // Loop thread, while a scan may be under way. Somebody says that what is wrong with a device is over, which
  // the source would not notice by itself (Device::lasting); the next scan that begins goes by that.
  virtual void forgive(const Device& /*device*/) const {}
  // Loop thread, while a scan may be under way. At rest, the source lets go of what keeps a driver from being
  // replaced, at the latest at the end of that scan; scans find what the last one found.
  virtual void rest(bool /*at_rest*/) const {}
  // Loop thread, at most once, before the first scan. For a source that is told of changes by something that
  // it runs itself: begins that, and calls request_scan in the loop, not from within, whenever a scan would
  // find something else. programs outlives what is returned, which is destroyed before or after the source.
  // nullptr: scans, and what they ask to watch, are all there is. A source that nobody watches finds out in
  // the scan.
  virtual std::unique_ptr<SourceWatch> watch(Programs& /*programs*/,
                                             const std::function<void()>& /*request_scan*/) const {
    return nullptr;
  }
  // The devices that do not depend on the machine: they are checked when the configuration is loaded.
  virtual std::vector<Device> fixed_devices() const { return {}; }
  // Where an id is a part of a card: of which cards a container's parts have to be.
  virtual std::optional<SharesOf> units() const { return std::nullopt; }
  // The entry's `assume`: the card is the one that a pod's scheduler has chosen.
  virtual std::optional<AssumeTerms> assume() const { return std::nullopt; }
  // What its devices may bring into a container, whatever the machine has.
  virtual std::vector<std::shared_ptr<const KindSpec>> specs() const { return {}; }
  virtual SandboxNeeds sandbox_needs() const { return {}; }
};

struct Kind {
  std::string_view key;                          // of its KindRow, which sets it
  std::span<const std::string_view> attributes;  // what its devices give to templates, beside id
  // A template for the entries that do not set `id`; empty: the devices' own ids.
  std::string_view default_id;
  // Reads the key's value. Problems are reported to entry.diagnostics(); the result is then not used.
  std::unique_ptr<const DeviceSource> (*read)(Fields& entry) = nullptr;
  // More attributes, which the entry itself declares: views into the key's value. Not set: there are none.
  std::vector<std::string_view> (*declared)(const Node& value) = nullptr;
  // What templates of an allocation may name besides, with this value. Not set: nothing.
  std::span<const std::string_view> (*of_allocation)(const Node& value) = nullptr;
};

// A row of the registry, the table in registry.cpp.
struct KindRow {
  std::string_view key;    // the entry's key: "directory"
  std::string_view lists;  // the key's meaning in docs/configuration.md
  std::string_view file;   // where it is defined, in src/kinds
  SandboxNeeds needs;      // the most that one of its sources may need
  Kind (*define)();
};

std::span<const KindRow> kind_rows();
// The rows' kinds, in their order.
std::span<const Kind> kinds();

}  // namespace plughost
