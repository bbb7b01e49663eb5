#pragma once
// Detects the Kubernetes that runs on the node, or would run after a reboot, and those paths of its kubelet
// that plughost uses. Examines processes, units and paths, which override the defaults. Thread-safe; may
// block on the file system.

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/hardware/host_root.hpp"

namespace plughost {

// The operating system according to os-release(5). Thread-safe; may block on the file system.
struct OsRelease {
  std::string id;    // "flatcar"; empty: unknown
  std::string name;  // "Flatcar Container Linux by Kinvolk 4081.2.0", for messages; the id if there is none
  bool openshift = false;  // a CoreOS managed by OpenShift

  // Returns true if programs and units cannot be installed, so that only containers run.
  bool takes_containers_only() const { return id == "talos" || id == "bottlerocket"; }
};

OsRelease os_release(const HostRoot& host);

inline constexpr const char* kKubeletUnit = "kubelet.service";
inline constexpr const char* kKubeletRoot = "/var/lib/kubelet";

// A distribution of Kubernetes, or another way to run a kubelet.
struct Distribution {
  std::string_view name;  // "k3s"
  // The units in which the kubelet runs: either a single unit, or one unit for each role of a node.
  std::vector<std::string_view> units;
  // Paths that only this distribution has.
  std::vector<std::string_view> paths;
  // Other distributions use units of the same names: such units count only if one of `paths` exists.
  bool shares_units = false;
  std::string_view root = kKubeletRoot;  // the kubelet's default root directory
  // Patterns of files, besides the units', that may configure another root directory.
  std::vector<std::string_view> arguments;
  // The configuration of the bundled containerd; empty if none is bundled.
  std::string_view containerd;
  // Files that may have the kubelet's credentials, the usual file first.
  std::vector<std::string_view> kubeconfigs = {};
};

// All known distributions. The last element is for any other distribution whose kubelet has its own unit.
std::span<const Distribution> distributions();
// Returns nullptr if the name is unknown.
const Distribution* distribution_of(std::string_view name);

struct Sign {
  const Distribution* distribution = nullptr;
  std::string why;                 // "process 812 (/usr/bin/kubelet) is in kubelet.service"
  std::vector<std::string> units;  // in which the kubelet runs

  bool operator==(const Sign&) const = default;
};

// Returns the strongest signs: those of running distributions, else of enabled units, else of installed
// units, else of files that were left behind. At most one sign per distribution.
std::vector<Sign> signs_of_kubernetes(const HostRoot& host);
// Returns the strongest sign of the given distribution, which the user has chosen.
Sign sign_of(const HostRoot& host, const Distribution& distribution);

struct Kubernetes {
  std::string name;                           // "k3s"; empty: none was found
  std::string why;                            // the evidence
  std::vector<std::string> units;             // in which the kubelet runs; the default if none is known
  std::filesystem::path root = kKubeletRoot;  // the kubelet's --root-dir
  std::string root_why;                       // the source of root; empty: the default
  std::filesystem::path directory;            // where plugins register
  std::string containerd;                     // the bundled containerd's configuration; empty: none
};

// `sign` is nullptr if no distribution was found: the defaults are used then.
Kubernetes kubernetes_of(const HostRoot& host, const Sign* sign);
// Uses the sign of the only distribution that was found, and the defaults if there is not exactly one.
Kubernetes kubernetes_of(const HostRoot& host);

// Returns the value of an option in a text of any form: "--root-dir=/data", "--root-dir /data", `kubelet-arg:
// ["root-dir=/data"]`. The last occurrence counts; comments do not. Empty if the option is not given.
std::string option_in(std::string_view text, std::string_view option);

}  // namespace plughost
