#pragma once
// Which Kubernetes runs on a node, or would after the next boot, and where its kubelet has what plughost
// uses. Looks at processes, units and paths; what they say wins over what is usual. Thread-safe; may block on
// the file system.

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/hardware/host_root.hpp"

namespace plughost {

// Which operating system this is, as os-release(5) says. Thread-safe; may block on the file system.
struct OsRelease {
  std::string id;    // "flatcar"; empty: nobody says
  std::string name;  // "Flatcar Container Linux by Kinvolk 4081.2.0", for people; id where there is none
  bool openshift = false;  // a CoreOS that OpenShift looks after

  // Nothing can be installed on it, and it starts no unit of ours: what runs there is a container.
  bool takes_containers_only() const { return id == "talos" || id == "bottlerocket"; }
};

OsRelease os_release(const HostRoot& host);

inline constexpr const char* kKubeletUnit = "kubelet.service";
inline constexpr const char* kKubeletRoot = "/var/lib/kubelet";

// A way to have a kubelet on a node.
struct Distribution {
  std::string_view name;  // "k3s"
  // That the kubelet runs in: one of them, or one for each of a node's roles.
  std::vector<std::string_view> units;
  // That only it has.
  std::vector<std::string_view> paths;
  // Others have units of these names, too: they are its own only where one of its paths is.
  bool shares_units = false;
  std::string_view root = kKubeletRoot;  // the kubelet's root directory, unless somebody has said otherwise
  // Files, besides its units', that may say otherwise: patterns.
  std::vector<std::string_view> arguments;
  // Of the containerd that it brings along; empty: it brings none.
  std::string_view containerd;
  // Files that may have the kubelet's own credentials, the usual one first.
  std::vector<std::string_view> kubeconfigs = {};
};

// Every one that is known. The last is any other whose kubelet has a unit to itself.
std::span<const Distribution> distributions();
// nullptr: there is none of that name.
const Distribution* distribution_of(std::string_view name);

struct Sign {
  const Distribution* distribution = nullptr;
  std::string why;                 // "process 812 (/usr/bin/kubelet) is in kubelet.service"
  std::vector<std::string> units;  // that the kubelet runs in

  bool operator==(const Sign&) const = default;
};

// The strongest signs: of what runs; else of what is enabled; else of what is installed; else of what was
// left behind. At most one for each distribution.
std::vector<Sign> signs_of_kubernetes(const HostRoot& host);
// The strongest sign of that one, where somebody has said that it counts.
Sign sign_of(const HostRoot& host, const Distribution& distribution);

struct Kubernetes {
  std::string name;                           // "k3s"; empty: none is to be seen
  std::string why;                            // we think so
  std::vector<std::string> units;             // that the kubelet runs in; the usual one if none is known
  std::filesystem::path root = kKubeletRoot;  // the kubelet's --root-dir
  std::string root_why;                       // who says that; empty: it is the usual one
  std::filesystem::path directory;            // where plugins register
  std::string containerd;                     // its configuration, where it is not the usual one
};

// nullptr: none is to be seen, and what is usual is assumed.
Kubernetes kubernetes_of(const HostRoot& host, const Sign* sign);
// The same of a node that runs one, and of any other as if none was to be seen.
Kubernetes kubernetes_of(const HostRoot& host);

// The value of a command line's option in a text of any kind: "--root-dir=/data", "--root-dir /data",
// `kubelet-arg: ["root-dir=/data"]`; the last, if it is there several times. Comments do not count. Empty: it
// is not there.
std::string option_in(std::string_view text, std::string_view option);

}  // namespace plughost
