#pragma once
// The configuration: if a Config exists, it is valid. Immutable once loaded, and so thread-safe.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/document/diagnostics.hpp"
#include "base/document/node.hpp"
#include "base/log/log.hpp"
#include "config/condition.hpp"
#include "config/places.hpp"
#include "host/hardware/host_root.hpp"
#include "kinds/kind.hpp"
#include "model/device/allocation_spec.hpp"
#include "model/device/label.hpp"

namespace plughost {

struct KubeletConfig {
  enum class Registration {
    kRegister,         // we call the kubelet's Register: every kubelet, back within milliseconds
    kPluginsRegistry,  // the kubelet finds our sockets in plugins_registry and asks
  };
  std::filesystem::path directory = kKubeletDirectory;
  std::filesystem::path plugins_registry = "/var/lib/kubelet/plugins_registry";
  std::filesystem::path pod_resources = "/var/lib/kubelet/pod-resources/kubelet.sock";
  // Below the same root.
  std::filesystem::path pods_api() const {
    return pod_resources.parent_path().parent_path() / "pods-api/pods-api.sock";
  }
  // Where the kubelet keeps a directory for each of its pods, named by the pod's UID.
  std::filesystem::path pods_directory() const { return pod_resources.parent_path().parent_path() / "pods"; }
  Registration registration = Registration::kRegister;

  // Where our sockets go.
  const std::filesystem::path& socket_directory() const {
    return registration == Registration::kRegister ? directory : plugins_registry;
  }
  // What the names of our files begin with in directories that several plughosts use, each with its kubelet.
  std::string files_owner() const;
  bool operator==(const KubeletConfig&) const = default;
};

struct CdiConfig {
  // Where container runtimes look for specifications that last until the next boot.
  std::filesystem::path directory = "/var/run/cdi";
  bool operator==(const CdiConfig&) const = default;
};

struct LabelsConfig {
  // Where Node Feature Discovery looks for feature files.
  std::filesystem::path directory = "/etc/kubernetes/node-feature-discovery/features.d";
  bool operator==(const LabelsConfig&) const = default;
};

struct MetricsConfig {
  bool devices = false;  // one for each device, with the pod that holds it
  std::string textfile;  // the directory of node_exporter's textfile collector; empty: off
};

// Where the daemon is asked what it does.
struct TelemetryConfig {
  std::string listen;  // "127.0.0.1:9464": metrics and the status page; empty: off
  std::filesystem::path control = kControlSocket;
  MetricsConfig metrics;
  std::string listen_where;  // "file:line:col", for messages
  std::string control_where;
};

// How the API server is reached, by what needs it.
struct ApiServerConfig {
  std::string kubeconfig = "auto";  // a file; auto: the in-cluster account, or the kubelet's own credentials
  // Our node's name; empty: $NODE_NAME, else that of the kubelet's certificate, or the host's in lower case.
  std::string node;
  std::string where;  // "file:line:col", for messages
  bool operator==(const ApiServerConfig& other) const {
    return kubeconfig == other.kubeconfig && node == other.node;
  }
};

struct LogConfig {
  LogLevel level = LogLevel::kInfo;
  LogFormat format = LogFormat::kAuto;
  bool operator==(const LogConfig&) const = default;
};

// One entry of `resources`.
struct ResourceConfig {
  std::shared_ptr<const AllocationSpec> spec;
  std::shared_ptr<const DeviceSource> source;
  std::vector<LabelSpec> labels;                 // of the node
  std::vector<NodeResourceSpec> node_resources;  // of the node, by the API server
  // On which nodes: each of them has to apply, that of the `include` and its own.
  std::vector<std::shared_ptr<const Condition>> when;
  // content_of what was written, but for `when`: entries of one name are the same if it is the same.
  std::string content;
  std::string where;  // "file:line:col", for messages
};

// What a configuration was read from.
struct ConfigFiles {
  std::vector<std::filesystem::path> paths;  // every file that was read, the main one first
  std::uint64_t hash = 0;                    // of what they say: the same on every machine
  // A change here may change what is read. Nothing where nobody wants to know.
  std::vector<WatchedDirectory> sources;

  // Reading them once more would say the same.
  bool same_as(const ConfigFiles& other) const { return hash == other.hash && paths == other.paths; }
};

// How long a configuration may be on trial.
inline constexpr std::chrono::seconds kShortestTrial{1};
inline constexpr std::chrono::seconds kLongestTrial = std::chrono::days(1);

// All that a configuration says but its entries.
struct Settings {
  KubeletConfig kubelet;
  LogConfig log;
  CdiConfig cdi;
  LabelsConfig labels;
  TelemetryConfig telemetry;
  std::filesystem::path node_labels;            // who knows the node's labels; empty: nobody
  std::optional<ApiServerConfig> api_server;    // nothing: nobody asks it
  bool events = false;                          // Kubernetes Events tell of devices; needs api_server
  bool watch = false;                           // a change of the files is a reload
  std::optional<std::chrono::seconds> confirm;  // what such a reload has read is on trial for so long
  ConfigFiles files;
  std::vector<Diagnostic> warnings;
};

struct Config : Settings {
  std::vector<ResourceConfig> resources;
};

// The configuration cannot be used. what() is every diagnostic's text, one per line.
struct ConfigError : std::runtime_error {
  explicit ConfigError(std::vector<Diagnostic> found, ConfigFiles read = {});
  std::vector<Diagnostic> diagnostics;
  ConfigFiles files;  // as far as they were read
};

// What `plughost setup` has found out about the node, beside the main file: defaults of its `kubelet` and
// `cdi`.
inline constexpr const char* kNodeFile = "node.yaml";

// Command-line settings, which win over the file's.
struct Overrides {
  std::filesystem::path plugin_directory;  // empty: not given
  std::filesystem::path control;           // likewise
  // Included files of which something else is taken to be so: what stands there, in another file; or that
  // nothing does. For a change that is to be checked before it is made.
  std::map<std::filesystem::path, std::optional<std::filesystem::path>> supposed;
  // What node.yaml would say; empty: nothing. nullopt: what it says.
  std::optional<std::string> node_file;
};

// Reads file and what it includes. Throws ConfigError with all errors at once. May block on the file system.
Config load_config(const std::filesystem::path& file, const Overrides& overrides = {});

// What load_config would find wrong with a text that is in no file yet, and has no `include`. name is for
// messages.
std::vector<Diagnostic> errors_of(const std::string& text, const std::string& name);

}  // namespace plughost
