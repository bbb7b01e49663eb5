#include "tools/doctor/doctor.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/timex.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <exception>
#include <sstream>
#include <system_error>
#include <utility>

#include "base/system/unix_socket.hpp"
#include "base/text/words.hpp"
#include "host/programs/subprocess.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kVersionDeadline{5};

// Returns the owner of the socket; nullopt if no socket exists.
std::optional<SocketOwner> owner_of(const fs::path& socket) {
  std::error_code failed;
  if (!fs::is_socket(socket, failed)) return std::nullopt;
  try {
    return SocketOwner{SocketOwner::State::kListens, listening_process(socket)};
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::connection_refused) return SocketOwner{SocketOwner::State::kNobody};
    // A process listens, but its queue of connections is full.
    if (error.code() == std::errc::resource_unavailable_try_again)
      return SocketOwner{SocketOwner::State::kListens};
    return SocketOwner{};
  }
}

void observe_sockets(const HostRoot& host, Observed& observed) {
  const KubeletConfig& kubelet = observed.kubelet();
  const auto look = [&](const std::string& path) {
    if (const auto owner = owner_of(host.at(path))) observed.sockets[path] = *owner;
  };
  look(kubelet.pod_resources);
  look(observed.control());
  for (const fs::path& directory : {kubelet.directory, kubelet.plugins_registry})
    host.list(directory, [&](std::string_view name, FileType) { look(directory / name); });
}

// Returns the number of connections to each socket, by the file's name, in the process's network namespace.
std::optional<std::map<std::string, std::size_t>> connections_of(const HostRoot& host, pid_t process) {
  constexpr std::size_t kMostBytes = 16u << 20;
  const auto table = host.text("/proc/" + std::to_string(process) + "/net/unix", kMostBytes);
  if (!table) return std::nullopt;
  std::map<std::string, std::size_t> connections;
  std::istringstream lines(*table);
  for (std::string line; std::getline(lines, line);) {
    // "0000000045d08892: 00000003 00000000 00000000 0001 03   559 /run/x.sock", 03: connected
    std::istringstream words(line);
    std::string other, state, path;
    words >> other >> other >> other >> other >> other >> state >> other >> path;
    if (state == "03") ++connections[fs::path(path).filename()];
  }
  return connections;
}

// Call it last: the listeners have noticed by then that our own connections have ended.
void observe_connections(const HostRoot& host, Observed& observed) {
  std::map<pid_t, std::optional<std::map<std::string, std::size_t>>> known;  // a process has many sockets
  for (auto& [path, owner] : observed.sockets) {
    if (owner.process == 0) continue;
    const auto [found, is_new] = known.try_emplace(owner.process);
    if (is_new) found->second = connections_of(host, owner.process);
    if (found->second) owner.connections = (*found->second)[fs::path(path).filename()];
  }
}

// Runs only programs that are known to print their version.
std::string version_of(const SeenProcess& process) {
  if (process.name() != "kubelet" && process.name() != "k3s") return {};
  const std::string program = "/proc/" + std::to_string(process.id) + "/exe";
  const Ending ending = run_program({.command = {program, "--version"}, .timeout = kVersionDeadline});
  if (ending.how != Ending::How::kExited || ending.number != 0) return {};
  return ending.output.substr(0, ending.output.find('\n'));
}

// Returns mode and owner, "660 0:20"; empty if everyone may open the node, or if the node is missing.
std::string who_may_open(const HostRoot& host, const std::string& node) {
  constexpr mode_t kEverybody = S_IROTH | S_IWOTH;
  struct stat status {};
  if (::stat(host.at(node).c_str(), &status) != 0 || (status.st_mode & kEverybody) == kEverybody) return {};
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%03o %u:%u", static_cast<unsigned>(status.st_mode & 0777),
                status.st_uid, status.st_gid);
  return text.data();
}

void observe_devices(const HostRoot& host, Observed& observed) {
  observed.devices = survey(*observed.config, host);
  for (const ResourceSnapshot& snapshot : observed.devices.snapshots) {
    for (const Device& device : snapshot.inventory.devices()) {
      for (const DeviceNode& node : device.nodes) {
        const bool block = host.type(node.host_path) == FileType::kBlock;
        if (const auto number = host.device_number(node.host_path))
          observed.links[node.host_path] = (block ? "/dev/block/" : "/dev/char/") + *number;
        // A runtime creates a node of CDI with the container's user as owner.
        const bool by_cdi = terms_of(device, *snapshot.spec).cdi != CdiNames::kNone;
        std::string who = by_cdi ? "" : who_may_open(host, node.host_path);
        if (!who.empty()) observed.closed_nodes[node.host_path] = std::move(who);
      }
    }
  }
}

std::optional<Allocatable::Ids> counted_by(const fs::path& pod_resources) {
  EventLoop loop;
  Allocatable allocatable(loop, pod_resources);
  std::optional<Allocatable::Count> told;
  allocatable.query([&](const Allocatable::Count& count) {
    told = count;
    loop.stop();
  });
  if (!told) loop.run();
  return told->ids ? std::optional(*told->ids) : std::nullopt;
}

void observe_labels(const HostRoot& host, Observed& observed) {
  const KubeletConfig& kubelet = observed.kubelet();
  for (const fs::path& path : {kubelet.directory, kubelet.directory / "kubelet.sock"}) {
    std::array<char, 256> label{};
    const ssize_t size =
        ::getxattr(host.at(path).c_str(), "security.selinux", label.data(), label.size() - 1);
    if (size > 0) observed.labels[path] = label.data();
  }
}

}  // namespace

const KubeletConfig& Observed::kubelet() const {
  static const KubeletConfig defaults;
  return config ? config->kubelet : defaults;
}

