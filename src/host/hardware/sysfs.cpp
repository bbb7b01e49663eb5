#include "host/hardware/sysfs.hpp"

#include <algorithm>
#include <mutex>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "base/text/text.hpp"

namespace plughost {
namespace {

using Properties = std::map<std::string, std::string, std::less<>>;

constexpr int kDeepestTree = 32;
const std::string kDatabase = "/run/udev/data";

std::string_view last_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Returns the file name of a link's target; empty if the path is not a link.
std::string link_name(const HostRoot& host, const std::string& path) {
  return std::string(last_name(host.link_target(path).value_or("")));
}

// Parses lines "KEY=value".
void read_properties(std::string_view text, Properties& into) {
  for (const std::string_view line : split(text, '\n')) {
    if (const std::size_t equals = line.find('='); equals != line.npos)
      into.insert_or_assign(std::string(line.substr(0, equals)), std::string(line.substr(equals + 1)));
  }
}

}  // namespace

struct SysDevice::Facts {
  std::string subsystem;
  Properties properties;
  std::optional<std::string> node;
  std::vector<std::string> links;
  std::vector<std::string> tags;
  std::string id;  // the key in udev's database: "c188:0"
  bool in_database = false;
};

// The cache. Guarded by the mutex.
struct SysfsMemory {
  std::mutex mutex;
  std::unordered_map<std::string, std::shared_ptr<const SysDevice::Facts>> facts;  // by path
  std::map<std::string, std::vector<std::string>, std::less<>> devices;            // paths by subsystem
};

bool udevd_runs(const HostRoot& host) { return host.exists("/run/udev/control"); }

std::shared_ptr<SysfsMemory> make_sysfs_memory() { return std::make_shared<SysfsMemory>(); }

std::optional<SysDevice> SysDevice::at(const HostRoot& host, const std::string& path) {
  std::optional<std::string> found = host.canonical(path);
  return found ? std::optional(SysDevice(host, *std::move(found))) : std::nullopt;
}

std::optional<SysDevice> SysDevice::behind(const HostRoot& host, const std::string& path) {
  const std::optional<std::string> number = host.device_number(path);
  if (!number) return std::nullopt;
  return at(host, (host.type(path) == FileType::kBlock ? "/sys/dev/block/" : "/sys/dev/char/") + *number);
}

std::string SysDevice::name() const {
  std::string name(last_name(path_));
  std::ranges::replace(name, '!', '/');  // as in cciss!c0d0
  return name;
}

std::string SysDevice::subsystem() const {
  if (host_->sysfs_memory()) return facts().subsystem;
  return link_name(*host_, path_ + "/subsystem");
}

std::string SysDevice::driver() const { return link_name(*host_, path_ + "/driver"); }

std::optional<std::string> SysDevice::attribute(std::string_view name) const {
  std::string path = path_;
  path.append(1, '/').append(name);
  if (const auto target = host_->link_target(path)) return std::string(last_name(*target));
  std::optional<std::string> text = host_->text(path);
  if (text && text->ends_with('\n')) text->pop_back();
  return text;
}

std::vector<std::string> SysDevice::names_in(std::string_view directory) const {
  std::vector<std::string> names;
  host_->list(path_ + '/' + std::string(directory),
              [&](std::string_view name, FileType /*type*/) { names.emplace_back(name); });
  std::ranges::sort(names);
  return names;
}

const SysDevice::Facts& SysDevice::facts() const {
  if (facts_) return *facts_;
  SysfsMemory* const memory = host_->sysfs_memory();
  if (memory) {
    const std::lock_guard lock(memory->mutex);
    if ((facts_ = memory->facts[path_])) return *facts_;
  }
  const auto facts = std::make_shared<Facts>();
  Properties& known = facts->properties;
  read_properties(attribute("uevent").value_or(""), known);
  const std::string of = facts->subsystem = link_name(*host_, path_ + "/subsystem");
  if (const auto name = known.find("DEVNAME"); name != known.end()) {
    if (!name->second.starts_with('/')) name->second.insert(0, "/dev/");
    facts->node = name->second;
  }
  if (path_.starts_with("/sys/")) known["DEVPATH"] = path_.substr(4);
  known["SUBSYSTEM"] = of;

  std::string& id = facts->id = "+" + of + ":" + std::string(last_name(path_));
  if (known.contains("MAJOR") && known.contains("MINOR"))
    id = (of == "block" ? "b" : "c") + known["MAJOR"] + ":" + known["MINOR"];
  else if (of == "net" && known.contains("IFINDEX"))
    id = "n" + known["IFINDEX"];
  Properties from_rules;
  const std::optional<std::string> entry = host_->text(kDatabase + '/' + id);
  facts->in_database = entry.has_value();
  for (const std::string_view line : split(entry ? *entry : std::string_view(), '\n')) {
    if (line.size() < 2 || line[1] != ':') continue;
    const std::string value(line.substr(2));
    if (line[0] == 'E') read_properties(value, from_rules);
    if (line[0] == 'S') facts->links.push_back("/dev/" + value);
    // All tags ever set: Q has the present tags, but old udevs write only G.
    if (line[0] == 'G') facts->tags.push_back(value);
  }
  known.merge(from_rules);
  std::ranges::sort(facts->links);
  std::ranges::sort(facts->tags);
  facts_ = facts;
  if (memory) {
    const std::lock_guard lock(memory->mutex);
    memory->facts[path_] = facts_;
  }
  return *facts_;
}

const Properties& SysDevice::properties() const { return facts().properties; }

std::string SysDevice::property(std::string_view name) const {
  const Properties& all = properties();
  const auto found = all.find(name);
  return found == all.end() ? "" : found->second;
}

std::optional<std::string> SysDevice::node() const { return facts().node; }

std::string SysDevice::node_number() const {
  return facts().node && !facts().id.starts_with('+') ? facts().id : "";
}

const std::vector<std::string>& SysDevice::links() const { return facts().links; }

bool SysDevice::finished() const {
  return facts().in_database || facts().id.starts_with('+') || !udevd_runs(*host_);
}

WatchedDirectory SysDevice::finishes_at() const { return {.path = kDatabase, .name = facts().id}; }

const std::vector<std::string>& SysDevice::tags() const { return facts().tags; }

std::optional<int> SysDevice::numa_node() const {
  for (std::optional<SysDevice> device = *this; device; device = device->parent()) {
    const std::optional<std::string> text = device->attribute("numa_node");
    if (!text) continue;
    const auto node = number_in<int>(*text);
    return node && *node >= 0 ? node : std::nullopt;
  }
  return std::nullopt;
}

std::optional<SysDevice> SysDevice::parent() const {
  for (std::string path = path_.substr(0, path_.rfind('/')); !path.empty(); path.resize(path.rfind('/'))) {
    if (host_->exists(path + "/uevent")) return SysDevice(*host_, std::move(path));
  }
  return std::nullopt;
}

std::optional<SysDevice> SysDevice::parent(std::string_view subsystem, std::string_view type) const {
  std::optional<SysDevice> device = parent();
  while (device &&
         (device->subsystem() != subsystem || (!type.empty() && device->property("DEVTYPE") != type)))
    device = device->parent();
  return device;
}

std::optional<SysDevice> SysDevice::linked(std::string_view name) const {
  return at(*host_, path_ + '/' + std::string(name));
}

std::vector<SysDevice> SysDevice::below(std::string_view subsystem) const {
  const std::string own_subsystem = this->subsystem();
  const std::string own_type = property("DEVTYPE");
  std::vector<SysDevice> found;
  std::vector<std::pair<std::string, int>> pending{{path_, 0}};
  while (!pending.empty()) {
    const auto [directory, depth] = std::move(pending.back());
    pending.pop_back();
    std::vector<std::string> names;
    host_->list(directory, [&names](std::string_view name, FileType type) {
      if (type == FileType::kDirectory) names.emplace_back(name);
    });
    for (const std::string& name : names) {
      const SysDevice child(*host_, directory + '/' + name);
      const std::string of = child.subsystem();
      if (subsystem.empty() ? !of.empty() : of == subsystem) found.push_back(child);
      const bool of_own_kind = !of.empty() && of == own_subsystem && child.property("DEVTYPE") == own_type;
      if (!of_own_kind && depth < kDeepestTree) pending.emplace_back(child.path(), depth + 1);
    }
  }
  std::ranges::sort(found, {}, &SysDevice::path);
  return found;
}

bool is_usb_hub(const SysDevice& device) { return device.attribute("bDeviceClass") == "09"; }

std::vector<SysDevice> devices_of(const HostRoot& host, std::string_view subsystem) {
  std::vector<SysDevice> devices;
  SysfsMemory* const memory = host.sysfs_memory();
  if (memory) {
    const std::lock_guard lock(memory->mutex);
    if (const auto known = memory->devices.find(subsystem); known != memory->devices.end()) {
      for (const std::string& path : known->second) devices.push_back(SysDevice(host, path));
      return devices;
    }
  }
  std::string directory = "/sys/bus/" + std::string(subsystem) + "/devices";
  if (!host.exists(directory)) directory = "/sys/class/" + std::string(subsystem);
  if (!host.exists(directory)) return devices;
  std::vector<std::string> names;
  const std::error_code failed =
      host.list(directory, [&names](std::string_view name, FileType) { names.emplace_back(name); });
  if (failed) throw std::system_error(failed, directory + " cannot be listed");
  std::ranges::sort(names);
  for (const std::string& name : names) {
    // A file such as version in /sys/class/drm is not a device. A dangling link belongs to a device that is
    // disappearing.
    std::optional<SysDevice> device = SysDevice::at(host, directory + '/' + name);
    if (device && host.type(device->path()) == FileType::kDirectory) devices.push_back(*std::move(device));
  }
  if (!memory) return devices;
  const std::lock_guard lock(memory->mutex);
  std::vector<std::string>& paths = memory->devices[std::string(subsystem)];
  paths.clear();
  for (const SysDevice& device : devices) paths.push_back(device.path());
  return devices;
}

}  // namespace plughost
