#pragma once
// A node of a test's own: a stand-in kubelet, plughost's daemon, and the directories that they share.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "integration/eventually.hpp"
#include "integration/process.hpp"
#include "kubelet/standin_kubelet.hpp"
#include "unit/temp_dir.hpp"

namespace plughost::test {

enum class Registration { kRegister, kPluginsRegistry };

class Node {
 public:
  struct Options {
    Registration registration = Registration::kRegister;
    StandInKubelet::Registering registering = StandInKubelet::Registering::kDialsBeforeAnswer;
    StandInKubelet::Clearing clearing = StandInKubelet::Clearing::kSockets;
    bool pod_resources = false;  // the kubelet says which pods hold which devices
  };
  using Milliseconds = std::chrono::milliseconds;
  using Names = std::vector<std::string>;

  explicit Node(Options options);
  Node() : Node(Options{}) {}
  // Checks the rule that holds in every scenario: nothing was registered while a stream lived (conformance
  // 26). If the test has failed, shows what the daemon said.
  ~Node();
  Node& operator=(Node&&) = delete;

  const TempDir& files() const { return files_; }
  std::filesystem::path plugins() const { return files_.path() / "plugins"; }
  // The directory of plughost's sockets.
  std::filesystem::path sockets() const;
  // A file's path as a scalar of the configuration.
  std::string path(const std::string& below) const { return files_.at(below).string(); }

  // The kubelet's sockets, below its root as the real ones are.
  static constexpr const char* kPodResources = "pod-resources/kubelet.sock";
  static constexpr const char* kPodsApi = "pods-api/pods-api.sock";

  // The daemon's control socket.
  std::string control() const { return path(control_); }
  // Another one in the configurations that are made from now on.
  void set_control(std::string below) { control_ = std::move(below); }
  // Lines for the top of the configurations that are made from now on.
  void set_top(std::string lines) { top_ = std::move(lines); }
  // resources: the lines below `resources:`.
  void configure(const std::string& resources);
  std::string configuration() const { return path("config.yaml"); }

  void start_kubelet(StandInKubelet::Faults faults = {}, StandInKubelet::OnEvent on_event = {});
  StandInKubelet& kubelet() { return *kubelet_; }
  // A former one is killed first.
  void start_daemon(const std::vector<std::string>& environment = {},
                    const std::vector<std::string>& wrapper = {});
  Process& daemon() { return *daemon_; }
  void end_daemon();
  // SIGHUP, and the log's word that the configuration is in force. False: it is not.
  bool reload();

  const ResourceState& of(const std::string& resource);  // as it is now; valid until the next call
  bool wait_for(const std::function<bool(const KubeletState&)>& predicate,
                Milliseconds deadline = kLong) const;
  // All have a stream to the newest incarnation of the kubelet, and a list.
  bool attached(const Names& resources, Milliseconds deadline = kLong) const;
  // The device is listed so.
  bool healthy(const std::string& resource, const std::string& id, Milliseconds deadline = kLong) const;
  bool unhealthy(const std::string& resource, const std::string& id, Milliseconds deadline = kLong) const;
  bool count(const std::string& resource, std::size_t devices, Milliseconds deadline = kLong) const;
  // Is plughost's socket of the newest registration there, and does somebody listen on it?
  bool reachable(const std::string& resource);
  std::vector<std::string> socket_files() const;

 private:
  Options options_;
  TempDir files_;
  std::unique_ptr<StandInKubelet> kubelet_;
  std::unique_ptr<Process> daemon_;
  std::string said_;  // by former daemons
  std::string top_;
  std::string control_ = "run/control.sock";
  KubeletState shown_;
};

// Runs the test case once for each way to register.
Registration each_registration();
// Once for each way to register, and for kubelets that dial before or after their answer.
Node::Options each_kubelet();

// Entries of a configuration.
std::string counted(const std::string& name, int count, const std::string& more = {});
std::string listed(const std::string& name, const std::string& directory, const std::string& more = {});

std::vector<std::string> ids_of(const ResourceState& resource);

}  // namespace plughost::test
