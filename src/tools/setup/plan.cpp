#include "tools/setup/plan.hpp"

#include <algorithm>
#include <array>
#include <sstream>
#include <system_error>
#include <utility>

#include "base/document/yaml.hpp"
#include "base/system/files.hpp"
#include "base/text/json.hpp"
#include "base/text/text.hpp"
#include "config/config.hpp"
#include "embedded/plughost.hpp"
#include "host/services/kubernetes.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHead =
    "# Written by plughost setup, which replaces it; `plughost setup --undo` removes it.\n";

bool is_volatile(const std::string& directory) {
  return directory.starts_with("/run/") || directory.starts_with("/var/run/");
}

// Returns the CDI directory of the runtime that plughost must write to, preferably one that the next boot
// empties. Empty if the runtime reads the usual directory, or no directory.
std::string cdi_directory(const RuntimeSettings& settings) {
  const std::vector<std::string>& all = settings.spec_dirs;
  for (const char* const usual : {"/run/cdi", "/var/run/cdi"}) {
    if (std::ranges::find(all, usual) != all.end()) return {};
  }
  const auto found = std::ranges::find_if(all, is_volatile);
  if (found != all.end()) return *found;
  return all.empty() ? std::string() : all.back();
}

std::string section_text(std::span<const Need> needs, std::string_view section) {
  std::string text;
  for (const Need& need : needs) {
    std::string lines;
    for (const Setting& setting : need.settings) {
      if (setting.section == section) lines += setting.text() + '\n';
    }
    if (!lines.empty()) text += "# " + need.what + ".\n" + lines;
  }
  return text.empty() ? text : "[" + std::string(section) + "]\n" + text;
}

// Returns a hidden name, which readers of the directory ignore.
std::string temporary_beside(const fs::path& file) {
  return file.parent_path() / ('.' + file.filename().string() + ".new");
}

void write(const HostRoot& host, const FileChange& change) {
  const fs::path file = host.at(change.path);
  fs::create_directories(file.parent_path());
  replace_file(file, temporary_beside(file), *change.after);
}

void remove(const HostRoot& host, const FileChange& change) {
  const fs::path file = host.at(change.path);
  fs::remove(file);
  std::error_code failed;  // ignored: the link may be missing, and the directory may not be empty
  if (change.path == kOwnUnit) fs::remove(host.at(kOwnUnitLink), failed);
  if (file.parent_path().extension() == ".d") fs::remove(file.parent_path(), failed);
}

using Lines = std::vector<std::string>;

Lines lines_of(const std::optional<std::string>& text) {
  Lines lines;
  std::istringstream stream(text.value_or(""));
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  if (text && !text->empty() && !text->ends_with('\n')) lines.back() += "\n\\ No newline at end of file";
  return lines;
}

// Returns the length of the longest common subsequence of the two remainders, for each pair of positions.
std::vector<std::vector<std::size_t>> common(const Lines& before, const Lines& after) {
  std::vector<std::vector<std::size_t>> longest(before.size() + 1,
                                                std::vector<std::size_t>(after.size() + 1));
  for (std::size_t i = before.size(); i-- > 0;) {
    for (std::size_t j = after.size(); j-- > 0;)
      longest[i][j] =
          before[i] == after[j] ? longest[i + 1][j + 1] + 1 : std::max(longest[i + 1][j], longest[i][j + 1]);
  }
  return longest;
}

// Returns "1,3"; for no lines "0,0".
std::string range_of(const Lines& lines) {
  return (lines.empty() ? "0," : "1,") + std::to_string(lines.size());
}

}  // namespace

bool is_of_setup(std::string_view text) { return text.starts_with(kSetupMark); }

std::string drop_in_text(std::span<const Need> needs) {
  const std::string unit = section_text(needs, "Unit");
  const std::string service = section_text(needs, "Service");
  if (unit.empty() && service.empty()) return {};
  return std::string(kHead) + '\n' + unit + (unit.empty() || service.empty() ? "" : "\n") + service;
}

