#include "holders.hpp"

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "bed.hpp"
#include "child.hpp"
#include "figures.hpp"
#include "loop_watch.hpp"
#include "unit/fake_nvml.hpp"
#include "unit/kubernetes/apiserver/fake_cluster.hpp"
#include "unit/model/assume/pods.hpp"

namespace plughost::bench {

using namespace std::chrono_literals;
using test::FakeCluster;
using test::FakeNvml;
using test::TempDir;

namespace {

constexpr std::size_t kUnits = 48'000;
constexpr double kLimitMs = 10;
constexpr const char* kPodsName = "pod-resources.sock";

// The daemon on a node with one card. One pod holds all units of the card.
class Node {
 public:
  explicit Node(const std::string& terms)
      : nvml_("card GPU-00000000-0000-0000-0000-000000000000 minor=0 memory=" + std::to_string(kUnits) +
              '\n') {
    bed_.write_config("kubelet: {podResources: " + files_.at(kPodsName).string() +
                      "}\nevents: true\napiServer: {kubeconfig: " + cluster_.kubeconfig(files_) +
                      ", node: " + FakeCluster::kNode + "}\ncdi: {directory: " + files_.at("cdi").string() +
                      "}\nresources:\n- {name: " + kGpuMemory +
                      ", gpu: {vendor: nvidia, unit: {memory: 1MiB}}, id: \"{uuid}\", " + terms + "}\n");
    StandInKubelet::Options options{
        .directory = bed_.plugins(), .pod_resources = files_.at(kPodsName), .pods = files_.at("pods")};
    kubelet_ = std::make_unique<StandInKubelet>(options);
    daemon_ = std::make_unique<Child>(bed_.config(), bed_.plugins());
    loop_ = std::make_unique<LoopWatch>(daemon_->pid());
    wait_for_units(kUnits);
  }

  // Runs `act`, and prints the longest hold of the loop until one second after the end of `act`.
  void measure(const std::string& what, const std::function<void()>& act) {
    std::this_thread::sleep_for(1s);
    loop_->take_longest_ms();
    act();
    std::this_thread::sleep_for(1s);
    const double longest = loop_->take_longest_ms();
    print({"48,000 units of one pod: " + what + ": the longest that the loop is held (CPU time)", "ms",
           longest, longest, kLimitMs, "limit"});
  }
  void wait_for_units(std::size_t units) {
    wait(*kubelet_, "the units",
         [&](const KubeletState& state) { return state.of(kGpuMemory).allocatable == units; });
  }
  void admit(const std::string& pod) {
    cluster_.put_pod(
        PodText{.uid = pod, .name = pod, .units = {kUnits}, .annotations = gpushare_annotations("100", "0")}
            .json());
    const Admission admission = kubelet_->allocate(pod, "c0", kGpuMemory, kUnits);
    if (!admission.error.empty()) give_up(admission.error.c_str());
    if (const std::string error = kubelet_->start_container(pod); !error.empty()) give_up(error.c_str());
  }
  void run(const std::string& words) {
    const std::string command = std::string(PLUGHOST_BINARY " ") + words + " --control " +
                                (bed_.config().parent_path() / "control.sock").string() + " >/dev/null";
    if (std::system(command.c_str()) != 0) give_up(command.c_str());
  }
  void restart_kubelet() {
    kubelet_->restart();
    wait_for_units(kUnits);
  }
  void restart_daemon() {
    loop_.reset();
    daemon_.reset();
    daemon_ = std::make_unique<Child>(bed_.config(), bed_.plugins());
    loop_ = std::make_unique<LoopWatch>(daemon_->pid());
    wait_for_units(kUnits);
  }
  // Prints the daemon's peak memory since its start.
  void print_memory(const std::string& way) const {
    const double most = daemon_->memory().most / 1024;
    print({"48,000 units of one pod: " + way + ": resident memory at its highest (VmHWM)", "MB", most, most,
           128, "the chart's limit:"});
  }
  void free(const std::string& pod) { kubelet_->free(pod); }

 private:
  FakeNvml nvml_;
  FakeCluster cluster_;
  TempDir files_;
  Bed bed_;
  std::unique_ptr<StandInKubelet> kubelet_;
  std::unique_ptr<Child> daemon_;
  std::unique_ptr<LoopWatch> loop_;
};

void measure(const std::string& way, const std::string& terms) {
  Node node(terms);
  const auto measure = [&](const std::string& what, const std::function<void()>& act) {
    node.measure(way + ": " + what, act);
  };
  measure("a daemon starts before there is the pod", [&] { node.restart_daemon(); });
  measure("Allocate and PreStartContainer", [&] { node.admit("a"); });
  measure("status", [&] { node.run("status -o json"); });
  measure("a drain", [&] {
    node.run(std::string("drain ") + kGpuMemory + "=GPU-00000000-0000-0000-0000-000000000000");
  });
  measure("its end", [&] {
    node.run(std::string("undrain ") + kGpuMemory + "=GPU-00000000-0000-0000-0000-000000000000");
  });
  measure("another kubelet", [&] { node.restart_kubelet(); });
  measure("another daemon", [&] { node.restart_daemon(); });
  measure("the pod's end, and status", [&] {
    node.free("a");
    node.run("status -o json");
  });
  node.print_memory(way);
}

}  // namespace

int run_holders() {
  ::setenv("LD_LIBRARY_PATH", PLUGHOST_FAKE_NVML_DIRECTORY, 1);
  try {
    measure("guess", "assume: {dialect: gpushare}");
    measure("late", "assume: {dialect: gpushare, identify: late}, cdi: true");
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench: %s\n", error.what());
    return 1;
  }
}

}  // namespace plughost::bench
