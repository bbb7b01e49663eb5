#include <algorithm>
#include <set>

#include "doctor/checks.hpp"
#include "doctor/known_processes.hpp"
#include "host/file_text.hpp"
#include "kubelet/checkpoint.hpp"
#include "kubelet/socket_name.hpp"
#include "supervisor/agreement.hpp"

namespace plughost {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostCheckpoint = 256u << 20;

// Of the plugins: neither the kubelet's, nor that of its pod resources.
bool of_a_plugin(const Observed& observed, const fs::path& socket) {
  return socket.filename() != "kubelet.sock" && socket != observed.kubelet().pod_resources &&
         socket != observed.control();
}

bool ours(const fs::path& socket) {
  return socket.filename().string().starts_with(kSocketPrefix);
}

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

std::string texts_of(const std::vector<OtherPlugin>& plugins) {
  std::string text;
  for (const OtherPlugin& plugin : plugins) text += (text.empty() ? "" : ", ") + plugin.text();
  return text;
}

// Ids of the resource that the kubelet knows, and the configuration does not.
std::set<std::string> unlisted_ids(const Checkpoint& checkpoint, const Offer& offer) {
  std::set<std::string> unlisted;
  const auto take = [&](const std::vector<std::string>& ids) {
    for (const std::string& id : ids) {
      if (!offer.inventory.find(id)) unlisted.insert(id);
    }
  };
  if (const auto registered = checkpoint.registered.find(offer.resource);
      registered != checkpoint.registered.end())
    take(registered->second);
  for (const Checkpoint::PodDevices& entry : checkpoint.pod_devices) {
    if (entry.resource != offer.resource) continue;
    for (const auto& [node, ids] : entry.ids) take(ids);
  }
  return unlisted;
}

std::string some_of(const std::set<std::string>& ids) {
  std::string text;
  std::size_t shown = 0;
  for (const std::string& id : ids) {
    if (shown++ == kMostShown) return text + " and " + std::to_string(ids.size() - kMostShown) + " more";
    text += (text.empty() ? "" : ", ") + id;
  }
  return text;
}

constexpr const char* kTwoOwners =
    "of two plugins with one resource name the kubelet keeps the one that registered last, and cuts the "
    "other off";

Findings owners_by_command_line(const std::vector<OtherPlugin>& others, const Observed& observed) {
  Findings found;
  for (const OtherPlugin& other : others) {
    if (!other.process) continue;
    for (const Offer& offer : observed.devices.offers) {
      const bool named = std::ranges::any_of(other.process->arguments, [&](const std::string& argument) {
        return argument.find(offer.resource) != std::string::npos;
      });
      if (named)
        found.push_back(
            {.level = Level::kProblem,
             .where = offer.resource,
             .what = other.text() + " names this resource, too",
             .why = kTwoOwners,
             .advice = "stop that plugin, or give the entry in " + observed.file.string() + " another name"});
    }
  }
  return found;
}

// What there is to say of the daemon that has this configuration.
Finding answering(const SeenProcess& process, const Observed& observed) {
  const std::string socket = process.option("--control").value_or(observed.control());
  const auto found = observed.sockets.find(socket);
  const bool silent = found == observed.sockets.end() || found->second.state == SocketOwner::State::kNobody;
  if (!silent) return {.where = process.text(), .what = "plughost runs"};
  return {.level = Level::kWarning,
          .where = process.text(),
          .what = "plughost runs, but does not answer on " + socket,
          .why = "`plughost status`, `events` and `reload` cannot ask it",
          .advice = "its log says why it has no control socket: `journalctl -u plughost`"};
}

}  // namespace

Findings check_daemon(const HostRoot& host, const Observed& observed) {
  Findings found;
  for (const SeenProcess& process : daemons(host)) {
    // Without the option it is the default, as ours is as a rule.
    const fs::path file = process.option("--config").value_or(observed.file);
    std::error_code failed;
    if (file == observed.file || fs::equivalent(file, observed.file, failed))
      found.push_back(answering(process, observed));
    else
      found.push_back({.level = Level::kNote,
                       .where = process.text(),
                       .what = "plughost runs with " + file.string() + ", not with " + observed.file.string(),
                       .why = "what is said here of resources and devices is about another configuration",
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
                       .what = "a socket of plughost's that nobody listens on",
                       .why = "plughost was killed, and could not remove it",
                       .advice = "nothing: plughost removes it when it starts"});
    else
      found.push_back(
          {.level = Level::kWarning,
           .where = path,
           .what = "a socket of another plugin that nobody listens on",
           .why = watched ? "the kubelet tries it again and again, and fills its log"
                          : "that plugin does not run, and the node lacks its devices",
           .advice = "start the plugin that made it, or `rm " + path + "` if it is not used any more"});
  }
  if (found.empty())
    found.push_back({.where = observed.kubelet().socket_directory(),
                     .what = "no stale socket; plugins that listen: " + std::to_string(alive)});
  return found;
}

Findings check_owners(const HostRoot& host, const Observed& observed) {
  if (!observed.config) return {};
  const std::vector<OtherPlugin> others = other_plugins(host, observed);
  Findings found = owners_by_command_line(others, observed);
  const fs::path path = observed.kubelet().directory / kCheckpointName;
  if (const auto text = file_text(host.at(path), kMostCheckpoint)) {
    const Checkpoint checkpoint = Checkpoint::parse(*text);
    for (const Offer& offer : observed.devices.offers) {
      const std::set<std::string> unlisted = unlisted_ids(checkpoint, offer);
      if (unlisted.empty()) continue;
      Finding finding{.level = Level::kNote,
                      .where = offer.resource,
                      .what = "the kubelet's checkpoint has devices of it that this configuration has not: " +
                              some_of(unlisted),
                      .why = "they are gone, or another plugin served this name before",
                      .advice = "`plughost checkpoint " + path.string() +
                                "` says which pods hold them; if the ids "
                                "look like another plugin's, see that it does not come back"};
      if (!others.empty()) {
        finding.level = Level::kWarning;
        finding.why = std::string("another plugin may serve this name: ") + kTwoOwners;
        finding.advice =
            "find out which of these it is, and stop it or name the entry otherwise: " + texts_of(others);
      }
      found.push_back(std::move(finding));
    }
  }
  if (found.empty())
    found.push_back({.where = observed.kubelet().directory,
                     .what = others.empty()
                                 ? "no other plugin is here"
                                 : "no sign that these serve a resource of ours: " + texts_of(others)});
  return found;
}

Findings check_counts(const HostRoot& host, const Observed& observed) {
  if (!observed.counted || daemons(host).empty()) return {};  // other checks tell of that
  Findings found;
  std::size_t agreed = 0;
  for (const Offer& offer : observed.devices.offers) {
    const auto counted = observed.counted->find(offer.resource);
    const Disagreement disagreement = compare(
        offer.inventory, counted == observed.counted->end() ? std::vector<std::string>() : counted->second);
    if (disagreement.none()) {
      ++agreed;
      continue;
    }
    found.push_back(
        {.level = Level::kWarning,
         .where = offer.resource,
         .what = "the kubelet counts other devices: " + disagreement.text(),
         .why = "pods are given what it counts",
         .advice =
             "`plughost status` has the list that the kubelet was sent, in which a health check, or a "
             "pause after much flapping, may have its say; where that is what the kubelet disagrees with, "
             "plughost's log says so"});
  }
  if (found.empty() && agreed > 0)
    found.push_back({.where = observed.kubelet().pod_resources,
                     .what = "the kubelet counts the devices of every resource: " + std::to_string(agreed)});
  return found;
}

}  // namespace plughost
