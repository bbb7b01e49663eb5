#pragma once
// What the daemon tells of itself: one moment, as plain values, and as the JSON that /status.json, `-o json`
// and the page show. Immutable once made, and so thread-safe. A new field is a member here with its line in
// json(), and whoever fills it.

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/system/tally.hpp"
#include "base/text/json.hpp"
#include "config/selection.hpp"
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

// What people and programs call it: "attached".
const char* name_of(Stage stage);

// Which containers hold the device. holdings: nullptr where nobody knows.
Json holders_json(const Device& device, const std::string& resource, const Holdings* holdings);

// The same containers, each once however many shares it holds.
std::set<Holder> holders_of(const Device& device, const std::string& resource, const Holdings* holdings);

// What became of what a resource asked of kubelets.
struct RegistrationTally {
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;
  std::uint64_t unreachable = 0;
  std::uint64_t streams = 0;
};

struct ResourceStatus {
  std::string name;
  std::string entry;  // the name's text in the configuration
  Stage stage = Stage::kWaiting;
  WallTime since;     // of the stage
  std::string error;  // the last thing that went wrong; it may be over
  std::optional<WallTime> error_at;
  std::optional<WallTime> next_try;
  std::string disagreement;  // what the kubelet counts instead of what it was sent; empty: the same
  SharedSnapshot snapshot;
  HealthTimes health_times;
  RegistrationTally registrations;
  std::shared_ptr<const CallTally> calls;

  // Ids as the kubelet is told them: each replica counts.
  struct Counts {
    std::size_t healthy = 0;
    std::size_t unhealthy = 0;
    std::size_t held = 0;
    std::size_t drained = 0;
    std::size_t adopted = 0;  // that others hold; those that are Unhealthy for nothing else

    Json json() const { return {{"healthy", healthy}, {"unhealthy", unhealthy}, {"held", held}}; }
  };
  // holdings: nullptr where nobody knows.
  Counts counts(const Holdings* holdings) const;
  Json devices_json(const Holdings* holdings) const;  // one by one, by id
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

// For metrics and readiness, and for what its patterns do not match.
struct EntryStatus {
  std::string name;                    // its text in the configuration
  std::string where;                   // its place there
  std::vector<std::string> unmatched;  // places in it of patterns that match no device now
  std::uint64_t scans_completed = 0;
  std::uint64_t scans_failed = 0;
  bool stalled = false;
  bool required = false;
  std::string error;  // the last scan's that failed or hung; it may be over
  std::optional<WallTime> error_at;
};

struct KubeletStatus {
  bool present = false;
  std::string directory;
  std::optional<WallTime> since;  // since when it is there, or is not; nullopt: not known
  std::optional<pid_t> process;   // as far as the kernel tells
  std::string unverified;         // why nobody knows which devices it counts; empty: it was asked

  Json json() const {
    return {{"present", present},
            {"directory", directory},
            {"since", time_json(since)},
            {"process", process},
            {"unverified", unverified}};
  }
};

// Where the configuration has one.
struct ApiServerStatus {
  struct Watch {
    std::string collection;  // "/api/v1/nodes"
    std::uint64_t objects = 0;
    std::optional<WallTime> heard_at;  // the server's last word about them; nullopt: none yet
    std::string error;
  };

  std::string server;                // its URL; empty: not known yet
  std::string identity;              // where our credentials are from
  std::string node;                  // our name there
  std::optional<WallTime> heard_at;  // its last answer; nullopt: it has not been asked, or has not answered
  std::string error;                 // why it cannot be asked now; empty: it can, or nobody has
  std::vector<std::string> warnings;
  std::vector<Watch> watches;
  std::vector<ApiTally::Requests> requests;  // for metrics only

  Json json() const;
};

// nullopt: nobody has ever wanted to ask it.
std::optional<ApiServerStatus> api_server_status(const ApiServer& server);

// For metrics only.
struct ProcessTallies {
  std::uint64_t kubelets = 0;  // that came
  std::uint64_t udev_events = 0;
  std::uint64_t udev_overflows = 0;
  std::uint64_t warnings = 0;  // lines of the log
  std::uint64_t errors = 0;
  Durations::Reading answers;
  Durations::Reading recoveries;
  Durations::Reading scans;
};

// Whether who asks for a status waits until it is known who holds what.
enum class WithHolders {
  kNo,
  kIfToldSoon,  // a kubelet that is well tells within half a second
  kYes,         // some seconds, if it has to be
};

struct DaemonStatus {
  std::string version;
  WallTime started_at;
  KubeletStatus kubelet;
  std::optional<ApiServerStatus> api_server;
  ConfigStatus configuration;
  // Who holds what; nullptr: not known, for the reason that follows.
  std::shared_ptr<const Holdings> holdings;
  std::string holders_unknown;
  DrainSet drains;
  std::vector<ResourceStatus> resources;  // by name
  std::vector<EntryStatus> entries;       // by name
  ProcessTallies tallies;
  bool device_metrics = false;  // the metrics tell of each device

  Json json() const;
};

// Is the node what its configuration wants? Pure functions of values, thread-safe.

// What is wrong, the worst first: "not attached: example.com/a". A device that is sick is nothing of it,
// unless its entry is required and has no other. Empty: the node is ready.
std::vector<std::string> problems(const DaemonStatus& status);

// What `plughost status --check` says, as node-problem-detector's custom plugin monitor takes it.
struct Readiness {
  // Its exit codes.
  enum class Verdict { kOk = 0, kProblem = 1, kUnknown = 2 };
  // What it cuts a line to, unless it is told otherwise.
  static constexpr std::size_t kMostBytes = 80;

  Verdict verdict = Verdict::kUnknown;
  std::string line;  // ASCII, without a newline
};
// Of a status as DaemonStatus::json() writes it.
Readiness readiness_of(const Json& status);
// why: it is not known.
Readiness unknown_readiness(const std::string& why);

}  // namespace plughost