std::string Observed::control() const { return config ? config->telemetry.control.string() : kControlSocket; }

std::optional<SeenProcess> kubelet_process(const HostRoot& host, const Observed& observed) {
  const auto owner = observed.sockets.find(observed.kubelet().directory / "kubelet.sock");
  if (owner == observed.sockets.end() || owner->second.process == 0) return std::nullopt;
  return process_of(host, owner->second.process);
}

std::vector<SeenProcess> daemons(const HostRoot& host) {
  std::vector<SeenProcess> all = processes(host);
  std::erase_if(all, [](const SeenProcess& process) {
    return process.name() != "plughost" || process.arguments.size() < 2 || process.arguments[1] != "run";
  });
  return all;
}

namespace {

// Returns true if a user other than root and the user of this process may write the file or directory.
bool is_writable_by_others(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || (status.st_mode & S_ISVTX) != 0) return false;
  return (status.st_mode & S_IWOTH) != 0 || ((status.st_mode & S_IWGRP) != 0 && status.st_gid != 0) ||
         (status.st_uid != 0 && status.st_uid != ::geteuid());
}

void observe_modes(Observed& observed) {
  std::set<std::string> writable;
  for (const fs::path& file : observed.config->files.paths)
    for (const fs::path& path : {file, fs::absolute(file).parent_path()})
      if (is_writable_by_others(path)) writable.insert(path);
  observed.writable_files = {writable.begin(), writable.end()};
}

}  // namespace

Observed observe(const HostRoot& host, const fs::path& configuration) {
  Observed observed{.file = configuration, .user = ::geteuid(), .now = ::time(nullptr)};
  try {
    observed.config = load_config(configuration);
    observed.config->kubelet.directory = kubelet_directory(observed.config->kubelet, host);
    observe_modes(observed);
    observe_devices(host, observed);
  } catch (const ConfigError& error) {
    observed.errors = error.diagnostics;
  }
  observe_sockets(host, observed);
  if (const auto kubelet = kubelet_process(host, observed)) observed.kubelet_version = version_of(*kubelet);
  observed.counted = counted_by(host.at(observed.kubelet().pod_resources));
  if (observed.config && !rights_of(*observed.config).empty())
    observed.api_permissions = query_api_server(*observed.config);
  observe_labels(host, observed);
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) observed.descriptors = limit.rlim_max;
  timex clock{};
  observed.clock_is_set = ::adjtimex(&clock) != TIME_ERROR;
  observe_connections(host, observed);
  return observed;
}

namespace {

constexpr std::array<Check, 24> kChecks{{
    {"configuration", "Does the configuration load, and without warnings?", check_configuration},
    {"drop-ins", "Is every file of plugins.d read?", check_drop_ins},
    {"devices", "Does every entry find its devices, and are they healthy?", check_devices},
    {"kubelet-directory", "Is the kubelet's directory there, with the right owner and mode?",
     check_kubelet_directory},
    {"kubelet", "Which kubelet listens, in which version, and with which root directory?", check_kubelet},
    {"pod-resources", "Does the kubelet report which pod holds which device, on the configured socket?",
     check_pod_resources},
    {"daemon", "Does plughost run?", check_daemon},
    {"stale-sockets", "Are there sockets that no process listens on?", check_stale_sockets},
    {"owners", "Does another plugin serve a resource of this configuration?", check_owners},
    {"served", "Does a plugin serve what the kubelet counts of others' resources?", check_served},
    {"counts", "Does the kubelet count the devices that plughost finds?", check_counts},
    {"drains", "Is it known which devices are drained?", check_drains},
    {"api-server", "Does the API server allow what the configuration needs?", check_api_server},
    {"cdi", "Will the container runtime find the CDI devices that are promised?", check_cdi},
    {"access", "Can containers that are not root open their devices?", check_access},
    {"dev-char", "Do containers keep their devices over a systemctl daemon-reload?", check_dev_char},
    {"systemd", "Is the unit enabled, and does it start before the kubelet?", check_systemd},
    {"sandbox", "Does the unit give plughost what the configuration needs?", check_sandbox},
    {"udevd", "Does udevd run?", check_udevd},
    {"selinux", "Does SELinux let containers use devices, and the kubelet reach us?", check_selinux},
    {"apparmor", "Does an AppArmor profile confine plughost or the kubelet?", check_apparmor},
    {"descriptors", "Are there file descriptors enough for every resource?", check_descriptors},
    {"inotify", "Are there inotify watches left?", check_inotify},
    {"clock", "Is the clock right?", check_clock},
}};

}  // namespace

std::string_view name_of(Level level) {
  static constexpr Word<Level> kLevels[] = {
      {"ok", Level::kOk}, {"note", Level::kNote}, {"warning", Level::kWarning}, {"problem", Level::kProblem}};
  return word_of(kLevels, level);
}

std::span<const Check> checks() { return kChecks; }

Findings or_ok(Findings found, std::string where, std::string what) {
  if (found.empty()) found.push_back({.where = std::move(where), .what = std::move(what)});
  return found;
}

Findings examine(const HostRoot& host, const Observed& observed) {
  Findings all;
  for (const Check& check : kChecks) {
    Findings found;
    try {
      found = check.run(host, observed);
    } catch (const std::exception& error) {
      found.push_back({.level = Level::kWarning,
                       .where = "doctor",
                       .what = std::string("this could not be checked: ") + error.what(),
                       .why = "its result is unknown",
                       .advice = "run it as root, on the node itself"});
    }
    for (Finding& finding : found) {
      finding.check = check.name;
      all.push_back(std::move(finding));
    }
  }
  return all;
}

}  // namespace plughost
