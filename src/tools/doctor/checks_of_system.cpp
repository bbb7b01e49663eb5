#include <sys/stat.h>

#include <algorithm>
#include <limits>
#include <set>
#include <sstream>

#include "base/text/text.hpp"
#include "host/hardware/machine_files.hpp"
#include "host/services/kubernetes.hpp"
#include "host/services/unit_file.hpp"
#include "tools/doctor/doctor.hpp"
#include "tools/setup/needs.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUnit = "plughost.service";
// Descriptors per resource: a server, a connection, a stream, and a share of the process's own.
constexpr std::uint64_t kDescriptorsEach = 4;
constexpr std::uint64_t kDescriptorsAlways = 64;
// Watches for the directories of entries and their parents.
constexpr std::uint64_t kWatchesWanted = 512;
// 2024-01-01: no node that runs this version can have an earlier clock.
constexpr std::time_t kEarliest = 1'704'067'200;

std::string first_line(const HostRoot& host, const fs::path& file) {
  const std::string text = host.text(file).value_or("");
  return text.substr(0, text.find('\n'));
}

// Returns nullopt if the file is missing or has other content.
std::optional<std::uint64_t> number_of(const HostRoot& host, const fs::path& file) {
  std::istringstream text(first_line(host, file));  // SELinux's booleans are two numbers
  std::uint64_t number = 0;
  return text >> number ? std::optional(number) : std::nullopt;
}

fs::path proc_of(const SeenProcess& process) { return fs::path("/proc") / std::to_string(process.id); }

// Returns the hard limit of "Max open files  1024  524288  files".
std::optional<std::uint64_t> descriptors_of(const HostRoot& host, const SeenProcess& process) {
  const std::string text = host.text(proc_of(process) / "limits").value_or("");
  const std::size_t at = text.find("Max open files");
  if (at == text.npos) return std::nullopt;
  std::istringstream line(text.substr(at));
  std::string word;
  std::string hard;
  line >> word >> word >> word >> word >> hard;
  if (hard == "unlimited") return std::numeric_limits<std::uint64_t>::max();
  return number_in<std::uint64_t>(hard);
}

struct InotifyUse {
  std::uint64_t instances = 0;
  std::uint64_t watches = 0;
};

// Returns the user's inotify instances and watches. /proc/<pid>/fdinfo has a line for each watch.
InotifyUse inotify_use(const HostRoot& host, uid_t user) {
  InotifyUse use;
  for (const SeenProcess& process : processes(host)) {
    struct stat status {};
    if (::stat(host.at(proc_of(process)).c_str(), &status) != 0 || status.st_uid != user) continue;
    host.list(proc_of(process) / "fd", [&](std::string_view fd, FileType) {
      if (host.link_target(proc_of(process) / "fd" / fd) != "anon_inode:inotify") return;
      ++use.instances;
      std::istringstream lines(host.text(proc_of(process) / "fdinfo" / fd, 16u << 20).value_or(""));
      for (std::string line; std::getline(lines, line);) use.watches += line.starts_with("inotify ") ? 1 : 0;
    });
  }
  return use;
}

// Returns the type of "system_u:object_r:container_file_t:s0".
std::string type_of(const std::string& label) {
  std::istringstream parts(label);
  std::string type;
  for (int i = 0; i < 3; ++i) std::getline(parts, type, ':');
  return type;
}

// Returns the unit of the kubelet, as this node's Kubernetes names it or as the running kubelet shows it.
std::vector<std::string> kubelet_units(const HostRoot& host, const Observed& observed) {
  const Kubernetes kubernetes = kubernetes_of(host);
  const auto kubelet = kubernetes.name.empty() ? kubelet_process(host, observed) : std::nullopt;
  return kubelet && !kubelet->unit.empty() ? std::vector{kubelet->unit} : kubernetes.units;
}

}  // namespace

