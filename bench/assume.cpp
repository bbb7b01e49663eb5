#include "assume.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bed.hpp"
#include "child.hpp"
#include "figures.hpp"
#include "integration/fake_pods.hpp"
#include "unit/assume/pods.hpp"
#include "unit/fake_nvml.hpp"

namespace plughost::bench {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t kPods = 1000;
constexpr std::size_t kWaiting = 200;
constexpr std::size_t kCards = 8;

std::string machine() {
  std::string text;
  for (std::size_t n = 0; n < kCards; ++n)
    text += "card GPU-" + std::to_string(n) + " minor=" + std::to_string(n) + " memory=81920\n";
  return text;
}

// The n-th that the scheduler has chosen a card for.
Json pod(std::size_t n, bool waits) {
  const std::string name = "pod-" + std::to_string(n);
  const std::string time = std::to_string(1000 + n);
  const std::string card = std::to_string(n % kCards);
  return PodText{.uid = name,
                 .name = name,
                 .units = {1},
                 .annotations = waits ? gpushare_annotations(time, card) : marked_annotations(time, card),
                 .phase = waits ? "Pending" : "Running"}
      .json();
}

// In ms, of as many Allocates of one unit, for a pod each. assume: with the API server, and that in the
// entry.
std::vector<double> allocates(std::size_t rounds, const std::string& assume) {
  const test::FakeNvml fake(machine());
  const Bed bed;
  test::FakePods cluster;
  std::string top;
  if (!assume.empty()) {
    for (std::size_t n = 0; n < kPods; ++n) cluster.put(pod(n, n >= kPods - kWaiting));
    const auto kubeconfig = bed.config().parent_path() / "kubeconfig";
    std::ofstream(kubeconfig) << cluster.kubeconfig();
    top = "apiServer: {kubeconfig: " + kubeconfig.string() + ", node: n1}\n";
  }
  bed.write_config(top + "resources:\n- {name: " + kGpuMemory +
                   ", gpu: {vendor: nvidia, unit: {memory: 1GiB}}" + assume + "}\n");
  StandInKubelet kubelet({.directory = bed.plugins()});
  const Child daemon(bed.config(), bed.plugins());
  wait(kubelet, "the cards",
       [](const KubeletState& state) { return state.of(kGpuMemory).allocatable == kCards * 80; });
  for (const auto end = Clock::now() + kPatience; !assume.empty() && cluster.requests("/pods?watch=") == 0;) {
    if (Clock::now() > end) give_up("the watch of pods");
    std::this_thread::sleep_for(20ms);
  }
  std::vector<double> samples;
  for (std::size_t n = 0; n < rounds; ++n) {
    const std::string uid = "pod-" + std::to_string(kPods - kWaiting + n);
    const auto start = Clock::now();
    const Admission admission = kubelet.allocate(uid, "c0", kGpuMemory, 1);
    samples.push_back(ms_between(start, Clock::now()));
    if (!admission.admitted()) throw std::runtime_error("Allocate: " + admission.error);
    if (!assume.empty()) cluster.put(pod(kPods + n, true));  // as many wait as before
  }
  return samples;
}

}  // namespace

void measure_assume(std::size_t rounds) {
  const std::size_t most = std::min<std::size_t>(rounds * 5, kWaiting);
  const std::vector<double> plain = allocates(most, "");
  const std::vector<double> assumed = allocates(most, ", assume: {dialect: gpushare, identify: guess}");
  const std::string what = "Allocate with `assume: {identify: guess}`, " + std::to_string(kPods) +
                           " pods of which " + std::to_string(kWaiting) + " wait";
  const double worst = *std::ranges::max_element(assumed);
  print({what, "ms", median(assumed), worst, 50, "limit", most});
  print({what, "ms", median(assumed), worst, median(plain), "the same without assume:", most});
}

}  // namespace plughost::bench
