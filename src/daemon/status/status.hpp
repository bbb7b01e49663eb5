#pragma once
// The daemon's status at one moment: plain values, and the JSON of /status.json, `-o json` and the web page.
// Immutable once made, so thread-safe. To add a field, add a member here, its line in json(), and the code
// that fills it.

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/system/tally.hpp"
#include "base/text/json.hpp"
#include "daemon/reload/reload.hpp"
#include "daemon/status/stage.hpp"
#include "kubernetes/apiserver/api_tally.hpp"
#include "kubernetes/kubelet/pod_resources.hpp"
#include "kubernetes/plugin/served_resource.hpp"
#include "model/allocate/resource_snapshot.hpp"
#include "model/device/drain_set.hpp"
#include "model/device/history.hpp"

namespace plughost {

class ApiServer;

// Returns the name for users and programs, such as "attached".
const char* name_of(Stage stage);

// Returns the containers that hold the device. `holdings` is nullptr if unknown.
Json holders_json(const Device& device, const std::string& resource, const Holdings* holdings);

// Returns the containers that hold the device, each once regardless of the number of its shares.
std::set<Holder> holders_of(const Device& device, const std::string& resource, const Holdings* holdings);

// Counts the outcomes of a resource's registrations.
struct RegistrationTally {
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;
  std::uint64_t unreachable = 0;
  std::uint64_t streams = 0;
};

struct ResourceStatus {
  std::string name;
  std::string entry;  // the entry's name in the configuration
  Stage stage = Stage::kWaiting;
  WallTime since;     // start of the stage
  std::string error;  // the last error, which may be over
  std::optional<WallTime> error_at;
  std::optional<WallTime> next_try;
  std::string disagreement;  // how the kubelet's count differs from the list; empty if it does not
  SharedSnapshot snapshot;
  HealthTimes health_times;
  RegistrationTally registrations;
  std::shared_ptr<const CallTally> calls;

  // Counts of ids as the kubelet sees them: each replica counts.
  struct Counts {
    std::size_t healthy = 0;
    std::size_t unhealthy = 0;
    std::size_t held = 0;
    std::size_t drained = 0;
    std::size_t adopted = 0;  // Unhealthy only because pods hold them by other ids

    Json json() const { return {{"healthy", healthy}, {"unhealthy", unhealthy}, {"held", held}}; }
  };
  // `holdings` is nullptr if unknown.
  Counts counts(const Holdings* holdings) const;
  Json devices_json(const Holdings* holdings) const;  // sorted by id
  Json json(const Holdings* holdings) const {
    Json told{{"name", name},
              {"entry", entry},
              {"stage", name_of(stage)},
              {"since", time_json(since)},
              {"trouble", error},
              {"troubleAt", time_json(error_at)},
              {"nextTry", time_json(next_try)},
              {"disagreement", disagreement},
              {"devices", counts(holdings).json()}};
    told["list"] = devices_json(holdings);
    return told;
  }
};

// The status of one entry, for metrics, readiness and patterns without a match.
struct EntryStatus {
  std::string name;                    // the entry's name in the configuration
  std::string where;                   // the entry's position in the configuration
  std::vector<std::string> unmatched;  // positions of the patterns that match no device now
  std::string no_devices;  // why the last scan found no device; empty: it found some, or is unknown
  std::uint64_t scans_completed = 0;
  std::uint64_t scans_failed = 0;
  bool stalled = false;
  bool required = false;
  std::string error;  // of the last scan that failed or stalled; it may be over
  std::optional<WallTime> error_at;
};

struct KubeletStatus {
  bool present = false;
  std::string directory;
  std::optional<WallTime> since;  // when the kubelet last appeared or disappeared; nullopt: unknown
  std::optional<pid_t> process;   // if the kernel reports it
  std::string unverified;         // why the kubelet's count of devices is unknown; empty: it was queried

  Json json() const {
    return {{"present", present},
            {"directory", directory},
            {"since", time_json(since)},
            {"process", process},
            {"unverified", unverified}};
  }
};

// Present if the configuration has an API server.
struct ApiServerStatus {
  struct Watch {
    std::string collection;  // "/api/v1/nodes"
    std::uint64_t objects = 0;
    std::optional<WallTime> heard_at;  // last answer about this collection; nullopt: none yet
    std::string error;
  };

  std::string server;                // URL; empty: not known yet
  std::string identity;              // source of the credentials
  std::string node;                  // name of the Node
  std::optional<WallTime> heard_at;  // last answer; nullopt if there is none yet
  std::string error;                 // why requests fail; empty: the last one was answered, or none was sent
  std::vector<std::string> warnings;
  std::vector<Watch> watches;
  std::vector<ApiTally::Requests> requests;  // for metrics only

  Json json() const;
};

// Returns nullopt if the configuration has no API server.
std::optional<ApiServerStatus> api_server_status(const ApiServer& server);

// Used for metrics only.
struct ProcessTallies {
  std::uint64_t kubelets = 0;  // kubelets that have appeared
  std::uint64_t udev_events = 0;
  std::uint64_t udev_overflows = 0;
  std::uint64_t warnings = 0;  // log lines
  std::uint64_t errors = 0;
  Durations::Reading answers;
  Durations::Reading recoveries;
  Durations::Reading scans;
};

// Whether a request for the status waits for the holders.
enum class WithHolders {
  kNo,
  kIfToldSoon,  // waits half a second, in which a healthy kubelet answers
  kYes,         // waits up to several seconds
};

struct DaemonStatus {
  std::string version;
  std::string node;  // the node's name in Kubernetes, or the host's name
  WallTime started_at;
  KubeletStatus kubelet;
  std::optional<ApiServerStatus> api_server;
  ConfigStatus configuration;
  // The holders; nullptr: unknown, for the reason in `holders_unknown`.
  std::shared_ptr<const Holdings> holdings;
  std::string holders_unknown;
  DrainSet drains;
  std::vector<ResourceStatus> resources;  // by name
  std::vector<EntryStatus> entries;       // by name
  ProcessTallies tallies;
  bool device_metrics = false;  // metrics for each device

  Json json() const;
};

// Judges whether the node is as configured. Pure functions of values; thread-safe.

// Returns the problems, the worst first, such as "not attached: example.com/a". An Unhealthy device is a
// problem only if its entry is required and has no Healthy device. Empty: the node is ready.
std::vector<std::string> problems(const DaemonStatus& status);

// The output of `plughost status --check`, in the form of node-problem-detector's custom plugin monitor.
struct Readiness {
  // Exit codes of the command.
  enum class Verdict { kOk = 0, kProblem = 1, kUnknown = 2 };
  // Longest line that the monitor accepts by default.
  static constexpr std::size_t kMostBytes = 80;

  Verdict verdict = Verdict::kUnknown;
  std::string line;  // ASCII, without a newline
};
// `status` is the output of DaemonStatus::json().
Readiness readiness_of(const Json& status);
// `why` is the reason why the status is unknown.
Readiness unknown_readiness(const std::string& why);

}  // namespace plughost
