#include "tools/setup/plan.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text/text.hpp"
#include "config/config.hpp"
#include "host/services/kubernetes.hpp"
#include "host/services/runtime_settings.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;

constexpr std::array kSystemd{"/run/systemd/system", "/usr/lib/systemd/systemd", "/lib/systemd/systemd"};
constexpr std::array kRestorecon{"/usr/sbin/restorecon", "/sbin/restorecon"};
// That the unit hides from the program.
constexpr std::array<std::string_view, 5> kHidden{"/home/", "/root/", "/run/user/", "/tmp/", "/var/tmp/"};

template <std::size_t n>
std::string first_there(const HostRoot& host, const std::array<const char*, n>& paths) {
  const auto found = std::ranges::find_if(paths, [&](const char* path) { return host.exists(path); });
  return found == paths.end() ? "" : *found;
}

bool has_selinux(const HostRoot& host) {
  if (host.exists("/sys/fs/selinux/enforce")) return true;
  const std::string config = host.text("/etc/selinux/config").value_or("");
  return config.find("\nSELINUX=enforcing") != config.npos ||
         config.find("\nSELINUX=permissive") != config.npos;
}

void refuse_where_nothing_can_be_installed(const HostRoot& host) {
  const OsRelease os = os_release(host);
  if (!os.takes_containers_only()) return;
  throw SetupError("this node is " + os.name +
                   ", on which nothing is installed and no unit of ours starts: run plughost as a DaemonSet; "
                   "docs/install.md says what differs then");
}

std::string looked_for() {
  std::vector<std::string_view> units;
  for (const Distribution& each : distributions()) {
    for (const std::string_view unit : each.units) {
      if (std::ranges::find(units, unit) == units.end()) units.push_back(unit);
    }
  }
  return joined(units, ", ");
}

// nullopt: none is to be seen.
std::optional<Sign> chosen(const HostRoot& host, const std::string& name) {
  if (!name.empty()) {
    const Distribution* const distribution = distribution_of(name);
    if (!distribution) throw SetupError("there is no Kubernetes of the name " + name);
    return sign_of(host, *distribution);
  }
  std::vector<Sign> signs = signs_of_kubernetes(host);
  if (signs.empty()) return std::nullopt;
  if (signs.size() == 1) return std::move(signs.front());
  std::string all;
  for (const Sign& sign : signs)
    all += (all.empty() ? "" : ", and ") + std::string(sign.distribution->name) + " (" + sign.why + ')';
  throw SetupError("more than one Kubernetes is here: " + all + "; say which one counts: --kubernetes " +
                   std::string(signs.front().distribution->name));
}

Kubernetes find_kubernetes(const HostRoot& host, const std::string& name, SetupPlan& plan) {
  const std::optional<Sign> sign = chosen(host, name);
  Kubernetes kubernetes = kubernetes_of(host, sign ? &*sign : nullptr);
  if (sign) {
    plan.found.push_back(kubernetes.name + ": " + kubernetes.why);
  } else {
    plan.found.push_back("no Kubernetes is to be seen: none of the units " + looked_for() +
                         " is there, no kubelet runs, and nothing of theirs was left behind; " +
                         kKubeletUnit + " and " + kKubeletRoot + " are assumed");
  }
  if (!kubernetes.root_why.empty())
    plan.found.push_back("the kubelet's root directory is " + kubernetes.root.string() + ": " +
                         kubernetes.root_why);
  else if (kubernetes.root != kKubeletRoot)
    plan.found.push_back("the kubelet's root directory is " + kubernetes.root.string() + ", as usual with " +
                         kubernetes.name);
  return kubernetes;
}

// What cannot be undone by taking a file away is left to people.
void remark_on_selinux(const HostRoot& host, const Config& config, SetupPlan& plan) {
  if (host.text("/sys/fs/selinux/enforce").value_or("").starts_with('0') || !has_selinux(host)) return;
  if (first_there(host, kRestorecon).empty())
    plan.remarks.push_back(
        "SELinux is on, and restorecon is not there: install policycoreutils, and run this again");
  if (!config.resources.empty() &&
      host.text("/sys/fs/selinux/booleans/container_use_devices").value_or("").starts_with('0'))
    plan.remarks.push_back(
        "SELinux does not let containers use devices; if they get 'Permission denied', "
        "`setsebool -P container_use_devices 1`");
}