Findings check_systemd(const HostRoot& host, const Observed& observed) {
  if (!host.exists("/run/systemd/system"))
    return {{.level = Level::kNote,
             .where = "/run/systemd/system",
             .what = "systemd does not run this node, or cannot be seen from here",
             .why = "a pod that starts before plughost is registered is rejected",
             .advice = "have your init start plughost before the kubelet, and again if it ends"}};
  const auto unit = unit_file(host, kUnit);
  if (!unit)
    return {{.level = Level::kNote,
             .where = kUnit,
             .what = "there is no such unit",
             .why = "unless plughost runs as a container, nothing starts it after a boot",
             .advice = "install the unit that comes with plughost, and `systemctl enable --now plughost`"}};
  if (unit->masked)
    return {{.level = Level::kProblem,
             .where = unit->path,
             .what = "the unit is masked",
             .why = "it cannot be started at all",
             .advice = "`systemctl unmask plughost`"}};
  Findings found;
  if (!unit->enabled)
    found.push_back({.level = Level::kWarning,
                     .where = unit->path,
                     .what = "the unit is not enabled",
                     .why = "it does not start with the next boot, and the node comes up without its devices",
                     .advice = "`systemctl enable plughost`"});
  const std::vector<std::string> units = kubelet_units(host, observed);
  const std::set<std::string> before = unit->settings.words("Before");
  for (const std::string& each : units) {
    if (each != kUnit && !before.contains(each))
      found.push_back(
          {.level = Level::kWarning,
           .where = unit->path,
           .what = "nothing orders it before " + each + ", which the kubelet runs in",
           .why = "pods that the kubelet admits after a boot, before plughost is registered, are rejected",
           .advice = "`plughost setup` writes it; or `systemctl edit plughost`, with the lines `[Unit]` and "
                     "`Before=" +
                     each + "`"});
  }
  return or_ok(std::move(found), unit->path, "enabled, and it starts before " + joined(units, ", "));
}

Findings check_sandbox(const HostRoot& host, const Observed& observed) {
  const auto unit = unit_file(host, kUnit);
  if (!unit || unit->masked || !observed.config) return {};
  const NodeTerms node{.kubernetes = kubernetes_of(host)};
  Findings found;
  for (const Need& need : unmet(needs_of(*observed.config, node), unit->settings)) {
    // The check `systemd` reports this need.
    if (need.settings.front().key == "Before") continue;
    found.push_back({.level = Level::kWarning,
                     .where = unit->path,
                     .what = "it lacks " + need.settings.back().text() + " for " + need.what,
                     .why = "systemd keeps it from the daemon, and what asks for it fails",
                     .advice = "`plughost setup` writes it, and prints how to apply it"});
  }
  return or_ok(std::move(found), unit->path, "it gives plughost what the configuration needs");
}

Findings check_udevd(const HostRoot& host, const Observed&) {
  constexpr const char* kControl = "/run/udev/control";
  if (host.exists(kControl)) return {{.where = kControl, .what = "udevd runs"}};
  return {
      {.level = Level::kWarning,
       .where = kControl,
       .what = "udevd does not run, or its /run/udev cannot be seen from here",
       .why =
           "links such as /dev/serial/by-id, udev's properties and its rules are missing; plughost receives "
           "the kernel's own events instead",
       .advice = "`systemctl start systemd-udevd`; in a container, mount /run/udev of the host"}};
}

Findings check_selinux(const HostRoot& host, const Observed& observed) {
  const auto enforcing = number_of(host, "/sys/fs/selinux/enforce");
  if (!enforcing) return {{.where = "/sys/fs/selinux", .what = "SELinux is off"}};
  const Level level = *enforcing == 1 ? Level::kWarning : Level::kNote;
  Findings found;
  if (number_of(host, "/sys/fs/selinux/booleans/container_use_devices") == 0u && !observed.links.empty())
    found.push_back(
        {.level = level,
         .where = "container_use_devices",
         .what = "SELinux does not let containers use devices",
         .why = "a container that has the device node gets 'Permission denied' when it opens it, unless "
                "the node's label is one for containers",
         .advice = "`setsebool -P container_use_devices 1`"});
  for (const auto& [path, label] : observed.labels) {
    const std::string type = type_of(label);
    if (type != "unlabeled_t" && type != "default_t" && type != "var_lib_t") continue;
    found.push_back(
        {.level = level,
         .where = path,
         .what = "its label is " + label,
         .why = "no policy for the kubelet or for containers means that type, and device plugins may "
                "be denied",
         .advice = "`restorecon -Rv " + path + "`, with the package container-selinux installed"});
  }
  for (const SeenProcess& daemon : daemons(host)) {
    std::string domain = host.text(proc_of(daemon) / "attr/current").value_or("");
    domain = type_of(domain.substr(0, domain.find_first_of(std::string_view("\0\n", 2))));
    if (domain == "container_t")
      found.push_back(
          {.level = level,
           .where = daemon.text(),
           .what = "plughost runs as container_t",
           .why = "that may neither connect to the kubelet nor make sockets in its directory",
           .advice =
               "in its pod: `securityContext: {seLinuxOptions: {type: container_device_plugin_t, level: "
               "s0}}`, and on the node `semodule -i /usr/share/plughost/selinux/plughost.cil`; "
               "docs/security.md has the reasons"});
  }
  return or_ok(std::move(found), "/sys/fs/selinux",
               *enforcing == 1 ? "SELinux enforces, and does not restrict plughost"
                               : "SELinux is permissive, and would not stand in the way");
}

