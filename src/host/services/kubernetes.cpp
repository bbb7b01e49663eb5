#include "host/services/kubernetes.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text/text.hpp"
#include "host/services/process.hpp"
#include "host/services/unit_file.hpp"

namespace plughost {
namespace {

std::string unquoted(std::string_view value) {
  if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'') && value.back() == value.front())
    value = value.substr(1, value.size() - 2);
  return std::string(value);
}

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> kRuntimeUnits{"containerd.service", "crio.service",
                                                        "docker.service"};
constexpr std::string_view kOpenshift = "openshift";
constexpr std::string_view kK0s = "k0s";
// MicroK8s' files contain this variable in place of a path.
constexpr std::string_view kSnapCommon = "${SNAP_COMMON}";
constexpr std::string_view kMicrok8sCommon = "/var/snap/microk8s/common";

const std::vector<Distribution>& table() {
  static const std::vector<std::string_view> kKubeletArguments{
      "/etc/default/kubelet", "/etc/sysconfig/kubelet", "/var/lib/kubelet/kubeadm-flags.env"};
  // The kubeconfigs of kubeadm, and of managed nodes.
  static const std::vector<std::string_view> kKubeletKubeconfigs{"/etc/kubernetes/kubelet.conf",
                                                                 "/var/lib/kubelet/kubeconfig"};
  static const std::vector<Distribution> kTable{
      {.name = "k3s",
       .units = {"k3s.service", "k3s-agent.service"},
       .paths = {"/var/lib/rancher/k3s", "/etc/rancher/k3s"},
       .arguments = {"/etc/systemd/system/k3s*.service.env", "/etc/rancher/k3s/config.yaml",
                     "/etc/rancher/k3s/config.yaml.d/*.yaml"},
       .containerd = "/var/lib/rancher/k3s/agent/etc/containerd/config.toml",
       .kubeconfigs = {"/var/lib/rancher/k3s/agent/kubelet.kubeconfig"}},
      {.name = "rke2",
       .units = {"rke2-server.service", "rke2-agent.service"},
       .paths = {"/var/lib/rancher/rke2", "/etc/rancher/rke2"},
       .arguments = {"/etc/rancher/rke2/config.yaml", "/etc/rancher/rke2/config.yaml.d/*.yaml"},
       .containerd = "/var/lib/rancher/rke2/agent/etc/containerd/config.toml",
       .kubeconfigs = {"/var/lib/rancher/rke2/agent/kubelet.kubeconfig"}},
      {.name = kK0s,
       .units = {"k0scontroller.service", "k0sworker.service"},
       .paths = {"/var/lib/k0s", "/etc/k0s"},
       .root = "/var/lib/k0s/kubelet",
       .containerd = "/etc/k0s/containerd.toml",
       .kubeconfigs = {"/var/lib/k0s/kubelet.conf"}},
      {.name = "microk8s",
       .units = {"snap.microk8s.daemon-kubelite.service"},
       .paths = {"/var/snap/microk8s", "/snap/microk8s"},
       .root = "/var/snap/microk8s/common/var/lib/kubelet",
       .arguments = {"/var/snap/microk8s/current/args/kubelet"},
       .containerd = "/var/snap/microk8s/current/args/containerd.toml",
       .kubeconfigs = {"/var/snap/microk8s/current/credentials/kubelet.config"}},
      {.name = "microshift",
       .units = {"microshift.service"},
       .paths = {"/var/lib/microshift", "/etc/microshift"},
       .kubeconfigs = {"/var/lib/microshift/resources/kubelet/kubeconfig"}},
      {.name = kOpenshift,
       .units = {kKubeletUnit},
       .paths = {"/etc/machine-config-daemon"},
       .shares_units = true,
       .arguments = kKubeletArguments,
       .kubeconfigs = {"/var/lib/kubelet/kubeconfig"}},
      {.name = "kubeadm",
       .units = {kKubeletUnit},
       .paths = {"/var/lib/kubelet/kubeadm-flags.env",
                 "/etc/systemd/system/kubelet.service.d/10-kubeadm.conf",
                 "/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf",
                 "/lib/systemd/system/kubelet.service.d/10-kubeadm.conf"},
       .shares_units = true,
       .arguments = kKubeletArguments,
       .kubeconfigs = kKubeletKubeconfigs},
      {.name = "kubelet",
       .units = {kKubeletUnit},
       .arguments = kKubeletArguments,
       .kubeconfigs = kKubeletKubeconfigs},
  };
  return kTable;
}

std::optional<std::string> path_of(const HostRoot& host, const Distribution& distribution) {
  for (const std::string_view path : distribution.paths) {
    if (host.exists(std::string(path))) return std::string(path);
  }
  if (distribution.name == kOpenshift && os_release(host).openshift) return "/etc/os-release";
  return std::nullopt;
}

