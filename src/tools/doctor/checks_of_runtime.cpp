#include <algorithm>
#include <set>
#include <utility>

#include "base/document/text_file.hpp"
#include "base/document/yaml.hpp"
#include "base/text/text.hpp"
#include "host/services/kubernetes.hpp"
#include "host/services/runtime_settings.hpp"
#include "tools/doctor/doctor.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;

// Adds the kind of a specification. JSON is parsed as YAML.
void add_kind(const std::string& text, const std::string& path, std::set<std::string>& kinds) {
  Diagnostics unused;
  const auto spec = parse_yaml(text, path, unused);
  const Node* const kind = spec ? spec->find("kind") : nullptr;
  if (kind) kinds.insert(kind->scalar);
}

// Returns the kinds of the specifications in the directories.
std::set<std::string> specified_kinds(const HostRoot& host, const std::vector<std::string>& directories) {
  std::set<std::string> kinds;
  for (const std::string& directory : directories) {
    for (const std::string& path : host.glob(directory + "/*").paths) {
      const std::string extension = fs::path(path).extension();
      if (extension != ".json" && extension != ".yaml") continue;
      const auto text = read_text_file(host.at(path));
      if (const auto* const spec = std::get_if<std::string>(&text)) add_kind(*spec, path, kinds);
    }
  }
  return kinds;
}

Findings runtime_findings(const RuntimeSettings& settings) {
  Findings found;
  for (const std::string& error : settings.errors)
    found.push_back({.level = Level::kWarning,
                     .where = settings.file,
                     .what = error,
                     .why = "what " + settings.runtime + " does with CDI devices is not known",
                     .advice = "correct the file, or run this as root"});
  if (settings.cdi == RuntimeSettings::Cdi::kOn || !settings.errors.empty()) return found;
  const bool off = settings.cdi == RuntimeSettings::Cdi::kOff;
  found.push_back({.level = off ? Level::kProblem : Level::kWarning,
                   .where = settings.file,
                   .what = off ? "CDI is turned off for " + settings.runtime
                               : "this file does not turn CDI on; containerd 1.7 has it off then, 1.6 does "
                                 "not know it, 2 has it on",
                   .why = "the runtime ignores CDI devices silently: containers start without them",
                   .advice =
                       "set `enable_cdi = true` in [plugins.\"io.containerd.grpc.v1.cri\"] (containerd 2: "
                       "[plugins.\"io.containerd.cri.v1.runtime\"]) and restart containerd"});
  return found;
}

// Resolves the links of the path, as far as it exists.
fs::path followed(const HostRoot& host, const fs::path& path) {
  if (const auto real = host.canonical(path); real || path == path.parent_path()) return real.value_or(path);
  return followed(host, path.parent_path()) / path.filename();
}

// The daemon writes the specifications of the kinds `written` to `ours`. Returns nothing if the runtime reads
// that directory, or if its directories are unknown.
Findings directory_findings(const HostRoot& host, const RuntimeSettings& settings, const std::string& ours,
                            const std::set<std::string>& written) {
  const auto directory = [&](const fs::path& path) { return followed(host, path / ""); };
  const auto is_ours = [&](const std::string& read) { return directory(read) == directory(ours); };
  if (written.empty() || !settings.errors.empty() || std::ranges::any_of(settings.spec_dirs, is_ours))
    return {};
  return {{.level = Level::kProblem,
           .where = settings.file,
           .what = settings.runtime + " does not read " + ours +
                   ", where plughost writes the CDI specifications of " + *written.begin() +
                   (written.size() > 1 ? " and others" : "") + "; it reads " +
                   (settings.spec_dirs.empty() ? "no directory" : joined(settings.spec_dirs, ", ")),
           .why = "containers that get such a device do not start: 'unresolvable CDI devices'",
           .advice = "set `cdi: {directory: …}` in plughost's configuration to a directory that the runtime "
                     "reads, or add " +
                     ours + " to cdi_spec_dirs of " + settings.runtime + " and restart it"}};
}

}  // namespace

