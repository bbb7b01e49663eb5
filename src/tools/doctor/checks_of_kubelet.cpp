#include <sys/stat.h>

#include "base/text/text.hpp"
#include "host/services/kubernetes.hpp"
#include "tools/doctor/doctor.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;

constexpr int kOldestMinor = 20;  // oldest version in docs/conformance.md

const SocketOwner* socket_of(const Observed& observed, const fs::path& path) {
  const auto found = observed.sockets.find(path);
  return found == observed.sockets.end() ? nullptr : &found->second;
}

// Returns the root directory of the running kubelet, or of this node's Kubernetes.
fs::path root_of(const HostRoot& host, const std::optional<SeenProcess>& kubelet) {
  const auto told = kubelet ? kubelet->option("--root-dir") : std::nullopt;
  if (!told) return kubernetes_of(host).root;
  const fs::path root = *told;
  return root.has_filename() ? root : root.parent_path();
}

// Returns the 26 of "Kubernetes v1.26.15" or "k3s version v1.26.15+k3s1 (…)".
std::optional<int> minor_of(const std::string& version) {
  const std::size_t at = version.find("v1.");
  if (at == version.npos) return std::nullopt;
  const std::string rest = version.substr(at + 3);
  return number_in<int>(rest.substr(0, rest.find_first_not_of("0123456789")));
}

Finding no_kubelet(const HostRoot& host, const Observed& observed, std::string where, std::string what) {
  const std::string unit = kubernetes_of(host).units.front();
  Finding finding{
      .level = Level::kProblem,
      .where = std::move(where),
      .what = std::move(what),
      .why = "there is no kubelet to offer devices to; plughost waits, and registers when one starts",
      .advice = "start the kubelet: `systemctl status " + unit + "`, `journalctl -u " + unit + "`"};
  for (const SeenProcess& process : processes(host)) {
    if (process.name() != "kubelet") continue;
    finding.what += ", but " + process.text() + " runs";
    finding.advice = "the kubelet makes its socket in " + std::string(kKubeletRoot) +
                     "/device-plugins whatever its --root-dir says: set `kubelet.directory` in " +
                     observed.file.string() + " to that, and mount it if plughost is in a container";
  }
  return finding;
}

}  // namespace

Findings check_kubelet_directory(const HostRoot& host, const Observed& observed) {
  const fs::path& directory = observed.kubelet().directory;
  struct stat status {};
  if (::stat(host.at(directory).c_str(), &status) != 0 || !S_ISDIR(status.st_mode))
    return {{.level = Level::kProblem,
             .where = directory,
             .what = "there is no such directory, or it cannot be read",
             .why = "the kubelet makes it when it first starts; until then nothing can be registered",
             .advice = "start the kubelet, run this as root, and see that `kubelet.directory` in " +
                       observed.file.string() + " names the kubelet's own directory"}};
  Findings found;
  if (status.st_uid != 0 && status.st_uid != observed.user)
    found.push_back({.level = Level::kProblem,
                     .where = directory,
                     .what = "it belongs to the user " + std::to_string(status.st_uid) + ", not to root",
                     .why = "that user can take the place of any device plugin of this node",
                     .advice = "find out why; then `chown root:root " + directory.string() + "`"});
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    found.push_back(
        {.level = Level::kProblem,
         .where = directory,
         .what = "others than its owner may write to it",
         .why = "they can take the place of any device plugin of this node",
         .advice = "`chmod go-w " + directory.string() + "`; the kubelet makes it with mode 0750"});
  if (observed.user != 0 && status.st_uid != observed.user)
    found.push_back({.level = Level::kNote,
                     .where = directory,
                     .what = "we are not root, and it belongs to another user",
                     .why = "its content cannot be checked, and `plughost run` could not serve from it",
                     .advice = "run this as root"});
  return or_ok(std::move(found), directory, "its owner and its mode are right");
}

Findings check_kubelet(const HostRoot& host, const Observed& observed) {
  const fs::path path = observed.kubelet().directory / "kubelet.sock";
  const SocketOwner* const owner = socket_of(observed, path);
  if (!owner) return {no_kubelet(host, observed, path, "there is no kubelet's socket")};
  if (owner->state == SocketOwner::State::kNobody)
    return {no_kubelet(host, observed, path, "the socket exists, but no process listens on it")};
  if (owner->state == SocketOwner::State::kUnknown)
    return {{.level = Level::kNote,
             .where = path,
             .what = "we may not connect to it",
             .why = "it is not known whether a kubelet listens",
             .advice = "run this as root"}};

  const auto process = kubelet_process(host, observed);
  const std::string who = process ? process->text() : "a process that cannot be seen from here";
  Findings found;
  if (const auto minor = minor_of(observed.kubelet_version); minor && *minor < kOldestMinor)
    found.push_back({.level = Level::kWarning,
                     .where = who,
                     .what = "this kubelet is " + observed.kubelet_version + ", older than 1.20",
                     .why = "plughost is not tested with kubelets that old",
                     .advice = "upgrade the node"});
  const fs::path registry = root_of(host, process) / "plugins_registry";
  const bool by_registry = observed.kubelet().registration == KubeletConfig::Registration::kPluginsRegistry;
  if (by_registry && process && observed.kubelet().plugins_registry != registry)
    found.push_back(
        {.level = Level::kProblem,
         .where = observed.kubelet().plugins_registry,
         .what = "this kubelet looks for plugins in " + registry.string(),
         .why = "it never finds our sockets: its --root-dir is " + root_of(host, process).string(),
         .advice = "`plughost setup` writes it down; or set `kubelet.pluginsRegistry: " + registry.string() +
                   "` in " + observed.file.string()});
  return or_ok(
      std::move(found), path,
      (observed.kubelet_version.empty() ? "a kubelet of unknown version" : observed.kubelet_version) + ", " +
          who);
}

Findings check_pod_resources(const HostRoot& host, const Observed& observed) {
  const fs::path& path = observed.kubelet().pod_resources;
  const SocketOwner* const owner = socket_of(observed, path);
  if (owner && owner->state == SocketOwner::State::kListens)
    return {{.where = path, .what = "the kubelet answers there"}};
  Finding finding{
      .level = Level::kWarning,
      .where = path,
      .what = owner ? "the socket exists, but no process responds on it" : "there is no such socket",
      .why = "it is not known which pod holds which device: one that vanished stays listed",
      .advice =
          "see that the kubelet runs and that this is root; before Kubernetes 1.28 the feature gate "
          "KubeletPodResources may be off"};
  const auto process = kubelet_process(host, observed);
  const fs::path expected = root_of(host, process) / "pod-resources/kubelet.sock";
  if (process && expected != path) {
    finding.what += "; this kubelet's root directory is " + root_of(host, process).string();
    finding.advice = "`plughost setup` writes it down; or set `kubelet.podResources: " + expected.string() +
                     "` in " + observed.file.string();
  }
  return {finding};
}

}  // namespace plughost
