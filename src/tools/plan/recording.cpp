#include "tools/plan/recording.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "base/system/files.hpp"
#include "base/text/json.hpp"
#include "base/text/text.hpp"
#include "host/hardware/machine_facts.hpp"
#include "host/hardware/node_labels.hpp"
#include "host/hardware/sysfs.hpp"
#include "model/device/names.hpp"
#include "tools/survey/survey.hpp"

namespace plughost {
namespace {

using File = RecordedTree::File;
using Look = HostRoot::Look;

constexpr int kDeepestInDev = 8;

// `names` has a blank before and after each name.
bool is_one_of(std::string_view names, std::string_view name) {
  return names.find(' ' + std::string(name) + ' ') != std::string_view::npos;
}

// Subsystems whose devices come and go with pods and programs, exist once per processor or unit of memory, or
// are never given to a container.
constexpr std::string_view kOmittedSubsystems =
    " acpi ata_device ata_link ata_port bdi clockevents clocksource container cpu cpuid devcoredump"
    " devlink dmi edac event_source hwmon ieee80211 leds machinecheck mdio_bus memory memory_tiering msr"
    " node nvmem pci_bus pci_express pnp power_supply powercap queues regulator scsi_device scsi_disk"
    " scsi_host thermal vc vtconsole wakeup wmi workqueue xen ";

// Names of block devices that come and go in the same way.
constexpr std::string_view kOmittedBlocks[] = {"loop*", "ram*", "zram*", "dm-*", "nbd*", "rbd*", "drbd*"};
constexpr std::string_view kOmittedTerminals[] = {"tty", "tty[0-9]*", "pty*", "tty[a-ep-z][0-9a-f]"};

// Virtual network interfaces that belong to the machine's own network.
constexpr std::string_view kRecordedVirtualInterfaces[] = {"bond", "vlan"};
constexpr std::string_view kCan = "280";  // ARPHRD_CAN: a bus that the machine's programs share

constexpr std::string_view kOmittedInDev[] = {"pts",       "shm",  "mqueue",    "hugepages*",
                                              "fd",        "vcs*", "tty[0-9]*", "loop[0-9]*",
                                              "ram[0-9]*", "dm-*", "nbd*",      "rbd*"};

constexpr std::string_view kLinks[] = {"device", "driver", "iommu_group", "physfn", "subsystem", "virtfn*"};

// Attributes that identify a device. Reading these attributes causes no action of the driver.
constexpr std::string_view kAttributes =
    " abi_version address bDeviceClass bDeviceProtocol bDeviceSubClass bInterfaceClass bInterfaceNumber"
    " bInterfaceProtocol bInterfaceSubClass bNumConfigurations bNumInterfaces bcdDevice board_id busnum"
    " chip_type class clock_name compatible dev dev_id dev_port device devnum devpath devtype fw_ver"
    " hca_type ibdev id idProduct idVendor identity ifindex index interface label manufacturer max_openers"
    " model modalias name node_desc node_guid node_type number numa_node partition path phys phys_port_id"
    " phys_port_name phys_switch_id port product removable rev revision ro serial speed sriov_numvfs"
    " sriov_totalvfs subsystem_device subsystem_vendor survivability_mode sys_image_guid tpm_version_major"
    " type uevent uniq vendor version wwid ";

// Attributes below the directory of a device.
constexpr std::string_view kDeeperAttributes[] = {"/ports/*/state", "/ports/*/link_layer",
                                                  "/ports/*/gid_attrs/ndevs/*", "/ras/*_err_count"};

constexpr const char* kTexts[] = {
    "/proc/sys/kernel/hostname",   "/proc/sys/kernel/osrelease",   "/proc/device-tree/model",
    "/proc/driver/nvidia/version", "/sys/class/dmi/id/sys_vendor", "/sys/class/dmi/id/product_name",
    "/sys/devices/soc0/family",    "/sys/devices/soc0/machine",    "/etc/nv_tegra_release"};

// Paths that are recorded by name only: for `exists`, and because /run/udev/control shows that udev runs.
constexpr const char* kNames[] = {"/sys/module/*",          "/sys/class/*",      "/sys/bus/*",
                                  "/sys/bus/pci/drivers/*", "/proc/device-tree", "/run/udev/control"};

constexpr std::string_view kUdevDatabase = "/run/udev/data/";
// Content is recorded only for files in these directories.
constexpr std::string_view kTold[] = {"/sys/", "/proc/sys/kernel/", "/proc/driver/nvidia",
                                      "/proc/device-tree/", kUdevDatabase};

template <typename Range>
bool any_matches(const Range& patterns, const std::string& name) {
  return std::ranges::any_of(patterns,
                             [&](std::string_view each) { return matches(std::string(each), name); });
}

// Keeps the identity of a device in an entry of udev's database: links, properties and tags.
std::string without_state(const std::string& entry) {
  std::string kept;
  std::istringstream lines(entry);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("S:") || line.starts_with("E:") || line.starts_with("G:")) kept += line + '\n';
  return kept;
}

class Recorder {
 public:
  // `host` must outlive this object.
  Recorder(const HostRoot& host, const RecordingTerms& terms)
      : host_(host),
        most_devices_(terms.most_devices),
        most_names_(terms.most_names),
        noted_(host.noted([this](Look look, const std::string& path) { noted(look, path); },
                          std::make_shared<const NvmlView>(terms.nvml))) {}