Findings check_cdi(const HostRoot& host, const Observed& observed) {
  const CdiUse use = observed.config ? cdi_use(*observed.config, observed.devices) : CdiUse();
  if (!use.any)
    return {{.where = observed.file,
             .what = std::string("no resource uses CDI") +
                     (use.programs ? ", unless an `allocate` program names CDI devices" : "")}};
  const auto settings = runtime_settings(host, kubernetes_of(host).containerd);
  if (!settings)
    return {{.level = Level::kNote,
             .where = "container runtime",
             .what = "neither containerd nor CRI-O, nor a configuration of theirs, is to be seen",
             .why = "it is not known whether the runtime takes CDI devices",
             .advice = "see to its settings by hand: CDI has to be on"}};
  Findings found = runtime_findings(*settings);
  std::set<std::string> written = use.own;
  for (const CdiFile& file : observed.devices.cdi) add_kind(file.text, file.name, written);
  for (Finding& each : directory_findings(host, *settings, observed.config->cdi_directory, written))
    found.push_back(std::move(each));
  const std::set<std::string> specified = specified_kinds(host, settings->spec_dirs);
  for (const std::string& kind : use.kinds) {
    if (specified.contains(kind) || written.contains(kind)) continue;
    found.push_back({.level = Level::kProblem,
                     .where = joined(settings->spec_dirs, ", "),
                     .what = "no specification of the kind " + kind + " lies there",
                     .why = "containers that get such a device do not start: 'unresolvable CDI devices'",
                     .advice = "have its vendor's tool write one (NVIDIA: `nvidia-ctk cdi generate`), or set "
                               "cdi_spec_dirs of " +
                               settings->runtime + " to where it is"});
  }
  return or_ok(std::move(found), settings->file,
               settings->runtime + " takes CDI devices, and all kinds are specified");
}

Findings check_access(const HostRoot& host, const Observed& observed) {
  if (observed.closed_nodes.empty())
    return {{.where = observed.file, .what = "everybody may open the device nodes that containers get"}};
  const auto settings = runtime_settings(host, kubernetes_of(host).containerd);
  if (settings && settings->nodes_are_the_users)
    return {{.where = settings->file,
             .what = "device_ownership_from_security_context is on: a container's user owns its nodes"}};
  std::vector<std::string> shown;
  for (const auto& [path, who] : observed.closed_nodes)
    if (shown.size() < kMostShown) shown.push_back(path + " (" + who + ")");
  return {{.level = Level::kNote,
           .where = settings ? settings->file : "container runtime",
           .what = "device_ownership_from_security_context is not on, and not everybody may open " +
                   joined(shown, ", "),
           .why = "containers that do not run as root get 'Permission denied' when they open such a node",
           .advice = "nothing, if they run as root; else turn it on in the runtime, or give the pod the "
                     "node's group (supplementalGroups), or set `cdi: true` and `access: group` "
                     "(docs/containers.md)"}};
}

Findings check_dev_char(const HostRoot& host, const Observed& observed) {
  std::vector<std::string> missing;
  std::string first;
  for (const auto& [path, link] : observed.links) {
    if (host.own_type(link) == FileType::kLink) continue;
    if (first.empty()) first = "`ln -s " + path + ' ' + link + '`';
    if (missing.size() < kMostShown) missing.push_back(link + " (" + path + ")");
  }
  if (missing.empty())
    return {{.where = "/dev/char",
             .what = "every device node has its link there: " + std::to_string(observed.links.size())}};
  const bool systemd = host.exists("/run/systemd/system");
  return {
      {.level = systemd ? Level::kWarning : Level::kNote,
       .where = "/dev/char",
       .what = "links are missing, such as " + joined(missing, ", "),
       .why =
           "where runc has systemd manage cgroups, `systemctl daemon-reload` takes such a device away from "
           "running containers; not with systemd 240 or newer and a runc older than 1.1.3 or at least 1.1.7",
       .advice = "upgrade runc, or have the links made before containers start: " + first +
                 ", for NVIDIA `nvidia-ctk system create-dev-char-symlinks --create-all`"}};
}

}  // namespace plughost
