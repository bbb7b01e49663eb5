#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>

#include "base/joined.hpp"
#include "config/text_file.hpp"
#include "config/yaml.hpp"
#include "device/cdi.hpp"
#include "doctor/checks.hpp"
#include "system/kubernetes.hpp"
#include "system/runtime_settings.hpp"

namespace plughost {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCdiAnnotation = "cdi.k8s.io/";

// "vendor.com/class" of each name in "vendor.com/class=a,vendor.com/class=b".
void take_kinds(const std::string& names, std::set<std::string>& kinds) {
  std::string_view rest = names;
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    if (const std::size_t equals = name.find('='); equals != name.npos && equals > 0)
      kinds.emplace(name.substr(0, equals));
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

// Of the runtime as the kubelet has told the API server: "2" of "containerd://2.2.9"; empty: nobody has.
std::string containerd_version(const Observed& observed) {
  constexpr std::string_view kContainerd = "containerd://";
  if (!observed.api_permissions || !observed.api_permissions->dra) return {};
  const std::string& runtime = observed.api_permissions->dra->runtime;
  return runtime.starts_with(kContainerd) ? runtime.substr(kContainerd.size()) : "";
}

// Whoever advertises it, plughost writes these specifications itself.
bool has_own_names(const Survey& devices) {
  return std::ranges::any_of(devices.offers, [](const Offer& offer) {
    return offer.recipe->dra || offer.recipe->cdi != CdiNames::kNone;
  });
}

// /var/run is a link to /run on every node.
std::string as_one_place(const std::string& directory) {
  const std::string path = fs::path(directory + '/').lexically_normal().parent_path();
  return path.starts_with("/var/run/") ? path.substr(4) : path;
}

Findings directory_findings(const Observed& observed, const RuntimeSettings& settings) {
  const std::string ours = observed.config ? observed.config->cdi.directory.string() : "";
  if (ours.empty() || std::ranges::any_of(settings.spec_dirs, [&](const std::string& directory) {
        return as_one_place(directory) == as_one_place(ours);
      }))
    return {};
  return {{.level = Level::kProblem,
           .where = settings.file,
           .what = settings.runtime + " looks for CDI specifications in " + joined(settings.spec_dirs, ", ") +
                   ", and plughost writes them into " + ours,
           .why = "containers that get such a device do not start: 'unresolvable CDI devices'",
           .advice = "add " + ours + " to cdi_spec_dirs of " + settings.runtime +
                     ", or set `cdi: {directory: …}` to one of these"}};
}

Findings runtime_findings(RuntimeSettings settings, const std::string& version) {
  using Cdi = RuntimeSettings::Cdi;
  Findings found;
  const bool first = version.starts_with("1.");
  if (settings.cdi == Cdi::kOffByDefault && settings.runtime == "containerd" && !version.empty() && !first)
    settings.cdi = Cdi::kOn;
  for (const std::string& trouble : settings.troubles)
    found.push_back({.level = Level::kWarning,
                     .where = settings.file,
                     .what = trouble,
                     .why = "what " + settings.runtime + " does with CDI devices is not known",
                     .advice = "correct the file, or run this as root"});
  if (settings.cdi == Cdi::kOn || !settings.troubles.empty()) return found;
  const bool off = settings.cdi == Cdi::kOff;
  found.push_back(
      {.level = off || first ? Level::kProblem : Level::kWarning,
       .where = settings.file,
       .what = off     ? "CDI is turned off for " + settings.runtime
               : first ? "this file does not turn CDI on, and containerd " + version +
                             " has it off then, or does not know it"
                       : "this file does not turn CDI on; containerd 1.7 has it off then, 1.6 does "
                         "not know it, 2 has it on",
       .why = "the runtime ignores CDI devices silently: containers start without them",
       .advice = "set `enable_cdi = true` in [plugins.\"io.containerd.grpc.v1.cri\"] (containerd 2: "
                 "[plugins.\"io.containerd.cri.v1.runtime\"]) and restart containerd"});
  return found;
}

using Version = std::array<unsigned, 3>;
constexpr Version kContainerdOfInterfaces{2, 2, 1};
constexpr Version kRuncOfInterfaces{1, 4, 0};

// Of a line such as "runc version 1.1.5+ds1" or "containerd github.com/containerd/containerd/v2 v2.2.1 1b0a".
std::optional<Version> version_in(const std::string& line) {
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    Version version{};
    const char* at = word.data() + (word.starts_with('v') ? 1 : 0);
    const char* const end = word.data() + word.size();
    std::size_t numbers = 0;
    for (; numbers < version.size(); ++numbers) {
      const auto [rest, error] = std::from_chars(at, end, version[numbers]);
      if (error != std::errc{}) break;
      at = rest;
      if (numbers + 1 < version.size() && (at == end || *at++ != '.')) break;
    }
    if (numbers == version.size()) return version;
  }
  return std::nullopt;
}

std::string text_of(const Version& version) {
  return std::to_string(version[0]) + '.' + std::to_string(version[1]) + '.' + std::to_string(version[2]);
}

// line: what it says of its version.
void judge(const std::string& program, const std::string& line, const Version& first, const std::string& why,
           Findings& found) {
  const auto version = line.starts_with(program) ? version_in(line) : std::nullopt;
  if (!version)
    found.push_back({.level = Level::kNote,
                     .where = program,
                     .what = "its version is not to be seen",
                     .why = "it is not known whether it moves network interfaces: " + why,
                     .advice = "see by hand that it is " + text_of(first) +
                               " or newer, or, of another runtime, "
                               "that it knows `netDevices` of CDI and OCI"});
  else if (*version < first)
    found.push_back({.level = Level::kProblem,
                     .where = program,
                     .what = "this is " + text_of(*version) + ", and `netDevices` needs " + text_of(first),
                     .why = why,
                     .advice = "upgrade " + program + ", or take `netDevices` out of the configuration"});
  else
    found.push_back({.where = program, .what = program + ' ' + text_of(*version) + " knows `netDevices`"});
}

}  // namespace