std::string node_file_text(const Kubernetes& kubernetes, const RuntimeSettings* settings) {
  Json document;
  if (kubernetes.directory != kKubeletDirectory)
    document["kubelet"]["directory"] = kubernetes.directory.string();
  if (kubernetes.root != kKubeletRoot) {
    document["kubelet"]["pluginsRegistry"] = (kubernetes.root / "plugins_registry").string();
    document["kubelet"]["podResources"] = (kubernetes.root / "pod-resources/kubelet.sock").string();
  }
  if (const std::string cdi = settings ? cdi_directory(*settings) : ""; !cdi.empty())
    document["cdi"]["directory"] = cdi;
  if (document.is_null()) return {};
  return std::string(kHead) +
         "# Directories in unusual places on this node. The configuration overrides them.\n" +
         yaml_of(document) + '\n';
}

std::string unit_text(std::string_view program) {
  std::string text = std::string(kHead) + std::string(kUnitText);
  for (std::size_t at = text.find(kPackagedProgram); at != text.npos;
       at = text.find(kPackagedProgram, at + program.size()))
    text.replace(at, std::string_view(kPackagedProgram).size(), program);
  return text;
}

std::string sysusers_text() { return std::string(kHead) + "g plughost -\n"; }

std::string FileChange::diff() const {
  if (before == after) return {};
  const Lines from = lines_of(before);
  const Lines to = lines_of(after);
  const auto longest = common(from, to);
  std::string text = "--- " + (before ? "a" + path : "/dev/null") + "\n+++ " +
                     (after ? "b" + path : "/dev/null") + "\n@@ -" + range_of(from) + " +" + range_of(to) +
                     " @@\n";
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < from.size() || j < to.size()) {
    if (i < from.size() && j < to.size() && from[i] == to[j]) {
      text += ' ' + from[i++] + '\n';
      ++j;
    } else if (i < from.size() && (j == to.size() || longest[i + 1][j] >= longest[i][j + 1])) {
      text += '-' + from[i++] + '\n';
    } else {
      text += '+' + to[j++] + '\n';
    }
  }
  return text;
}

std::vector<FileChange> changes_of(const HostRoot& host, std::span<const PlannedFile> files) {
  std::vector<FileChange> all;
  for (const PlannedFile& file : files) {
    const FileType type = host.own_type(file.path);
    const auto text = type == FileType::kRegular ? host.text(file.path) : std::nullopt;
    if (type != FileType::kNothing && !(text && is_of_setup(*text))) {
      if (file.text.empty()) continue;
      throw SetupError(file.path +
                       " is there, and plughost setup has not written it; nothing was changed: move it away, "
                       "and compare the two then");
    }
    FileChange change{.path = file.path, .before = text, .after = file.text};
    if (file.text.empty()) change.after.reset();
    if (change.before != change.after) all.push_back(std::move(change));
  }
  return all;
}

void make_changes(const HostRoot& host, std::span<const FileChange> all) {
  std::string done;
  for (const FileChange& change : all) {
    try {
      change.after ? write(host, change) : remove(host, change);
    } catch (const std::system_error& error) {
      throw SetupError(change.path + " cannot be " + (change.after ? "written" : "removed") + ": " +
                       error.code().message() +
                       (done.empty() ? "; nothing was changed" : "; done before that:" + done));
    }
    done += ' ' + change.path;
  }
}

namespace {

namespace fs = std::filesystem;

constexpr std::array kSystemd{"/run/systemd/system", "/usr/lib/systemd/systemd", "/lib/systemd/systemd"};
constexpr std::array kRestorecon{"/usr/sbin/restorecon", "/sbin/restorecon"};
// Directories that the unit hides from the program.
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
                   "docs/install.md has the differences");
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

// Returns the sign of the named Kubernetes, or else of the only one; nullopt if there is no sign.
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
  throw SetupError("more than one Kubernetes is installed: " + all + "; choose one: --kubernetes " +
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

// Adds remarks on steps that the operator must do, because `setup --undo` could not undo these steps.
void remark_on_selinux(const HostRoot& host, const Config& config, SetupPlan& plan) {
  if (host.text("/sys/fs/selinux/enforce").value_or("").starts_with('0') || !has_selinux(host)) return;
  if (first_there(host, kRestorecon).empty())
    plan.remarks.push_back(
        "SELinux is on, and restorecon is missing: install policycoreutils, and run this again");
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

// Reads the configuration together with the planned node.yaml.
Config read_config(const HostRoot& host, const SetupTerms& terms, const std::string& node_file,
                   SetupPlan& plan) {
  if (!host.exists(terms.config)) {
    plan.remarks.push_back(terms.config.string() +
                           " does not exist yet: run this again once it does, for what it needs");
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
  std::string own;  // empty: the unit came with a package or was written by hand
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
