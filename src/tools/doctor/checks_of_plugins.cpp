#include <absl/strings/escaping.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "base/system/unix_socket.hpp"
#include "base/text/ascii.hpp"
#include "base/text/text.hpp"
#include "config/places.hpp"
#include "daemon/drain/drain_controller.hpp"
#include "daemon/publish/allocatable_check.hpp"
#include "kubernetes/kubelet/checkpoint.hpp"
#include "tools/doctor/doctor.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostCheckpoint = 256u << 20;

// Returns true for a plugin's socket, as opposed to the sockets of the kubelet and of its pod resources.
bool of_a_plugin(const Observed& observed, const fs::path& socket) {
  return socket.filename() != "kubelet.sock" && socket != observed.kubelet().pod_resources &&
         socket != observed.control();
}

bool ours(const fs::path& socket) { return socket.filename().string().starts_with(kSocketPrefix); }

struct OtherPlugin {
  std::string socket;
  std::optional<SeenProcess> process;

  std::string text() const { return socket + (process ? " of " + process->text() : ""); }
};

std::vector<OtherPlugin> other_plugins(const HostRoot& host, const Observed& observed) {
  std::vector<OtherPlugin> all;
  for (const auto& [path, owner] : observed.sockets) {
    if (of_a_plugin(observed, path) && !ours(path) && owner.state == SocketOwner::State::kListens)
      all.push_back({path, owner.process == 0 ? std::nullopt : process_of(host, owner.process)});
  }
  return all;
}

// Returns how to stop the plugin for good.
std::string how_to_stop(const std::optional<SeenProcess>& process) {
  if (!process) return "stop that plugin";
  if (!process->pod.empty())
    return "stop that plugin: it is in the pod with the UID " + process->pod +
           ", which `kubectl get pods -A -o custom-columns=NAMESPACE:.metadata.namespace,POD:.metadata.name,"
           "UID:.metadata.uid | grep " +
           process->pod + "` names; take its DaemonSet off this node, or delete it";
  if (!process->unit.empty()) return "stop that plugin: `systemctl disable --now " + process->unit + "`";
  return "stop that plugin: `kill " + std::to_string(process->id) + "`, and see that nothing starts it again";
}

bool is_of_a_name(char c) { return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.'; }

// Returns true if `word` occurs as a whole word.
bool has_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_of_a_name(text[at - 1])) && (end == text.size() || !is_of_a_name(text[end])))
      return true;
  }
  return false;
}

// Returns true if the command line has the resource's name, or its two parts apart, as in `--domain
// example.com --device {"name": "serial"}`.
bool says(const std::vector<std::string>& arguments, const std::string& resource) {
  const auto one_has = [&](std::string_view word) {
    return std::ranges::any_of(arguments, [&](const std::string& each) { return has_word(each, word); });
  };
  const std::size_t slash = resource.find('/');
  return one_has(resource) || (one_has(std::string_view(resource).substr(0, slash)) &&
                               one_has(std::string_view(resource).substr(slash + 1)));
}

// Returns true if the socket is named after the resource: with another character for '/', or in base 64.
bool named_after(const fs::path& socket, const std::string& resource) {
  const std::string name = socket.stem();
  for (const char instead : {'_', '-'}) {
    std::string plain = resource;
    std::ranges::replace(plain, '/', instead);
    if (has_word(name, plain) || name.starts_with(plain) || name.ends_with(plain)) return true;
  }
  std::istringstream parts(name);
  for (std::string part; std::getline(parts, part, '-');) {
    std::string decoded;
    if (absl::Base64Unescape(part, &decoded) && decoded == resource) return true;
  }
  return false;
}

std::string texts_of(const std::vector<OtherPlugin>& plugins) {
  std::vector<std::string> texts;
  for (const OtherPlugin& plugin : plugins) texts.push_back(plugin.text());
  return joined(texts, ", ");
}

// Returns ids of the resource that the kubelet knows and the configuration does not.
std::set<std::string> unlisted_ids(const Checkpoint& checkpoint, const ResourceSnapshot& snapshot) {
  std::set<std::string> unlisted;
  const auto take = [&](const std::vector<std::string>& ids) {
    for (const std::string& id : ids) {
      if (!snapshot.inventory.find(id)) unlisted.insert(id);
    }
  };
  if (const auto registered = checkpoint.registered.find(snapshot.resource);
      registered != checkpoint.registered.end())
    take(registered->second);
  for (const Checkpoint::PodDevices& entry : checkpoint.pod_devices) {
    if (entry.resource != snapshot.resource) continue;
    for (const auto& [node, ids] : entry.ids) take(ids);
  }
  return unlisted;
}

std::string some_of(const std::set<std::string>& ids) {
  if (ids.size() <= kMostShown) return joined(ids, ", ");
  const std::vector<std::string> some(ids.begin(), std::next(ids.begin(), kMostShown));
  return joined(some, ", ") + " and " + std::to_string(ids.size() - kMostShown) + " more";
}