Findings check_cdi(const HostRoot& host, const Observed& observed) {
  const std::set<std::string> promised = promised_kinds(observed.devices);
  const bool own = has_own_names(observed.devices);
  if (promised.empty() && !own) return {{.where = observed.file, .what = "no resource uses CDI"}};
  const auto settings = runtime_settings(host, kubernetes_of(host).containerd);
  if (!settings)
    return {{.level = Level::kNote,
             .where = "container runtime",
             .what = "neither containerd nor CRI-O, nor a configuration of theirs, is to be seen",
             .why = "it is not known whether the runtime takes CDI devices",
             .advice = "see to its settings by hand: CDI has to be on"}};
  Findings found = runtime_findings(*settings, containerd_version(observed));
  if (own) std::ranges::move(directory_findings(observed, *settings), std::back_inserter(found));
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
  if (found.empty())
    found.push_back({.where = settings->file,
                     .what = settings->runtime + " takes CDI devices, and all kinds are specified"});
  return found;
}

Findings check_net_devices(const HostRoot&, const Observed& observed) {
  const auto moves = [](const ResourceConfig& resource) { return !resource.recipe->net_devices.empty(); };
  if (!observed.config || std::ranges::none_of(observed.config->resources, moves))
    return {{.where = observed.file, .what = "no entry has `netDevices`"}};
  Findings found;
  judge("containerd", observed.containerd_version, kContainerdOfInterfaces,
        "an older one refuses a CDI specification of version " + std::string(kCdiOfInterfaces) +
            ": containers that get such a device do not start: 'unresolvable CDI devices'",
        found);
  judge("runc", observed.runc_version, kRuncOfInterfaces,
        "an older one ignores the interfaces silently: containers start without them", found);
  return found;
}

Findings check_dev_char(const HostRoot& host, const Observed& observed) {
  std::vector<std::string> missing;
  std::string first;
  for (const auto& [path, numbers] : observed.numbers) {
    const std::string link = std::string(numbers.block ? "/dev/block/" : "/dev/char/") +
                             std::to_string(numbers.major) + ':' + std::to_string(numbers.minor);
    std::error_code failed;
    if (fs::is_symlink(host.at(link), failed)) continue;
    if (first.empty()) first = "`ln -s " + path + ' ' + link + '`';
    if (missing.size() < kMostShown) missing.push_back(link + " (" + path + ")");
  }
  if (missing.empty())
    return {{.where = "/dev/char",
             .what = "every device node has its link there: " + std::to_string(observed.numbers.size())}};
  std::error_code failed;
  const bool systemd = fs::exists(host.at("/run/systemd/system"), failed);
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
