#pragma once
// A node for a test: a stand-in kubelet, plughost's daemon, and their shared directories.

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
    bool pod_resources = false;  // the kubelet reports the holders of devices
  };
  using Milliseconds = std::chrono::milliseconds;
  using Names = std::vector<std::string>;

  explicit Node(Options options);
  Node() : Node(Options{}) {}
  // Checks for every test that nothing was registered while a stream was open (case 26 of the conformance
  // list). Shows the daemon's output if the test has failed.
  ~Node();
  Node& operator=(Node&&) = delete;

  const TempDir& files() const { return files_; }
  std::filesystem::path plugins() const { return files_.path() / "device-plugins"; }
  // Returns the directory of plughost's sockets.
  std::filesystem::path sockets() const;
  // Returns the path of a file below files(), as it is written in a configuration.
  std::string path(const std::string& below) const { return files_.at(below).string(); }

  // The kubelet's sockets, below its root like the real ones.
  static constexpr const char* kPodResources = "pod-resources/kubelet.sock";
  static constexpr const char* kPodsApi = "pods-api/pods-api.sock";

  // Returns the daemon's control socket.
  std::string control() const { return path(control_); }
  // Sets the control socket for later configurations.
  void set_control(std::string below) { control_ = std::move(below); }
  // Sets lines for the top of later configurations.
  void set_top(std::string lines) { top_ = std::move(lines); }
  // Writes a configuration. `resources` has the lines below `resources:`.
  void configure(const std::string& resources);
  std::string configuration() const { return path("config.yaml"); }

  void start_kubelet(StandInKubelet::Faults faults = {}, StandInKubelet::OnEvent on_event = {});
  StandInKubelet& kubelet() { return *kubelet_; }
  // Kills a former daemon first.
  void start_daemon(const std::vector<std::string>& environment = {},
                    const std::vector<std::string>& wrapper = {});
  Process& daemon() { return *daemon_; }
  // Starts a second daemon, which takes over from the present one. The present one becomes former(), and the
  // second one daemon().
  void start_successor(const std::vector<std::string>& environment = {});
  Process& former() { return *former_; }
  void end_daemon();
  // Sends SIGHUP, and waits for the log line of a successful reload. Returns false if that does not come.
  bool reload();

  const ResourceState& of(const std::string& resource);  // present state; valid until the next call
  bool wait_for(const std::function<bool(const KubeletState&)>& predicate,
                Milliseconds deadline = kLong) const;
  // Waits until each resource has a list, and a stream to the newest incarnation of the kubelet.
  bool attached(const Names& resources, Milliseconds deadline = kLong) const;
  // Wait until the device is listed as Healthy or as Unhealthy, or until this number of devices is Healthy.
  bool healthy(const std::string& resource, const std::string& id, Milliseconds deadline = kLong) const;
  bool unhealthy(const std::string& resource, const std::string& id, Milliseconds deadline = kLong) const;
  bool count(const std::string& resource, std::size_t devices, Milliseconds deadline = kLong) const;
  // Returns true if the socket of plughost's newest registration exists and accepts connections.
  bool reachable(const std::string& resource);
  std::vector<std::string> socket_files() const;

 private:
  Options options_;
  TempDir files_;
  std::unique_ptr<StandInKubelet> kubelet_;
  std::unique_ptr<Process> former_;
  std::unique_ptr<Process> daemon_;
  std::string said_;  // output of former daemons
  std::string top_;
  std::string control_ = "run/control.sock";
  KubeletState shown_;
};

// Runs the test case once per way to register.
Registration each_registration();
// Runs the test case once per way to register, with kubelets that dial before or after their answer.
Node::Options each_kubelet();

// Returns an entry of a configuration.
std::string counted(const std::string& name, int count, const std::string& more = {});
std::string listed(const std::string& name, const std::string& directory, const std::string& more = {});

std::vector<std::string> ids_of(const ResourceState& resource);

}  // namespace plughost::test