// Returns the distribution to which the unit belongs on this node; nullptr if it belongs to none.
const Distribution* owner_of(const HostRoot& host, std::string_view unit) {
  for (const Distribution& each : table()) {
    if (std::ranges::find(each.units, unit) == each.units.end()) continue;
    if (!each.shares_units || path_of(host, each)) return &each;
  }
  return nullptr;
}

// Adds the unit to the distribution's sign. Each distribution has one sign, with all of its units.
void add(std::vector<Sign>& signs, const Distribution& distribution, const std::string& why,
         const std::string& unit) {
  const auto known = std::ranges::find(signs, &distribution, &Sign::distribution);
  Sign& sign =
      known != signs.end() ? *known : signs.emplace_back(Sign{.distribution = &distribution, .why = why});
  if (std::ranges::find(sign.units, unit) == sign.units.end()) sign.units.push_back(unit);
}

// Returns the process without its arguments, which may be secret.
std::string said_of(const SeenProcess& process) {
  return "process " + std::to_string(process.id) +
         (process.arguments.empty() ? "" : " (" + process.arguments.front() + ')');
}

// A kubelet in a pod is not the node's kubelet.
bool is_kubelet(const SeenProcess& process) { return process.name() == "kubelet" && process.pod.empty(); }

// Finds kubelets outside the known units. Some kubelets are moved into the container runtime's control group,
// or out of all units.
std::vector<Sign> stray_kubelets(const HostRoot& host) {
  std::vector<Sign> signs;
  for (const SeenProcess& process : processes(host)) {
    if (!is_kubelet(process)) continue;
    if (process.unit.empty() || std::ranges::find(kRuntimeUnits, process.unit) != kRuntimeUnits.end())
      add(signs, *owner_of(host, kKubeletUnit), said_of(process) + " runs", kKubeletUnit);
    else
      add(signs, table().back(), said_of(process) + " is in " + process.unit, process.unit);
  }
  return signs;
}

std::vector<Sign> running(const HostRoot& host) {
  std::vector<Sign> signs;
  for (const SeenProcess& process : processes(host)) {
    const Distribution* const owner = process.pod.empty() ? owner_of(host, process.unit) : nullptr;
    if (owner) add(signs, *owner, said_of(process) + " is in " + process.unit, process.unit);
  }
  return signs.empty() ? stray_kubelets(host) : signs;
}

std::vector<Sign> installed(const HostRoot& host, bool only_enabled) {
  std::vector<Sign> signs;
  for (const Distribution& each : table()) {
    for (const std::string_view name : each.units) {
      const auto unit = owner_of(host, name) == &each ? unit_file(host, name) : std::nullopt;
      if (!unit || unit->masked || (only_enabled && !unit->enabled)) continue;
      add(signs, each, only_enabled ? std::string(name) + " is enabled" : "there is " + unit->path,
          std::string(name));
    }
  }
  return signs;
}

std::vector<Sign> left_behind(const HostRoot& host) {
  std::vector<Sign> signs;
  for (const Distribution& each : table()) {
    const auto path = path_of(host, each);
    if (!path) continue;
    for (const std::string_view unit : each.units) add(signs, each, "there is " + *path, std::string(unit));
  }
  return signs;
}

// The searches for signs, the strongest signs first.
constexpr std::vector<Sign> (*kLooks[])(const HostRoot& host) = {
    running, [](const HostRoot& host) { return installed(host, true); },
    [](const HostRoot& host) { return installed(host, false); }, left_behind};

std::string absolute(std::string path) {
  if (path.starts_with(kSnapCommon)) path = std::string(kMicrok8sCommon) + path.substr(kSnapCommon.size());
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path.starts_with('/') ? path : std::string();
}

// Returns the root directory in the arguments of a kubelet, or of a wrapper; empty if it is not given.
std::string root_in(std::string_view text) {
  for (const std::string_view option : {"root-dir", "kubelet-root-dir"}) {
    if (std::string root = absolute(option_in(text, option)); !root.empty()) return root;
  }
  return {};
}

struct Root {
  std::string path;
  std::string why;
};

// Returns the root directory according to a running process's arguments, else to the units, else to files.
std::optional<Root> told_root(const HostRoot& host, const Sign& sign) {
  for (const SeenProcess& process : processes(host)) {
    const bool is_of_unit = std::ranges::find(sign.units, process.unit) != sign.units.end();
    if (!process.pod.empty() || (!is_of_unit && !is_kubelet(process))) continue;
    if (std::string root = root_in(joined(process.arguments, " ") + ' '); !root.empty())
      return Root{std::move(root), said_of(process)};
  }
  for (const std::string& name : sign.units) {
    const auto unit = unit_file(host, name);
    if (!unit) continue;
    if (std::string root = root_in(unit->text); !root.empty()) return Root{std::move(root), unit->path};
    const std::string data = absolute(option_in(unit->text, "data-dir"));
    if (sign.distribution->name == kK0s && !data.empty()) return Root{data + "/kubelet", unit->path};
  }
  for (const std::string_view pattern : sign.distribution->arguments) {
    for (const std::string& path : host.glob(std::string(pattern)).paths) {
      if (std::string root = root_in(host.text(path).value_or("")); !root.empty())
        return Root{std::move(root), path};
    }
  }
  return std::nullopt;
}

