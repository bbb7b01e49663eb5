#pragma once
// What was seen of a node that files under a prefix do not say: answers of the kernel and of other processes.
// Plain values: a test writes down what it wants to have been seen.

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "host/hardware/host_root.hpp"
#include "host/services/process.hpp"
#include "kubernetes/kubelet/pod_resources.hpp"
#include "tools/doctor/api_permissions.hpp"
#include "tools/survey/survey.hpp"

namespace plughost {

// Who is behind a socket file.
struct SocketOwner {
  enum class State {
    kListens,
    kNobody,   // the file is there, and connections are refused
    kUnknown,  // we may not connect
  };
  State state = State::kUnknown;
  pid_t process = 0;  // that listens; 0: not to be seen from here

  bool operator==(const SocketOwner&) const = default;
};

struct Observed {
  // The configuration: what it says if it can be used, and else why not.
  std::filesystem::path file;
  std::optional<Config> config;
  std::vector<Diagnostic> errors;
  Survey devices;  // what it would advertise now; empty without one

  uid_t user = 0;  // whose eyes these are

  // Of the kubelet's directories, the kubelet's own, and the daemon's control socket, by path.
  std::map<std::string, SocketOwner> sockets;
  std::optional<ApiPermissions> api_permissions;  // nullopt: the configuration asks nothing of the API server
  std::string kubelet_version;                    // as it says itself; empty: not known
  std::optional<Allocatable::Ids> counted;  // the Healthy devices that the kubelet counts; nullopt: not known
  std::map<std::string, std::string> labels;  // SELinux', by path; absent: the file has none
  // Of the device nodes that containers would get, by path: "/dev/char/195:0".
  std::map<std::string, std::string> links;
  std::map<std::string, std::string> closed_nodes;  // of these who may open it, if not everybody: "660 0:20"
  std::uint64_t descriptors = 0;                    // hard limit for a process of ours; ~0: none
  std::time_t now = 0;                              // seconds since 1970
  bool clock_is_set = true;                         // the kernel has been told that the clock is right

  // What the configuration says of the kubelet; the defaults without one.
  const KubeletConfig& kubelet() const;
  // Where the configuration wants the daemon's control socket; the default without one.
  std::string control() const;
};

// The process that listens on the kubelet's socket; nullopt: none, or it may not be seen.
std::optional<SeenProcess> kubelet_process(const HostRoot& host, const Observed& observed);
// Every `plughost run`.
std::vector<SeenProcess> daemons(const HostRoot& host);

// Looks at the node. Connects to the sockets that it finds and closes the connection again, scans for devices
// as `plughost discover` does, asks the kubelet's program for its version, the kubelet what it counts, and
// the API server what we may do; changes nothing. Blocks.
Observed observe(const HostRoot& host, const std::filesystem::path& configuration);

}  // namespace plughost
