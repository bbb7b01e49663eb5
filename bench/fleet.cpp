#include "fleet.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "bed.hpp"
#include "child.hpp"
#include "figures.hpp"

namespace plughost::bench {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kApplying = 10;
constexpr double kMostForConditions = 1.2;  // times what the entries that apply take alone

std::string watched(std::size_t devices) {
  return "watch: true\nresources:\n- {name: " + resource_name(0) + ", count: " + std::to_string(devices) +
         "}\n";
}

std::string applying(std::size_t n) {
  return "- {name: " + resource_name(n) + ", count: 8, when: {exists: /dev/null}}\n";
}

// What a fleet's file has for other nodes, by each sort of condition in turn.
std::string not_applying(std::size_t n) {
  constexpr std::array kConditions = {
      "{hostname: \"gpu-[0-9]*\"}",
      "{exists: /dev/no-such-node, not: {hostname: \"build-*\"}}",
      "{dmi: {vendor: \"No Such Inc.\", product: \"Blade *\"}}",
      "{arch: riscv64, kernel: \"6.*\"}",
      "[{hostname: \"desk-*\"}, {exists: [\"/dev/no-such-*\", /dev/null]}]",
  };
  return "- {name: " + resource_name(n) +
         ", udev: {subsystem: video4linux}, when: " + kConditions[n % kConditions.size()] + "}\n";
}

double start_ms(std::size_t others) {
  const Bed bed;
  std::string text = "resources:\n";
  for (std::size_t n = 0; n < kApplying; ++n) text += applying(n);
  for (std::size_t n = kApplying; n < kApplying + others; ++n) text += not_applying(n);
  bed.write_config(text);
  StandInKubelet kubelet({.directory = bed.plugins()});
  const auto start = Clock::now();
  const Child daemon(bed.config(), bed.plugins());
  wait(kubelet, "the registrations",
       [](const KubeletState& state) { return state.resources.size() == kApplying; });
  return ms_between(start, Clock::now());
}

}  // namespace

void measure_watched_file(std::size_t rounds) {
  const Bed bed;
  std::size_t devices = 1;
  bed.write_config(watched(devices));
  StandInKubelet kubelet({.directory = bed.plugins()});
  const Child daemon(bed.config(), bed.plugins());
  const auto listed = [&](const KubeletState& state) {
    return state.of(resource_name(0)).capacity == devices;
  };
  wait(kubelet, "the first list", listed);
  std::vector<double> samples;
  const fs::path beside = bed.config().string() + ".new";
  for (std::size_t round = 0; round < rounds; ++round) {
    std::this_thread::sleep_for(500ms);  // nothing has happened before it
    ++devices;
    std::ofstream(beside) << watched(devices);
    const auto start = Clock::now();
    fs::rename(beside, bed.config());
    wait(kubelet, "the edit", listed);
    samples.push_back(ms_between(start, Clock::now()));
  }
  print({"an edit of the watched file → the kubelet has the list (200 ms of them quiet)", "ms",
         median(samples), *std::ranges::max_element(samples), 300, "limit", rounds});
}

void measure_conditions(std::size_t rounds) {
  constexpr std::size_t kOthers = 490;
  std::vector<double> all;
  std::vector<double> alone;
  for (std::size_t round = 0; round < rounds; ++round) {
    alone.push_back(start_ms(0));
    all.push_back(start_ms(kOthers));
  }
  print({std::to_string(kApplying + kOthers) + " entries, " + std::to_string(kOthers) +
             " of which do not apply: start → all registered",
         "ms", median(all), *std::ranges::max_element(all), median(alone) * kMostForConditions,
         "limit, 1.2 × the " + std::to_string(kApplying) + " alone:", rounds});
}

}  // namespace plughost::bench