// The kubelet's registration socket is below /var/lib/kubelet for any root directory, unless the kubelet was
// built differently.
fs::path plugins_of(const HostRoot& host, const fs::path& root) {
  const auto has_socket = [&](const fs::path& directory) {
    return host.type(directory / "kubelet.sock") == FileType::kSocket;
  };
  const fs::path own = root / "device-plugins";
  const fs::path usual = fs::path(kKubeletRoot) / "device-plugins";
  return has_socket(own) && !has_socket(usual) ? own : usual;
}

bool same_directory(const HostRoot& host, const std::string& one, const std::string& other) {
  const auto path = host.canonical(one);
  return path && path == host.canonical(other);
}

}  // namespace

OsRelease os_release(const HostRoot& host) {
  auto text = host.text("/etc/os-release");
  if (!text) text = host.text("/usr/lib/os-release");
  OsRelease os;
  for (const std::string_view line : split(text ? *text : std::string_view(), '\n')) {
    const std::size_t equals = line.find('=');
    if (equals == line.npos) continue;
    const std::string_view key = line.substr(0, equals);
    const std::string value = unquoted(line.substr(equals + 1));
    if (key == "ID") os.id = value;
    if (key == "PRETTY_NAME") os.name = value;
    // Since OpenShift 4.19 its CoreOS has the id rhel, like an ordinary installation.
    if (key == "OPENSHIFT_VERSION") os.openshift = true;
  }
  if (os.id == "rhcos" || os.id == "scos") os.openshift = true;
  if (os.name.empty()) os.name = os.id;
  return os;
}

std::span<const Distribution> distributions() { return table(); }

const Distribution* distribution_of(std::string_view name) {
  const auto found = std::ranges::find(table(), name, &Distribution::name);
  return found == table().end() ? nullptr : &*found;
}

std::vector<Sign> signs_of_kubernetes(const HostRoot& host) {
  for (const auto look : kLooks) {
    if (auto signs = look(host); !signs.empty()) return signs;
  }
  return {};
}

Sign sign_of(const HostRoot& host, const Distribution& distribution) {
  for (const auto look : kLooks) {
    std::vector<Sign> signs = look(host);
    const auto found = std::ranges::find(signs, &distribution, &Sign::distribution);
    if (found != signs.end()) return std::move(*found);
  }
  return {.distribution = &distribution,
          .why = "nothing of it is to be seen",
          .units = {distribution.units.begin(), distribution.units.end()}};
}

Kubernetes kubernetes_of(const HostRoot& host, const Sign* sign) {
  Kubernetes found{.units = {kKubeletUnit}};
  if (sign) {
    found.name = sign->distribution->name;
    found.why = sign->why;
    found.units = sign->units;
    found.root = sign->distribution->root;
    found.containerd = sign->distribution->containerd;
    if (auto told = told_root(host, *sign)) {
      found.root = std::move(told->path);
      found.root_why = std::move(told->why);
    }
  }
  // MicroK8s creates such a link for programs that use the default path.
  if (found.root != kKubeletRoot && same_directory(host, found.root, kKubeletRoot)) {
    found.root_why = std::string(kKubeletRoot) + " is a link to " + found.root.string();
    found.root = kKubeletRoot;
  }
  found.directory = plugins_of(host, found.root);
  return found;
}

Kubernetes kubernetes_of(const HostRoot& host) {
  const std::vector<Sign> signs = signs_of_kubernetes(host);
  return kubernetes_of(host, signs.size() == 1 ? &signs.front() : nullptr);
}

std::string option_in(std::string_view text, std::string_view option) {
  constexpr std::string_view kBegins = " \t\"',=[";
  constexpr std::string_view kEnds = " \t\r\"',\\]";
  std::string value;
  for (const std::string_view line : split(text, '\n')) {
    if (const std::size_t first = line.find_first_not_of(" \t"); first == line.npos || line[first] == '#')
      continue;
    for (std::size_t at = line.find(option); at != line.npos; at = line.find(option, at + 1)) {
      const std::size_t after = at + option.size();
      std::size_t from_dash = at;
      while (from_dash > 0 && at - from_dash < 2 && line[from_dash - 1] == '-') --from_dash;
      const bool begins = from_dash == 0 || kBegins.find(line[from_dash - 1]) != kBegins.npos;
      if (!begins || after >= line.size() || (line[after] != '=' && line[after] != ' ')) continue;
      const std::size_t from = line.find_first_not_of(" \"'", after + 1);
      if (from == line.npos) continue;
      value = line.substr(from, line.find_first_of(kEnds, from) - from);
    }
  }
  return value;
}

}  // namespace plughost
