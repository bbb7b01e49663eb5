#pragma once
// Examines a node and advises the operator. Only reads. Blocks; any thread.

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

// The process behind a socket file.
struct SocketOwner {
  enum class State {
    kListens,
    kNobody,   // the file exists, and connections are refused
    kUnknown,  // permission denied
  };
  State state = State::kUnknown;
  pid_t process = 0;                         // the listener; 0: not visible from here
  std::optional<std::size_t> connections{};  // to the listener, without ours; nullopt: unknown

  bool operator==(const SocketOwner&) const = default;
};

// Observations that files under a prefix cannot provide: answers of the kernel and of other processes. Tests
// construct them.
struct Observed {
  // The configuration, or why it cannot be used.
  std::filesystem::path file;
  std::optional<Config> config;
  std::vector<Diagnostic> errors;
  // Files of the configuration that a user other than root and the one who runs the doctor may write.
  std::vector<std::string> writable_files;
  Survey devices;  // what the configuration would advertise; empty without a configuration

  uid_t user = 0;  // the user who runs the doctor

  // Owners, by path, of the sockets in the kubelet's directories, the pod resources and the control socket.
  std::map<std::string, SocketOwner> sockets;
  std::optional<ApiPermissions> api_permissions;  // nullopt: the configuration does not use the API server
  std::string kubelet_version;                    // as the kubelet reports it; empty: unknown
  std::optional<Allocatable::Ids> counted;    // the Healthy devices that the kubelet counts; nullopt: unknown
  std::map<std::string, std::string> labels;  // SELinux labels, by path; absent: the file has none
  // The device nodes that containers would get, by path: "/dev/char/195:0".
  std::map<std::string, std::string> links;
  std::map<std::string, std::string>
      closed_nodes;               // device nodes that not everyone may open, with mode and owner: "660 0:20"
  std::uint64_t descriptors = 0;  // hard limit for our process; ~0: none
  std::time_t now = 0;            // seconds since 1970
  bool clock_is_set = true;       // the kernel considers the clock synchronized

  // Returns the kubelet's settings of the configuration, or the defaults.
  const KubeletConfig& kubelet() const;
  // Returns the path of the control socket in the configuration, or the default.
  std::string control() const;
};

// Returns the process that listens on the kubelet's socket; nullopt: none, or not visible.
std::optional<SeenProcess> kubelet_process(const HostRoot& host, const Observed& observed);
// Returns every `plughost run` process.
std::vector<SeenProcess> daemons(const HostRoot& host);

// Observes the node: connects to the sockets that exist and closes the connections, scans as `plughost
// discover` does, and queries the kubelet's program for its version, the kubelet for its count, and the API
// server for our permissions. Changes nothing. Blocks.
Observed observe(const HostRoot& host, const std::filesystem::path& configuration);

enum class Level {
  kOk,
  kNote,     // worth knowing; no action is needed
  kWarning,  // something does not work, or will fail later
  kProblem,  // containers do not get what the configuration promises
};
std::string_view name_of(Level level);

struct Finding {
  Level level = Level::kOk;
  std::string where;    // a path, a process or a resource
  std::string what;     // a sentence without its full stop; may contain unescaped text from elsewhere
  std::string why;      // why it matters; empty if ok
  std::string advice;   // what to do; empty if ok
  std::string check{};  // name of the check that reports the finding

  bool operator==(const Finding&) const = default;
};
using Findings = std::vector<Finding>;

// A check is a pure function of the files under the prefix and the observations.
struct Check {
  std::string_view name;  // permanent: docs/doctor.md and users' scripts refer to it
  std::string_view asks;  // the question that the check answers
  // Also returns kOk findings, so that a reader sees that the check ran; empty if the check does not apply.
  Findings (*run)(const HostRoot& host, const Observed& observed);
};

// The list of all checks, in the order of an operator's questions.
std::span<const Check> checks();

// Runs all checks. A check that fails becomes a warning.
Findings examine(const HostRoot& host, const Observed& observed);

// The maximum number of list items in a sentence.
inline constexpr std::size_t kMostShown = 3;

// Returns `found`; if `found` is empty, returns a finding that all is well.
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
Findings check_served(const HostRoot& host, const Observed& observed);
Findings check_counts(const HostRoot& host, const Observed& observed);
Findings check_drains(const HostRoot& host, const Observed& observed);
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