constexpr const char* kTwoOwners =
    "of two plugins with one resource name the kubelet keeps the one that registered last, and cuts the "
    "other off";

Findings owners_by_name(const std::vector<OtherPlugin>& others, const Observed& observed) {
  Findings found;
  for (const OtherPlugin& other : others) {
    for (const ResourceSnapshot& snapshot : observed.devices.snapshots) {
      const bool by_process = other.process && says(other.process->arguments, snapshot.resource);
      if (!by_process && !named_after(other.socket, snapshot.resource)) continue;
      found.push_back({.level = Level::kProblem,
                       .where = snapshot.resource,
                       .what = other.text() + " names this resource, too",
                       .why = kTwoOwners,
                       .advice = how_to_stop(other.process) + "; or give the entry in " +
                                 observed.file.string() + " another name"});
    }
  }
  return found;
}

// Returns the finding on the daemon that uses this configuration.
Finding answering(const SeenProcess& process, const Observed& observed) {
  const std::string socket = process.option("--control").value_or(observed.control());
  const auto found = observed.sockets.find(socket);
  const bool silent = found == observed.sockets.end() || found->second.state == SocketOwner::State::kNobody;
  if (!silent) return {.where = process.text(), .what = "plughost runs"};
  return {.level = Level::kWarning,
          .where = process.text(),
          .what = "plughost runs, but does not answer on " + socket,
          .why = "`plughost status`, `events` and `reload` cannot reach it",
          .advice = "its log has the reason: `journalctl -u plughost`"};
}

}  // namespace

Findings check_daemon(const HostRoot& host, const Observed& observed) {
  Findings found;
  for (const SeenProcess& process : daemons(host)) {
    // Without the option, the daemon and the doctor use the default.
    const fs::path file = process.option("--config").value_or(observed.file);
    std::error_code failed;
    if (file == observed.file || fs::equivalent(file, observed.file, failed))
      found.push_back(answering(process, observed));
    else
      found.push_back({.level = Level::kNote,
                       .where = process.text(),
                       .what = "plughost runs with " + file.string() + ", not with " + observed.file.string(),
                       .why = "the findings about resources and devices are for a different configuration",
                       .advice = "`plughost doctor --config " + file.string() + "`"});
  }
  if (found.empty())
    found.push_back(
        {.level = Level::kWarning,
         .where = "plughost",
         .what = "it does not run, or its process cannot be seen from here",
         .why = "the node offers none of the configured resources",
         .advice = "`systemctl start plughost`, and `journalctl -u plughost` if it does not stay"});
  return found;
}

Findings check_stale_sockets(const HostRoot&, const Observed& observed) {
  Findings found;
  std::size_t alive = 0;
  for (const auto& [path, owner] : observed.sockets) {
    if (!of_a_plugin(observed, path)) continue;
    if (owner.state == SocketOwner::State::kListens) ++alive;
    if (owner.state != SocketOwner::State::kNobody) continue;
    const bool watched = fs::path(path).parent_path() == observed.kubelet().plugins_registry;
    if (ours(path))
      found.push_back({.level = Level::kNote,
                       .where = path,
                       .what = "a socket of plughost that no process listens on",
                       .why = "plughost was killed, and could not remove it",
                       .advice = "nothing: plughost removes it when it starts"});
    else
      found.push_back(
          {.level = Level::kWarning,
           .where = path,
           .what = "a socket of another plugin that no process listens on",
           .why = watched ? "the kubelet tries it again and again, and fills its log"
                          : "that plugin does not run, and the node lacks its devices",
           .advice = "start the plugin that made it, or `rm " + path + "` if it is not used any more"});
  }
  return or_ok(std::move(found), observed.kubelet().socket_directory(),
               "no stale socket; plugins that listen: " + std::to_string(alive));
}

Findings check_owners(const HostRoot& host, const Observed& observed) {
  if (!observed.config) return {};
  const std::vector<OtherPlugin> others = other_plugins(host, observed);
  Findings found = owners_by_name(others, observed);
  const fs::path path = observed.kubelet().directory / kCheckpointName;
  if (const auto text = host.text(path, kMostCheckpoint)) {
    const Checkpoint checkpoint = Checkpoint::parse(*text);
    for (const ResourceSnapshot& snapshot : observed.devices.snapshots) {
      const std::set<std::string> unlisted = unlisted_ids(checkpoint, snapshot);
      if (unlisted.empty()) continue;
      Finding finding{.level = Level::kNote,
                      .where = snapshot.resource,
                      .what = "the kubelet's checkpoint has devices of it that this configuration has not: " +
                              some_of(unlisted),
                      .why = "they are gone, or another plugin served this name before",
                      .advice = "`plughost checkpoint " + path.string() +
                                "` says which pods hold them; if the ids look like another plugin's, see "
                                "that it does not come back"};
      if (!others.empty()) {
        finding.level = Level::kWarning;
        finding.why = std::string("another plugin may serve this name: ") + kTwoOwners;
        finding.advice =
            "find out which of these it is, and stop it or name the entry otherwise: " + texts_of(others);
        if (others.size() == 1)
          finding.advice = "if it is " + others[0].text() + ", " + how_to_stop(others[0].process) +
                           "; or name the entry otherwise";
      }
      found.push_back(std::move(finding));
    }
  }
  return or_ok(std::move(found), observed.kubelet().directory,
               others.empty() ? "no other plugin runs"
                              : "no sign that these serve a resource of ours: " + texts_of(others));
}

