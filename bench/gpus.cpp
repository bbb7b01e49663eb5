#include "gpus.hpp"

#include <algorithm>
#include <cstdio>
#include <thread>

#include "bed.hpp"
#include "child.hpp"
#include "figures.hpp"
#include "kinds/gpu/gpu.hpp"
#include "model/allocate/preferred.hpp"
#include "unit/fake_nvml.hpp"
#include "unit/kinds/entry.hpp"

namespace plughost::bench {

using namespace std::chrono_literals;
using test::FakeNvml;

namespace {

constexpr std::size_t kCards = 16;
constexpr const char* kStrategies[] = {"envvar", "volume-mounts", "cdi-annotations", "cdi-cri"};

std::string uuid(std::size_t n) {
  char text[64];
  std::snprintf(text, sizeof text, "GPU-00000000-0000-0000-0000-%012zu", n);
  return text;
}

// Describes two CPUs with two PCIe switches each. The four cards behind one switch are connected by NVLink.
std::string machine() {
  std::string text;
  for (std::size_t n = 0; n < kCards; ++n) {
    char address[32];
    std::snprintf(address, sizeof address, "0000:%02zx:00.0", n + 1);
    text += "card " + uuid(n) + " minor=" + std::to_string(n) + " pci=" + address + " memory=81559\n";
  }
  for (std::size_t i = 0; i < kCards; ++i) {
    for (std::size_t j = i + 1; j < kCards; ++j) {
      const char* const level = i / 4 == j / 4 ? "10" : i / 8 == j / 8 ? "40" : "50";
      const std::string pair = std::to_string(i) + ' ' + std::to_string(j) + ' ';
      text += "level " + pair + level + '\n';
      if (i / 4 == j / 4) text += "link " + pair + "4\n";
    }
  }
  return text;
}

std::unique_ptr<const DeviceSource> cards() {
  const Node node = test::map({{"gpu", test::map({{"vendor", test::text("nvidia")}})}});
  Diagnostics diagnostics;
  Fields fields(node, "resources[0]", diagnostics);
  return read_gpu(fields, PLUGHOST_FAKE_NVML);
}

void measure_discovery(std::size_t rounds) {
  const FakeNvml fake(machine());
  const HostRoot host;
  std::vector<double> first;
  std::vector<double> later;
  for (std::size_t round = 0; round < rounds; ++round) {
    const auto source = cards();
    const auto start = Clock::now();
    if (source->scan(host).devices.size() != kCards) give_up("16 cards");
    const auto between = Clock::now();
    if (source->scan(host).devices.size() != kCards) give_up("16 cards again");
    first.push_back(ms_between(start, between));
    later.push_back(ms_between(between, Clock::now()));
  }
  print({"16 cards: the first look, with who is near whom", "ms", median(first),
         *std::ranges::max_element(first), 1000, "limit", rounds});
  print({"16 cards: each later look", "ms", median(later), *std::ranges::max_element(later), median(first),
         "the first look:", rounds});
}

void measure_choice(std::size_t rounds) {
  const FakeNvml fake(machine());
  const Inventory inventory(cards()->scan(HostRoot()).devices);
  std::vector<std::string> all;
  inventory.for_each_id([&](const std::string& id, const Device&) { all.push_back(id); });
  std::vector<double> samples;
  for (std::size_t round = 0; round < rounds; ++round) {
    const auto start = Clock::now();
    if (preferred(AllocationPolicy::kAligned, inventory, all, {}, 8).size() != 8) give_up("8 cards");
    samples.push_back(ms_between(start, Clock::now()));
  }
  print({"aligned: 8 of 16 cards", "ms", median(samples), *std::ranges::max_element(samples), 10, "limit",
         rounds});
}

void measure_strategies(std::size_t rounds) {
  const FakeNvml fake(machine());
  const Bed bed;
  std::string text = "resources:\n";
  for (const char* const strategy : kStrategies)
    text += std::string("- {name: bench.example.com/") + strategy +
            ", gpu: {vendor: nvidia, deviceListStrategy: " + strategy + "}, id: \"" + strategy +
            // Each entry selects all cards, but by a different pattern: one card's variable cannot have two
            // values.
            "-{index}\", only: [{index: \"*\"}, {id: " + strategy + "}]}\n";
  bed.write_config(text);
  StandInKubelet kubelet({.directory = bed.plugins()});
  const Child daemon(bed.config(), bed.plugins());
  for (const char* const strategy : kStrategies) {
    const std::string resource = std::string("bench.example.com/") + strategy;
    wait(kubelet, "the cards",
         [&](const KubeletState& state) { return state.of(resource).allocatable == kCards; });
    std::vector<std::string> ids;
    for (int n = 0; n < 8; ++n) ids.push_back(std::string(strategy) + '-' + std::to_string(n));
    std::vector<double> samples;
    std::vector<double> empty;
    for (std::size_t round = 0; round < rounds; ++round) {
      const auto start = Clock::now();
      if (kubelet.allocate_ids(resource, ids).code != 0) give_up("Allocate");
      const auto between = Clock::now();
      if (kubelet.allocate_ids(resource, {}).code != 0) give_up("an empty call");
      samples.push_back(ms_between(start, between) * 1000);
      empty.push_back(ms_between(between, Clock::now()) * 1000);
    }
    print({std::string("Allocate of 8 cards: ") + strategy, "µs", median(samples),
           *std::ranges::max_element(samples), median(empty), "an empty unary call:", rounds});
  }
}

// Alternates an Allocate of units with one of whole devices, for which the daemon need not search many ids.
void measure_units(std::size_t rounds) {
  constexpr std::size_t kUnits = 80'000;
  constexpr std::size_t kAsked = 40;
  const std::string units = "bench.example.com/memory";
  const std::string whole = "bench.example.com/whole";
  const FakeNvml fake("card " + uuid(0) + " minor=0 memory=" + std::to_string(kUnits) + '\n');
  const Bed bed;
  bed.write_config("resources:\n- {name: " + units +
                   ", gpu: {vendor: nvidia, unit: {memory: 1MiB}}, id: \"{index}\"}\n- {name: " + whole +
                   ", count: " + std::to_string(kAsked) + ", id: \"w{n}\", env: {WHOLE: \"{id}\"}}\n");
  StandInKubelet kubelet({.directory = bed.plugins()});
  const Child daemon(bed.config(), bed.plugins());
  wait(kubelet, "the units", [&](const KubeletState& state) {
    return state.of(units).allocatable == kUnits && state.of(whole).allocatable == kAsked;
  });
  std::vector<std::string> some;
  std::vector<std::string> all;
  for (std::size_t n = 0; n < kAsked; ++n) {
    some.push_back("0::" + std::to_string(n * (kUnits / kAsked)));
    all.push_back("w" + std::to_string(n));
  }
  std::vector<double> samples;
  std::vector<double> besides;
  for (std::size_t round = 0; round < rounds; ++round) {
    const auto start = Clock::now();
    if (kubelet.allocate_ids(units, some).code != 0) give_up("Allocate of units");
    const auto between = Clock::now();
    if (kubelet.allocate_ids(whole, all).code != 0) give_up("Allocate of whole devices");
    samples.push_back(ms_between(start, between) * 1000);
    besides.push_back(ms_between(between, Clock::now()) * 1000);
  }
  print({"Allocate of 40 units of 80,000", "µs", median(samples), *std::ranges::max_element(samples),
         median(besides), "of 40 whole devices:", rounds});
}

double private_mb(const std::string& entry, const std::string& resource) {
  const Bed bed;
  bed.write_config("resources:\n- {name: " + resource + ", " + entry + "}\n");
  StandInKubelet kubelet({.directory = bed.plugins()});
  const Child daemon(bed.config(), bed.plugins());
  wait(kubelet, "the list",
       [&](const KubeletState& state) { return state.of(resource).allocatable == kCards * 64; });
  std::this_thread::sleep_for(3s);  // the daemon frees the memory that only its start needed
  return daemon.memory().anonymous / 1024;
}

void measure_memory() {
  const FakeNvml fake(machine());
  const double shared = private_mb("gpu: {vendor: nvidia}, replicas: 64", "bench.example.com/gpu");
  const double counted = private_mb("count: 1024", "bench.example.com/count");
  print({"16 cards of 64 replicas: private memory (RssAnon)", "MB", shared, shared, counted,
         "1024 devices of `count`:"});
}

}  // namespace

int run_gpus(std::size_t rounds) {
  ::setenv("LD_LIBRARY_PATH", PLUGHOST_FAKE_NVML_DIRECTORY, 1);
  try {
    measure_discovery(rounds);
    measure_choice(rounds);
    measure_strategies(rounds * 100);
    measure_units(rounds * 100);
    measure_memory();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench: %s\n", error.what());
    return 1;
  }
}

}  // namespace plughost::bench
