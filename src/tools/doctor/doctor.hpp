#pragma once
// Looks at a node as an operator would, and says what to do. Only reads. Blocks; any thread.

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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

// What was seen of a node that files under a prefix do not say: answers of the kernel and of other processes.
// A test writes down what it wants to have been seen.
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

enum class Level {
  kOk,
  kNote,     // worth knowing; nothing has to be done
  kWarning,  // something does not work, or will not one day
  kProblem,  // containers do not get what the configuration promises
};
std::string_view name_of(Level level);

struct Finding {
  Level level = Level::kOk;
  std::string where;    // a path, a process, a resource
  std::string what;     // a sentence without its full stop; text of others is in it as it is
  std::string why;      // why it matters; empty if it is ok
  std::string advice;   // what to do; empty if it is ok
  std::string check{};  // the name of the check that found it

  bool operator==(const Finding&) const = default;
};
using Findings = std::vector<Finding>;

// A pure function of what is under the prefix and of what was observed.
struct Check {
  std::string_view name;  // for good: docs/doctor.md and people's scripts have it
  std::string_view asks;  // the question that it answers
  // Says kOk as well, so that a reader sees that it was asked; nothing where the question makes no sense.
  Findings (*run)(const HostRoot& host, const Observed& observed);
};

// In the order in which an operator would ask. The one list of them.
std::span<const Check> checks();

// What all checks find. One that fails is a warning that says so.
Findings examine(const HostRoot& host, const Observed& observed);

// Of a list in a sentence.
inline constexpr std::size_t kMostShown = 3;

// What was found; where that is nothing, that all is well.
Findings or_ok(Findings found, std::string where, std::string what);

// checks_of_configuration.cpp
Findings check_configuration(const HostRoot& host, const Observed& observed);
Findings check_drop_ins(const HostRoot& host, const Observed& observed);
Findings check_devices(const HostRoot& host, const Observed& observed);
Findings check_api_server(const HostRoot& host, const Observed& observed);
// checks_of_kubelet.cpp
Findings check_kubelet_directory(const HostRoot& host, const Observed& observed);
Findings check_kubelet(const HostRoot& host, const Observed& observed);
Findings check_pod_resources(const HostRoot& host, const Observed& observed);
// checks_of_plugins.cpp
Findings check_daemon(const HostRoot& host, const Observed& observed);
Findings check_stale_sockets(const HostRoot& host, const Observed& observed);
Findings check_owners(const HostRoot& host, const Observed& observed);
Findings check_counts(const HostRoot& host, const Observed& observed);
// checks_of_runtime.cpp
Findings check_cdi(const HostRoot& host, const Observed& observed);
Findings check_access(const HostRoot& host, const Observed& observed);
Findings check_dev_char(const HostRoot& host, const Observed& observed);
// checks_of_system.cpp
Findings check_systemd(const HostRoot& host, const Observed& observed);
Findings check_sandbox(const HostRoot& host, const Observed& observed);
Findings check_udevd(const HostRoot& host, const Observed& observed);
Findings check_selinux(const HostRoot& host, const Observed& observed);
Findings check_apparmor(const HostRoot& host, const Observed& observed);
Findings check_descriptors(const HostRoot& host, const Observed& observed);
Findings check_inotify(const HostRoot& host, const Observed& observed);
Findings check_clock(const HostRoot& host, const Observed& observed);

}  // namespace plughost