Findings check_apparmor(const HostRoot& host, const Observed& observed) {
  if (!first_line(host, "/sys/module/apparmor/parameters/enabled").starts_with('Y'))
    return {{.where = "/sys/module/apparmor", .what = "AppArmor is off"}};
  Findings found;
  std::vector<SeenProcess> concerned = daemons(host);
  if (const auto kubelet = kubelet_process(host, observed)) concerned.push_back(*kubelet);
  for (const SeenProcess& process : concerned) {
    std::string profile = first_line(host, proc_of(process) / "attr/apparmor/current");
    if (profile.empty()) profile = first_line(host, proc_of(process) / "attr/current");
    if (!profile.ends_with("(enforce)")) continue;
    found.push_back({.level = Level::kWarning,
                     .where = process.text(),
                     .what = "the AppArmor profile " + profile + " confines it",
                     .why = "it may deny sockets in " + observed.kubelet().directory.string() +
                            ", or a scan of /dev and /sys",
                     .advice =
                         "look for 'apparmor=\"DENIED\"' in `journalctl -k`; allow what is denied in the "
                         "profile, or run it unconfined"});
  }
  return or_ok(std::move(found), "/sys/module/apparmor",
               "AppArmor is on, and confines neither plughost nor the kubelet");
}

Findings check_descriptors(const HostRoot& host, const Observed& observed) {
  const std::vector<SeenProcess> running = daemons(host);
  const auto own = running.empty() ? std::nullopt : descriptors_of(host, running.front());
  const std::uint64_t limit = own.value_or(observed.descriptors);
  const std::string where = own ? running.front().text() : "RLIMIT_NOFILE here";
  const std::uint64_t wanted = kDescriptorsAlways + kDescriptorsEach * observed.devices.snapshots.size();
  if (limit >= wanted) return {{.where = where, .what = "there are enough for " + std::to_string(wanted)}};
  return {{.level = Level::kProblem,
           .where = where,
           .what = "the hard limit is " + std::to_string(limit) + ", and " +
                   std::to_string(observed.devices.snapshots.size()) + " resources may need " +
                   std::to_string(wanted),
           .why = "the last resources cannot be served",
           .advice = "`systemctl edit plughost`, and write the lines `[Service]` and `LimitNOFILE=" +
                     std::to_string(2 * wanted) + "`"}};
}

Findings check_inotify(const HostRoot& host, const Observed& observed) {
  const fs::path directory = "/proc/sys/fs/inotify";
  const auto most_watches = number_of(host, directory / "max_user_watches");
  const auto most_instances = number_of(host, directory / "max_user_instances");
  if (!most_watches || !most_instances) return {};
  const InotifyUse use = inotify_use(host, observed.user);
  Findings found;
  const auto report = [&](const char* setting, std::uint64_t used, std::uint64_t most) {
    found.push_back({.level = Level::kWarning,
                     .where = directory / setting,
                     .what = std::to_string(used) + " of " + std::to_string(most) + " are in use",
                     .why =
                         "what cannot be watched is scanned once a minute only: devices and a kubelet that "
                         "come and go are seen late, or plughost does not start",
                     .advice = "`sysctl fs.inotify." + std::string(setting) + "=" +
                               std::to_string(std::max<std::uint64_t>(2 * most, 8192)) +
                               "`, and the same in a file of /etc/sysctl.d"});
  };
  if (use.watches + kWatchesWanted > *most_watches) report("max_user_watches", use.watches, *most_watches);
  // One more instance is needed, so that plughost can start while the old process ends.
  if (use.instances + 1 > *most_instances) report("max_user_instances", use.instances, *most_instances);
  return or_ok(std::move(found), directory,
               std::to_string(use.watches) + " of " + std::to_string(*most_watches) +
                   " watches in use, and " + std::to_string(use.instances) + " of " +
                   std::to_string(*most_instances) + " instances");
}

Findings check_clock(const HostRoot&, const Observed& observed) {
  if (observed.now < kEarliest)
    return {{.level = Level::kProblem,
             .where = "clock",
             .what = "it says " + std::to_string(observed.now) + " s since 1970, which is long ago",
             .why =
                 "the kubelet's certificates are not valid yet, and the numbers in the names of our sockets, "
                 "which the kubelet must not see twice, begin at the clock's seconds",
             .advice = "set it: `timedatectl set-ntp true`, or see to the machine's battery"}};
  if (!observed.clock_is_set)
    return {{.level = Level::kNote,
             .where = "clock",
             .what = "no time service has synchronised it",
             .why = "times in logs and in the status cannot be compared with other nodes'",
             .advice = "`timedatectl set-ntp true`, or start chrony"}};
  return {{.where = "clock", .what = "a time service keeps it"}};
}

}  // namespace plughost