Findings check_served(const HostRoot&, const Observed& observed) {
  if (!observed.counted || !observed.config) return {};
  std::vector<std::string> counted;  // the resources of others of which the kubelet has devices to give
  for (const auto& [resource, ids] : *observed.counted)
    if (!ids.empty() && std::ranges::find(observed.devices.snapshots, resource,
                                          &ResourceSnapshot::resource) == observed.devices.snapshots.end())
      counted.push_back(resource);
  std::size_t streams = 0;  // the kubelet has at least one connection for each resource
  for (const auto& [path, owner] : observed.sockets) {
    if (!of_a_plugin(observed, path) || ours(path) || owner.state == SocketOwner::State::kNobody) continue;
    if (!owner.connections) return {};
    streams += *owner.connections;
  }
  if (streams >= counted.size())
    return or_ok({}, observed.kubelet().directory,
                 "a plugin serves each of the others' resources: " + std::to_string(counted.size()));
  const std::string names = joined(std::span(counted).first(std::min(counted.size(), kMostShown)), ", ") +
                            (counted.size() > kMostShown ? " ..." : "");
  return {{.level = Level::kWarning,
           .where = names,
           .what = streams == 0 ? "the kubelet counts devices, and no plugin serves them"
                                : "the kubelet counts devices of " + std::to_string(counted.size()) +
                                      " resources, and plugins serve " + std::to_string(streams) + " of them",
           .why =
               "pods are given these devices, and do not start. From 1.37 on, the kubelet keeps the devices "
               "of a plugin that has registered one name of its socket twice",
           .advice = "restart the kubelet, which then counts anew; the plugin needs a new name of its socket "
                     "for each registration"}};
}

Findings check_counts(const HostRoot& host, const Observed& observed) {
  if (!observed.counted || daemons(host).empty()) return {};  // other checks report that
  Findings found;
  std::size_t agreed = 0;
  for (const ResourceSnapshot& snapshot : observed.devices.snapshots) {
    const auto counted = observed.counted->find(snapshot.resource);
    const Disagreement disagreement =
        compare(snapshot.inventory,
                counted == observed.counted->end() ? std::vector<std::string>() : counted->second);
    if (disagreement.none()) {
      ++agreed;
      continue;
    }
    found.push_back({.level = Level::kWarning,
                     .where = snapshot.resource,
                     .what = "the kubelet counts other devices: " + disagreement.text(),
                     .why = "pods are given what it counts",
                     .advice = "`plughost status` has the list that the kubelet was sent, in which a health "
                               "check, or a pause after much flapping, may be the reason; where that is what "
                               "the kubelet disagrees with, plughost's log says so"});
  }
  if (found.empty() && agreed > 0)
    found.push_back({.where = observed.kubelet().pod_resources,
                     .what = "the kubelet counts the devices of every resource: " + std::to_string(agreed)});
  return found;
}

Findings check_drains(const HostRoot& host, const Observed&) {
  const std::string file = std::string(kStateDirectory) + '/' + DrainFile::kName;
  const std::optional<std::string> text = host.text(file, DrainFile::kMostBytes);
  if (!text) return {};  // nothing has been drained, or only root may read it
  const DrainSet::Parsed parsed = DrainSet::parse(*text);
  if (parsed.incomplete || parsed.drains.unreadable())
    return {{.level = Level::kProblem,
             .where = file,
             .what = "it is unknown which devices are drained, so that every device is out of service",
             .why = "the file was damaged, and no new pod gets a device of this node until somebody decides",
             .advice = "drain again what must stay out (`plughost drain NAME=ID`; " + file +
                       ".broken may name it), then run `plughost undrain --unreadable`"}};
  std::vector<std::string> names;
  for (const auto& [name, drain] : parsed.drains.all()) names.push_back(name.text());
  const std::size_t more = names.size() - std::min(names.size(), kMostShown);
  names.resize(names.size() - more);
  if (names.empty()) return {};
  return {
      {.level = Level::kNote,
       .where = file,
       .what = "drained: " + joined(names, ", ") + (more > 0 ? " and " + std::to_string(more) + " more" : ""),
       .why = "no new pod gets what is drained",
       .advice = "`plughost undrain NAME=ID` returns it to service; `plughost status` has the reasons"}};
}

}  // namespace plughost
