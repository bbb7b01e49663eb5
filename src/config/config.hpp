#pragma once
// The configuration: an existing Config is valid. Immutable once loaded, and so thread-safe.

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
    kRegister,         // plughost calls the kubelet's Register: works with every kubelet, within milliseconds
    kPluginsRegistry,  // the kubelet finds the sockets in plugins_registry
  };
  std::filesystem::path directory = kKubeletDirectory;
  // The place of `directory` below the kubelet's root directory, if that is a different one; else empty.
  // Kubelets up to 1.38 ignore their root here; kubernetes/kubernetes#138986 would change that.
  std::filesystem::path other_directory;
  std::filesystem::path plugins_registry = "/var/lib/kubelet/plugins_registry";
  std::filesystem::path pod_resources = "/var/lib/kubelet/pod-resources/kubelet.sock";
  // Returns the socket of the kubelet's pods API, which is below the same root directory.
  std::filesystem::path pods_api() const {
    return pod_resources.parent_path().parent_path() / "pods-api/pods-api.sock";
  }
  // Returns the kubelet's directory with a subdirectory for each pod, named by the pod's UID.
  std::filesystem::path pods_directory() const { return pod_resources.parent_path().parent_path() / "pods"; }
  Registration registration = Registration::kRegister;

  // The directory of our sockets.
  const std::filesystem::path& socket_directory() const {
    return registration == Registration::kRegister ? directory : plugins_registry;
  }
  // Returns the prefix of our files in directories that several plughosts, each with its own kubelet, share.
  std::string files_owner() const;
  bool operator==(const KubeletConfig&) const = default;
};

struct MetricsConfig {
  bool devices = false;  // one metric per device, with the pod that holds it
  std::string textfile;  // the directory of node_exporter's textfile collector; empty: off
};

// Where the daemon serves status requests.
struct TelemetryConfig {
  std::string listen;  // "127.0.0.1:9464": metrics and the status page; empty: off
  std::filesystem::path control = kControlSocket;
  MetricsConfig metrics;
  std::string listen_where;  // "file:line:col", for messages
  std::string control_where;
};

// How the API server is reached.
struct ApiServerConfig {
  std::string kubeconfig = "auto";  // a file; auto: the in-cluster account, or the kubelet's own credentials
  // The node's name; empty: $NODE_NAME, or else the name in the kubelet's certificate, or else the host's
  // name in lower case.
  std::string node;
  Mark where;  // for messages
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
  std::vector<NodeResourceSpec> node_resources;  // of the node, set by the API server
  // The node must match all of these conditions: the condition of the `include` and the entry's own.
  std::vector<std::shared_ptr<const Condition>> when;
  // content_of() the entry without `when`: entries of one name with equal content are equal.
  std::string content;
  std::string where;  // "file:line:col", for messages
};

struct ConfigFiles {
  std::vector<std::filesystem::path> paths;  // all files that were read, the main file first
  std::uint64_t hash = 0;                    // hash of their content, equal on every machine
  // Directories whose changes may change what is read. Empty if changes are not watched.
  std::vector<WatchedDirectory> sources;

  // Returns true if `other` has the same files with the same content.
  bool same_as(const ConfigFiles& other) const { return hash == other.hash && paths == other.paths; }
};

// The limits for the duration of a trial.
inline constexpr std::chrono::seconds kShortestTrial{1};
inline constexpr std::chrono::seconds kLongestTrial = std::chrono::days(1);

// The settings of a configuration, without its entries.
struct Settings {
  KubeletConfig kubelet;
  LogConfig log;
  // The directory for specifications that container runtimes read until the next boot.
  std::filesystem::path cdi_directory = "/var/run/cdi";
  // The directory from which Node Feature Discovery reads feature files.
  std::filesystem::path features_directory = "/etc/kubernetes/node-feature-discovery/features.d";
  TelemetryConfig telemetry;
  std::filesystem::path node_labels;            // a file with the node's labels; empty: none
  std::optional<ApiServerConfig> api_server;    // nullopt: not used
  bool events = false;                          // report devices as Kubernetes Events; needs api_server
  bool watch = false;                           // the configuration is reloaded when the files change
  std::optional<std::chrono::seconds> confirm;  // a reload by `watch` is on trial for this time
  ConfigFiles files;
  std::vector<Diagnostic> warnings;
};

struct Config : Settings {
  std::vector<ResourceConfig> resources;
};

// Thrown if the configuration cannot be used. what() has the text of each diagnostic, one per line.
struct ConfigError : std::runtime_error {
  explicit ConfigError(std::vector<Diagnostic> found, ConfigFiles read = {});
  std::vector<Diagnostic> diagnostics;
  ConfigFiles files;  // as far as they were read
};

// The file that `plughost setup` writes beside the main file: defaults of `kubelet` and `cdi`.
inline constexpr const char* kNodeFile = "node.yaml";

// Command-line settings, which override the file's.
struct Overrides {
  std::filesystem::path plugin_directory;  // empty: not given
  std::filesystem::path control;           // empty: not given
  std::optional<LogFormat> log_format;     // nullopt: not given
  // The content of the main file, which is not read: node.yaml and plugins.d beside it are not, either.
  std::optional<std::string> text;
  // Assumptions about included files, for checking a change before it is made: a file has the content of
  // another file, or is missing.
  std::map<std::filesystem::path, std::optional<std::filesystem::path>> supposed;
  // The assumed content of node.yaml; empty if there is none; nullopt for its actual content.
  std::optional<std::string> node_file;
};

// Reads file and its includes. Throws ConfigError with all errors at once. May block on the file system.
Config load_config(const std::filesystem::path& file, const Overrides& overrides = {});

// Returns the errors that load_config would report for a text that is not in a file and has no `include`.
// `name` is used in messages.
std::vector<Diagnostic> errors_of(const std::string& text, const std::string& name);

}  // namespace plughost
