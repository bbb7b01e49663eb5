#include "host/sysfs.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <system_error>

#include "host/file_text.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;

using Properties = std::map<std::string, std::string, std::less<>>;

constexpr int kDeepestTree = 32;

// The file name of a link's target; empty: it is no link.
std::string link_name(const HostRoot& host, const fs::path& path) {
  std::error_code failed;
  return fs::read_symlink(host.at(path), failed).filename();
}

// Lines of "KEY=value".
void read_properties(std::string_view text, Properties& into) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (const std::size_t equals = line.find('='); equals != line.npos)
      into.insert_or_assign(std::string(line.substr(0, equals)), std::string(line.substr(equals + 1)));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
}

}  // namespace

struct SysDevice::Facts {
  Properties properties;
  std::optional<std::string> node;
  std::vector<std::string> links;
  std::vector<std::string> tags;
};

std::optional<SysDevice> SysDevice::at(const HostRoot& host, const fs::path& path) {
  std::error_code failed;
  const fs::path found = fs::canonical(host.at(path), failed);
  if (failed) return std::nullopt;
  const fs::path below = found.lexically_relative(fs::canonical(host.at("/"), failed));
  if (below.empty() || *below.begin() == "..") return std::nullopt;
  return SysDevice(host, "/" + below.string());
}

std::string SysDevice::name() const {
  std::string name = fs::path(path_).filename();
  std::ranges::replace(name, '!', '/');  // as in cciss!c0d0
  return name;
}

std::string SysDevice::subsystem() const {
  return link_name(*host_, fs::path(path_) / "subsystem");
}

std::string SysDevice::driver() const {
  return link_name(*host_, fs::path(path_) / "driver");
}

std::optional<std::string> SysDevice::attribute(std::string_view name) const {
  const fs::path path = fs::path(path_) / name;
  std::error_code failed;
  if (fs::is_symlink(host_->at(path), failed)) return link_name(*host_, path);
  std::optional<std::string> text = file_text(host_->at(path));
  if (text && text->ends_with('\n')) text->pop_back();
  return text;
}

const SysDevice::Facts& SysDevice::facts() const {
  if (facts_) return *facts_;
  const auto facts = std::make_shared<Facts>();
  Properties& known = facts->properties;
  read_properties(attribute("uevent").value_or(""), known);
  const std::string of = subsystem();
  if (const auto name = known.find("DEVNAME"); name != known.end()) {
    if (!name->second.starts_with('/')) name->second.insert(0, "/dev/");
    facts->node = name->second;
  }
  if (path_.starts_with("/sys/")) known["DEVPATH"] = path_.substr(4);
  known["SUBSYSTEM"] = of;

  std::string id = "+" + of + ":" + fs::path(path_).filename().string();
  if (known.contains("MAJOR") && known.contains("MINOR"))
    id = (of == "block" ? "b" : "c") + known["MAJOR"] + ":" + known["MINOR"];
  else if (of == "net" && known.contains("IFINDEX"))
    id = "n" + known["IFINDEX"];
  Properties from_rules;
  std::ifstream database(host_->at(fs::path("/run/udev/data") / id));
  for (std::string line; std::getline(database, line);) {
    if (line.size() < 2 || line[1] != ':') continue;
    const std::string value = line.substr(2);
    switch (line[0]) {
      case 'E':
        read_properties(value, from_rules);
        break;
      case 'S':
        facts->links.push_back("/dev/" + value);
        break;
      case 'G':  // tags that it ever had: Q are those of now, but old udevs wrote only these
        facts->tags.push_back(value);
        break;
      default:
        break;
    }
  }
  known.merge(from_rules);
  std::ranges::sort(facts->links);
  std::ranges::sort(facts->tags);
  facts_ = facts;
  return *facts_;
}

const Properties& SysDevice::properties() const {
  return facts().properties;
}

std::string SysDevice::property(std::string_view name) const {
  const Properties& all = properties();
  const auto found = all.find(name);
  return found == all.end() ? "" : found->second;
}

std::optional<std::string> SysDevice::node() const {
  return facts().node;
}

const std::vector<std::string>& SysDevice::links() const {
  return facts().links;
}

const std::vector<std::string>& SysDevice::tags() const {
  return facts().tags;
}

std::optional<int> SysDevice::numa_node() const {
  for (std::optional<SysDevice> device = *this; device; device = device->parent()) {
    const std::optional<std::string> text = device->attribute("numa_node");
    if (!text) continue;
    int node = -1;
    std::from_chars(text->data(), text->data() + text->size(), node);
    return node < 0 ? std::nullopt : std::optional(node);
  }
  return std::nullopt;
}

std::optional<SysDevice> SysDevice::parent() const {
  for (fs::path path = fs::path(path_).parent_path(); path.has_relative_path(); path = path.parent_path()) {
    std::error_code failed;
    if (fs::exists(host_->at(path / "uevent"), failed)) return SysDevice(*host_, path);
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

std::vector<SysDevice> SysDevice::below(std::string_view subsystem) const {
  const std::string own_subsystem = this->subsystem();
  const std::string own_type = property("DEVTYPE");
  std::vector<SysDevice> found;
  std::vector<std::pair<fs::path, int>> pending{{path_, 0}};
  while (!pending.empty()) {
    const auto [directory, depth] = pending.back();
    pending.pop_back();
    std::error_code failed;
    for (fs::directory_iterator entry(host_->at(directory), failed);
         !failed && entry != fs::directory_iterator(); entry.increment(failed)) {
      std::error_code unreadable;
      if (entry->is_symlink(unreadable) || !entry->is_directory(unreadable)) continue;
      const SysDevice child(*host_, directory / entry->path().filename());
      const std::string of = child.subsystem();
      if (subsystem.empty() ? !of.empty() : of == subsystem) found.push_back(child);
      const bool of_own_kind = !of.empty() && of == own_subsystem && child.property("DEVTYPE") == own_type;
      if (!of_own_kind && depth < kDeepestTree) pending.emplace_back(child.path(), depth + 1);
    }
  }
  std::ranges::sort(found, {}, &SysDevice::path);
  return found;
}

std::vector<SysDevice> devices_of(const HostRoot& host, std::string_view subsystem) {
  std::vector<SysDevice> devices;
  fs::path directory = fs::path("/sys/bus") / subsystem / "devices";
  std::error_code failed;
  if (!fs::exists(host.at(directory), failed)) directory = fs::path("/sys/class") / subsystem;
  if (!fs::exists(host.at(directory), failed)) return devices;
  std::vector<std::string> names;
  for (fs::directory_iterator entry(host.at(directory), failed); !failed && entry != fs::directory_iterator();
       entry.increment(failed))
    names.push_back(entry->path().filename());
  if (failed) throw std::system_error(failed, directory.string() + " cannot be listed");
  std::ranges::sort(names);
  for (const std::string& name : names) {
    // A file such as version in /sys/class/drm is no device; a dangling link is one that goes just now.
    if (std::optional<SysDevice> device = SysDevice::at(host, directory / name);
        device && fs::is_directory(host.at(device->path()), failed))
      devices.push_back(*std::move(device));
  }
  return devices;
}

}  // namespace plughost