  Recording record(const RecordingTerms& terms) {
    machine_.nvml = terms.nvml;
    machine_.node = host_.node_name();
    for (const char* const path : kTexts) text(path);
    for (const char* const pattern : kNames) names(pattern);
    for (const std::string& path : host_.glob("/proc/driver/nvidia/gpus/*/information").paths) text(path);
    const MachineFacts facts = machine_facts(host_);
    machine_.tree.add("/proc/sys/kernel/arch", {.type = FileType::kRegular, .text = facts.arch + '\n'});
    for (const char* const home : {"/sys/bus", "/sys/class"})
      for (const std::string& name : entries(home)) subsystem(home, name);
    dev("/dev", 0);
    if (terms.config) configuration(*terms.config);
    for (const std::string& pattern : terms.paths) names(pattern);
    if (left_out_ > 0)
      remarks_.push_back("of files that are no hardware " + std::to_string(left_out_) +
                         " are left out: there are more than " + std::to_string(most_names_));
    return {.facts = {.node = facts.hostname,
                      .recorded = terms.now,
                      .machine = std::make_shared<const RecordedMachine>(std::move(machine_))},
            .remarks = std::move(remarks_)};
  }

 private:
  std::vector<std::string> entries(const std::string& directory) const {
    std::vector<std::string> names;
    host_.list(directory, [&names](std::string_view name, FileType) { names.emplace_back(name); });
    std::ranges::sort(names);
    return names;
  }

  bool has(const std::string& path) const {
    return machine_.tree.find(path, LastLink::kKeep).file != nullptr;
  }

  // Records the name and type of a path, and the links on the way.
  void name(const std::string& path) {
    std::string done;
    std::string rest = path;
    for (int links = 0; links <= kMostLinks;) {
      rest.erase(0, std::min(rest.find_first_not_of('/'), rest.size()));
      const std::string component = rest.substr(0, rest.find('/'));
      rest.erase(0, component.size());
      if (component.empty()) return;
      if (component == ".") continue;
      if (component == "..") {
        done.resize(done.empty() ? 0 : done.rfind('/'));
        continue;
      }
      const std::string here = done + '/' + component;
      const FileType type = host_.own_type(here);
      if (type == FileType::kNothing) return;
      if (!has(here)) add(here, type);
      if (type == FileType::kLink) {
        const std::string target = host_.link_target(here).value_or("");
        if (target.starts_with('/')) done.clear();
        rest.insert(0, target + '/');
        ++links;
      } else if (type == FileType::kDirectory) {
        done = here;
      } else {
        return;
      }
    }
  }

  void add(const std::string& path, FileType type) {
    File file{.type = type};
    if (type == FileType::kLink) file.text = host_.link_target(path);
    if (is_device_node(type)) file.text = host_.device_number(path);
    machine_.tree.add(path, std::move(file));
  }

  void names(const std::string& pattern) {
    for (const std::string& path : host_.glob(pattern).paths) name(path);
  }

  // Records a file with its content.
  void text(const std::string& path) {
    name(path);
    const auto place = host_.canonical(path);
    if (!place || host_.type(path) != FileType::kRegular) return;
    std::optional<std::string> content = host_.text(path);
    const bool is_udevs = path.starts_with(kUdevDatabase);  // its existence shows that udev has finished
    if (content && is_udevs) content = without_state(*content);
    const bool told = content && content->size() <= kMostRecordedText && valid_utf8(*content);
    if (told || is_udevs)
      machine_.tree.add(*place, {.type = FileType::kRegular, .text = told ? content : ""});
  }

  void subsystem(const std::string& home, const std::string& name) {
    if (is_one_of(kOmittedSubsystems, name)) return;
    const std::string directory = home + '/' + name + (home == "/sys/bus" ? "/devices" : "");
    std::size_t count = 0;
    for (const std::string& each : entries(directory)) {
      const std::string path = directory + '/' + each;
      const auto place = host_.canonical(path);
      if (!place || host_.type(*place) != FileType::kDirectory || is_omitted(name, each, *place)) continue;
      if (++count > most_devices_) continue;
      this->name(path);
      device(*place);
    }
    if (count > most_devices_)
      remarks_.push_back("of " + std::to_string(count) + " devices in " + directory + " the first " +
                         std::to_string(most_devices_) + " are recorded");
  }

