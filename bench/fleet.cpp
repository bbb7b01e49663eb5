#include "fleet.hpp"

#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
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

const fs::path kPresets = PLUGHOST_SOURCE_DIR "/plugins.d";
const fs::path kMachines = PLUGHOST_MADE_MACHINES;
constexpr std::size_t kEntries = 50;  // in the file that `plughost plan` reads
constexpr std::size_t kApplying = 10;
constexpr double kMostForConditions = 1.2;  // limit: start time relative to the applying entries alone

std::string watched(std::size_t devices) {
  return "watch: true\nresources:\n- {name: " + resource_name(0) + ", count: " + std::to_string(devices) +
         "}\n";
}

std::string applying(std::size_t n) {
  return "- {name: " + resource_name(n) + ", count: 8, when: {exists: /dev/null}}\n";
}

// Returns an entry whose condition excludes this node. The sort of condition depends on `n`.
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

std::string text_of(const fs::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::size_t entries_in(const std::string& text) {
  std::size_t entries = text.starts_with("- name:") ? 1 : 0;
  for (std::size_t at = 0; (at = text.find("\n- name:", at)) != std::string::npos; ++at) ++entries;
  return entries;
}

// Returns all presets except those that replace nvidia-gpu.yaml, and more entries up to kEntries.
std::string all_presets() {
  std::string text = "resources:\n";
  for (const auto& entry : fs::directory_iterator(kPresets)) {
    const std::string preset = text_of(entry.path());
    if (preset.find("n place of nvidia-gpu.yaml") != std::string::npos) continue;
    text += preset.substr(preset.find("\n- name:") + 1);
    if (!text.ends_with('\n')) text += '\n';
  }
  for (std::size_t n = entries_in(text); n < kEntries; ++n)
    text += "- name: " + resource_name(n) + "\n  count: 8\n";
  return text;
}

// Writes facts for `nodes` nodes: repeats the made machines, each time with a different node name.
void write_facts(const fs::path& directory, std::size_t nodes) {
  std::vector<std::string> machines;
  for (const auto& entry : fs::directory_iterator(kMachines)) {
    if (entry.path().extension() == ".json") machines.push_back(text_of(entry.path()));
  }
  fs::create_directory(directory);
  for (std::size_t n = 0; n < nodes; ++n) {
    std::string text = machines[n % machines.size()];
    const std::string name = "node-" + std::to_string(n);
    const std::size_t begin = text.find("\"node\": \"") + 9;
    text.replace(begin, text.find('"', begin) - begin, name);
    std::ofstream(directory / (name + ".json")) << text;
  }
}

double seconds_of(const rusage& usage) {
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
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

void measure_plan(std::size_t nodes) {
  const Bed bed;
  bed.write_config(all_presets());
  const fs::path facts = bed.devices();
  write_facts(facts, nodes);
  const std::string command = std::string(PLUGHOST_BINARY) + " plan --facts " + facts.string() + ' ' +
                              bed.config().string() + " > /dev/null";
  rusage before{};
  ::getrusage(RUSAGE_CHILDREN, &before);
  const int status = std::system(command.c_str());
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) throw std::runtime_error(command + " failed");
  rusage after{};
  ::getrusage(RUSAGE_CHILDREN, &after);
  const double used = seconds_of(after) - seconds_of(before);
  print({"a plan for " + std::to_string(nodes) + " recorded nodes and " + std::to_string(kEntries) +
             " entries: CPU time",
         "s", used, used, 10, "limit"});
}

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
    std::this_thread::sleep_for(500ms);  // so that no earlier event is still being processed
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

}  // namespace

void measure_fleet(std::size_t rounds) {
  measure_plan(1000);
  measure_watched_file(rounds);
  measure_conditions(rounds);
}

}  // namespace plughost::bench
