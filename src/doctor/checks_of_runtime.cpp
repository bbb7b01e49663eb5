#include <algorithm>
#include <set>
#include <sstream>

#include "doctor/checks.hpp"
#include "document/text_file.hpp"
#include "document/yaml.hpp"
#include "system/kubernetes.hpp"
#include "system/runtime_settings.hpp"
#include "text/text.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCdiAnnotation = "cdi.k8s.io/";

// "vendor.com/class" of each name in "vendor.com/class=a,vendor.com/class=b".
void take_kinds(const std::string& names, std::set<std::string>& kinds) {
  std::istringstream words(names);
  for (std::string name; std::getline(words, name, ',');) {
    if (const std::size_t equals = name.find('='); equals != name.npos && equals > 0)
      kinds.insert(name.substr(0, equals));
  }
}

std::set<std::string> promised_kinds(const Survey& devices) {
  std::set<std::string> kinds;
  const auto take_annotations = [&](const Recipe::Pairs& annotations) {
    for (const auto& [key, value] : annotations) {
      if (key.text().starts_with(kCdiAnnotation)) take_kinds(value.text(), kinds);
    }
  };
  for (const Offer& offer : devices.offers) {
    take_annotations(offer.recipe->annotations);
    for (const Device& device : offer.inventory.devices()) {
      if (device.terms) take_annotations(device.terms->annotations);
      if (!device.recipe) continue;
      take_annotations(device.recipe->annotations);
      for (const Template& name : device.recipe->cdi) take_kinds(name.text(), kinds);
    }
  }
  return kinds;
}

// Of the specifications in the directories. JSON is YAML.
std::set<std::string> specified_kinds(const HostRoot& host, const std::vector<std::string>& directories) {
  std::set<std::string> kinds;
  for (const std::string& directory : directories) {
    for (const std::string& path : host.glob(directory + "/*").paths) {
      const std::string extension = fs::path(path).extension();
      if (extension != ".json" && extension != ".yaml") continue;
      const auto text = read_text_file(host.at(path));
      if (!std::holds_alternative<std::string>(text)) continue;
      Diagnostics unused;
      const auto spec = parse_yaml(std::get<std::string>(text), path, unused);
      const Node* const kind = spec ? spec->find("kind") : nullptr;
      if (kind) kinds.insert(kind->scalar);
    }
  }
  return kinds;
}

Findings runtime_findings(const RuntimeSettings& settings) {
  Findings found;
  for (const std::string& trouble : settings.troubles)
    found.push_back({.level = Level::kWarning,
                     .where = settings.file,
                     .what = trouble,
                     .why = "what " + settings.runtime + " does with CDI devices is not known",
                     .advice = "correct the file, or run this as root"});
  if (settings.cdi == RuntimeSettings::Cdi::kOn || !settings.troubles.empty()) return found;
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

}  // namespace

Findings check_cdi(const HostRoot& host, const Observed& observed) {
  const std::set<std::string> promised = promised_kinds(observed.devices);
  if (promised.empty()) return {{.where = observed.file, .what = "no resource uses CDI"}};
  const auto settings = runtime_settings(host, kubernetes_of(host).containerd);
  if (!settings)
    return {{.level = Level::kNote,
             .where = "container runtime",
             .what = "neither containerd nor CRI-O, nor a configuration of theirs, is to be seen",
             .why = "it is not known whether the runtime takes CDI devices",
             .advice = "see to its settings by hand: CDI has to be on"}};
  Findings found = runtime_findings(*settings);
  const std::set<std::string> specified = specified_kinds(host, settings->spec_dirs);
  for (const std::string& kind : promised) {
    if (specified.contains(kind)) continue;
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