  bool is_omitted(const std::string& subsystem, const std::string& name, const std::string& path) const {
    if (subsystem == "tty") return any_matches(kOmittedTerminals, name);
    if (subsystem == "block") return any_matches(kOmittedBlocks, name) || host_.exists(path + "/partition");
    if (subsystem != "net" || path.find("/virtual/") == std::string::npos) return false;
    const auto device = SysDevice::at(host_, path);
    return !device || (device->attribute("type") != kCan &&
                       std::ranges::find(kRecordedVirtualInterfaces, device->property("DEVTYPE")) ==
                           std::end(kRecordedVirtualInterfaces));
  }

  // Records the device, its parents and udev's entry. `path` must be free of links.
  void device(const std::string& path) {
    if (!path.starts_with("/sys/") || !devices_.insert(path).second) return;
    name(path);
    host_.list(path, [&](std::string_view each, FileType type) {
      const std::string below = path + '/' + std::string(each);
      if (type == FileType::kLink && any_matches(kLinks, std::string(each)))
        add(below, type);
      else if (type == FileType::kRegular && is_one_of(kAttributes, each))
        text(below);
    });
    for (const std::string_view pattern : kDeeperAttributes) {
      const std::string first = path + std::string(pattern.substr(0, pattern.find('/', 1)));
      if (!host_.exists(first)) continue;
      for (const std::string& each :
           host_.glob(first + std::string(pattern.substr(pattern.find('/', 1)))).paths)
        text(each);
    }
    // SysDevice knows which entry of udev's database belongs to the device.
    if (const auto seen = SysDevice::at(noted_, path)) {
      seen->properties();
      take_noted();
      // SysDevice::behind() finds the device of a node by its number.
      if (const std::string number = seen->node_number(); !number.empty())
        name((number.starts_with('b') ? "/sys/dev/block/" : "/sys/dev/char/") + number.substr(1));
      if (const auto parent = seen->parent()) device(parent->path());
      take_noted();
    }
  }

  void dev(const std::string& directory, int depth) {
    for (const std::string& each : entries(directory)) {
      if (depth == 0 && any_matches(kOmittedInDev, each)) continue;
      const std::string path = directory + '/' + each;
      const FileType type = host_.own_type(path);
      if (type == FileType::kNothing || !counts(path)) continue;
      add(path, type);
      if (type == FileType::kDirectory && depth < kDeepestInDev) dev(path, depth + 1);
    }
  }

  // Records what the configuration reads on this node. The configuration's programs are not run.
  void configuration(const Config& config) {
    survey(config, noted_);
    take_noted();
    for (const ResourceConfig& entry : config.resources) {
      for (const auto& condition : entry.when)
        for (const std::string& pattern : condition->paths()) names(pattern);
    }
    if (!config.node_labels.empty()) labels(config.node_labels);
  }

  // Records the labels, without other content of the file.
  void labels(const std::string& file) {
    name(file);
    const auto place = host_.canonical(file);
    const NodeLabels labels = read_node_labels(host_, file);
    if (!place || !labels.error.empty()) return;
    const Json json{{"metadata", Json{{"name", labels.node}, {"labels", labels.labels}}}};
    machine_.tree.add(*place, {.type = FileType::kRegular, .text = json.dump()});
  }

  void noted(Look look, const std::string& path) {
    Look& greatest = noted_paths_.try_emplace(path, look).first->second;
    greatest = std::max(greatest, look);
  }

  void take_noted() {
    const std::map<std::string, Look> all = std::exchange(noted_paths_, {});
    for (const auto& each : all) take(each.first, each.second);
  }

  void take(const std::string& path, Look look) {
    const bool told =
        std::ranges::any_of(kTold, [&](std::string_view each) { return path.starts_with(each); });
    if (look == Look::kText && told)
      text(path);
    else if (counts(path))
      name(path);
    if (look != Look::kEntries) return;
    for (const std::string& each : entries(path)) {
      const std::string below = path + (path == "/" ? "" : "/") + each;
      // A device has many attributes; the relevant ones are recorded by name.
      const bool attribute = path.starts_with("/sys/") && host_.own_type(below) == FileType::kRegular;
      if (!attribute && counts(below)) name(below);
    }
  }

  // Returns true if one more name may be recorded.
  bool counts(const std::string& path) {
    if (path.starts_with("/sys/") || path.starts_with("/proc/") || has(path)) return true;
    const bool room = names_ < most_names_;
    ++(room ? names_ : left_out_);
    return room;
  }

  const HostRoot& host_;
  const std::size_t most_devices_;
  const std::size_t most_names_;
  RecordedMachine machine_;
  std::vector<std::string> remarks_;
  std::set<std::string> devices_;  // recorded devices
  std::map<std::string, Look> noted_paths_;
  std::size_t names_ = 0;
  std::size_t left_out_ = 0;
  HostRoot noted_;  // the same machine; all reads are recorded in noted_paths_
};

}  // namespace

Recording record(const HostRoot& host, const RecordingTerms& terms) {
  return Recorder(host, terms).record(terms);
}

}  // namespace plughost
