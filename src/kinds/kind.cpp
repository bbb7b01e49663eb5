#include "kinds/kind.hpp"

#include <algorithm>

#include "base/text/text.hpp"
#include "host/hardware/sysfs.hpp"

namespace plughost {
namespace {

// Leaves out devices that wait for udev: a container would keep the kernel's mode and name of the node.
void leave_out_unfinished(const HostRoot& host, Scan& scan) {
  if (!udevd_runs(host)) return;
  const auto waits = [&](const DeviceNode& node) {
    if (!node.host_path.starts_with("/dev/")) return false;
    const auto device = SysDevice::behind(host, node.host_path);
    return device && waits_for_udev(*device, scan);
  };
  std::erase_if(scan.devices, [&](const Device& device) { return std::ranges::any_of(device.nodes, waits); });
}

}  // namespace

void record_number(const std::string& path, const SysDevice& device, Scan& scan) {
  std::string number = device.node_number();
  if (!path.empty() && !number.empty()) scan.numbers[path] = std::move(number);
}

std::optional<std::string> node_of(const SysDevice& device, Scan& scan) {
  std::optional<std::string> node = device.node();
  record_number(node.value_or(""), device, scan);
  return node;
}

bool waits_for_udev(const SysDevice& device, Scan& scan) {
  if (device.finished()) return false;
  scan.unfinished.push_back(device.node().value_or(device.name()));
  scan.watch.push_back(device.finishes_at());
  return true;
}

std::string unfinished_text(const std::string& name) {
  return name + " is not listed before udev has processed it: `udevadm settle` waits until it has; " +
         "for what came before udevd ran, `udevadm trigger` (systemd-udev-trigger.service) begins it";
}

std::vector<std::string> read_subsystems(Fields& fields, std::string_view key, const std::string& what) {
  std::vector<std::string> subsystems = fields.texts(key);
  for (const std::string& each : subsystems) {
    if (each.empty() || each.find('/') != std::string::npos) fields.error(key, what);
  }
  return subsystems;
}

std::string not_named_text(const std::vector<std::string>& devices) {
  return "not listed, because a container with it would also have the devices behind it: " +
         joined(devices, ", ") + "; to list it, name it more exactly, as by its product";
}

Scan DeviceSource::scan_chosen(const HostRoot& host, const AllocationSpec& spec) const {
  Scan taken = scan(host);
  Funnel choice{.selector = "only, except", .candidates = "device", .seen = taken.devices.size()};
  Chosen chosen = choose(spec.choice, taken.devices);
  taken.unmatched = std::move(chosen.unmatched);
  if (!chosen.not_named.empty()) taken.remarks.push_back(not_named_text(chosen.not_named));
  choice.left_out = {
      {"`only` does not select it", chosen.not_in_only},
      {"`except` excludes it", chosen.excepted},
      {"other devices are behind it, and the entry does not name it", chosen.not_named.size()}};
  const std::size_t before = taken.devices.size();
  leave_out_unfinished(host, taken);
  choice.left_out.push_back({std::string(kWaitsForUdev), before - taken.devices.size()});
  std::erase_if(choice.left_out, [](const Funnel::Rule& rule) { return rule.count == 0; });
  if (!choice.left_out.empty()) taken.funnels.push_back(std::move(choice));
  if (!taken.unfinished.empty() && taken.rescan_after == std::chrono::seconds(0))
    taken.rescan_after = kUdevPatience;
  finish(taken, spec);
  return taken;
}

}  // namespace plughost