void remark_on_paths(const Config& config, const Kubernetes& kubernetes, const fs::path& file,
                     SetupPlan& plan) {
  const auto compare = [&](const char* key, const fs::path& said, const fs::path& found) {
    if (said != found)
      plan.remarks.push_back(file.string() + " says " + key + ": " + said.string() +
                             "; this node has it at " + found.string());
  };
  if (kubernetes.name.empty()) return;
  compare("kubelet.directory", config.kubelet.directory, kubernetes.directory);
  compare("kubelet.podResources", config.kubelet.pod_resources,
          kubernetes.root / "pod-resources/kubelet.sock");
}

// As it will be read with that node.yaml beside it.
Config read_config(const HostRoot& host, const SetupTerms& terms, const std::string& node_file,
                   SetupPlan& plan) {
  if (!host.exists(terms.config)) {
    plan.remarks.push_back(terms.config.string() +
                           " is not there yet: run this again once it is, for what it needs");
    return {};
  }
  return load_config(host.at(terms.config), {.node_file = node_file});
}

bool is_ours(const HostRoot& host, const char* path) {
  const auto text = host.text(path);
  return text && is_of_setup(*text);
}

std::string own_unit(const SetupTerms& terms, SetupPlan& plan) {
  if (terms.program.empty()) {
    plan.remarks.push_back("there is neither a unit " + std::string(kPlughostUnit) +
                           " nor the program: install plughost, and run this again");
    return {};
  }
  if (std::ranges::any_of(kHidden,
                          [&](std::string_view hidden) { return terms.program.starts_with(hidden); }))
    throw SetupError(
        terms.program +
        " is where the unit's sandbox hides it, and there is no unit that comes with a package: copy "
        "the program to /usr/local/bin or /opt/bin, and run it there");
  plan.found.push_back("there is no " + std::string(kPlughostUnit) + ": it gets one, for " + terms.program);
  return unit_text(terms.program);
}

struct Units {
  std::string drop_in;
  std::string own;  // empty: it came with a package, or somebody has written it
};

Units plan_units(const HostRoot& host, const SetupTerms& terms, const Config& config, Kubernetes kubernetes,
                 SetupPlan& plan) {
  if (first_there(host, kSystemd).empty()) {
    plan.remarks.push_back(
        "systemd does not run this node, so that no unit is written: have your init start plughost before "
        "the kubelet, and again if it ends");
    return {};
  }
  Units units;
  std::set<std::string> but_for{kDropIn};
  if (is_ours(host, kOwnUnit)) but_for.insert(kOwnUnit);
  auto unit = unit_file(host, kPlughostUnit, but_for);
  if (!unit) {
    units.own = own_unit(terms, plan);
    if (units.own.empty()) return units;
    plan.enabled = unit_file(host, kPlughostUnit).value_or(UnitFile{}).enabled;
    unit.emplace().settings.read(units.own);
  } else {
    plan.enabled = unit->enabled;
    if (unit->masked) plan.remarks.push_back(unit->path + " is masked: `systemctl unmask plughost`");
  }
  const NodeTerms node{.kubernetes = std::move(kubernetes),
                       .program = units.own.empty() ? kPackagedProgram : terms.program,
                       .restorecon = has_selinux(host) ? first_there(host, kRestorecon) : ""};
  plan.needs = unmet(needs_of(config, node), unit->settings);
  units.drop_in = drop_in_text(plan.needs);
  return units;
}

std::vector<PlannedFile> files_of(const fs::path& config, std::string node_file, Units units) {
  const bool owns = !units.own.empty();
  return {{.path = config.parent_path() / kNodeFile, .text = std::move(node_file)},
          {.path = kSysusers, .text = owns ? sysusers_text() : ""},
          {.path = kOwnUnit, .text = std::move(units.own)},
          {.path = kDropIn, .text = std::move(units.drop_in)}};
}

}  // namespace

SetupPlan plan_setup(const HostRoot& host, const SetupTerms& terms) {
  refuse_where_nothing_can_be_installed(host);
  SetupPlan plan;
  const Kubernetes kubernetes = find_kubernetes(host, terms.kubernetes, plan);
  const auto settings = runtime_settings(host, kubernetes.containerd);
  std::string node_file = node_file_text(kubernetes, settings ? &*settings : nullptr);
  const Config config = read_config(host, terms, node_file, plan);
  remark_on_paths(config, kubernetes, terms.config, plan);
  remark_on_selinux(host, config, plan);
  Units units = plan_units(host, terms, config, kubernetes, plan);
  plan.files = files_of(terms.config, std::move(node_file), std::move(units));
  return plan;
}

std::vector<PlannedFile> plan_undo(const fs::path& config) { return files_of(config, {}, {}); }

}  // namespace plughost
