// ./dev bench: measures the daemon's speed and memory against the stand-in kubelet, and prints each figure
// beside a limit or beside a baseline from the same run.

#include <sys/resource.h>
#include <sys/utsname.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "api_server.hpp"
#include "bare.hpp"
#include "bed.hpp"
#include "child.hpp"
#include "figures.hpp"
#include "fleet.hpp"
#include "gpus.hpp"
#include "holders.hpp"
#include "kubelet/standin_kubelet.hpp"
#include "pods.hpp"
#include "uevents.hpp"

namespace plughost::bench {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

std::function<bool(const KubeletState&)> all_fed(std::size_t resources, unsigned incarnation) {
  return [=](const KubeletState& state) {
    if (state.incarnation < incarnation || state.resources.size() < resources) return false;
    for (const auto& [name, resource] : state.resources) {
      if (!resource.attached || !resource.first_list ||
          resource.registrations.back().incarnation != incarnation)
        return false;
    }
    return true;
  };
}

Clock::time_point last_fed(const KubeletState& state) {
  Clock::time_point last{};
  for (const auto& [name, resource] : state.resources) last = std::max(last, *resource.first_list);
  return last;
}

void measure_recovery(std::size_t resources, std::size_t rounds, double limit_ms) {
  const Bed bed;
  bed.write_counts(resources, 8);
  StandInKubelet kubelet({.directory = bed.plugins()});
  const Child daemon(bed.config(), bed.plugins());
  unsigned incarnation = 1;
  wait(kubelet, "the first attachment", all_fed(resources, incarnation));

  std::vector<double> samples;
  std::vector<double> bare;
  for (std::size_t round = 0; round < rounds; ++round) {
    kubelet.stop();
    const auto start = Clock::now();
    kubelet.restart();
    wait(kubelet, "recovery", all_fed(resources, ++incarnation));
    samples.push_back(ms_between(start, last_fed(kubelet.state())));
    // The baseline: as many connections and first lists, without a registration.
    const auto second = Clock::now();
    for (std::size_t n = 0; n < resources; ++n) kubelet.open_second_stream(resource_name(n));
    wait(kubelet, "second streams", [&](const KubeletState& state) {
      for (const auto& [name, resource] : state.resources) {
        if (resource.second.lists == 0) return false;
      }
      return true;
    });
    bare.push_back(ms_between(second, Clock::now()));
  }
  const std::string of = std::to_string(resources) + " resources of 8: ";
  const double worst = *std::ranges::max_element(samples);
  print(
      {of + "a new kubelet.sock → all streams fed", "ms", median(samples), worst, limit_ms, "limit", rounds});
  print({of + "the same", "ms", median(samples), worst, median(bare),
         "as many connections and streams alone:", rounds});
}

void measure_start(std::size_t resources, std::size_t rounds, double limit_ms) {
  std::vector<double> samples;
  for (std::size_t round = 0; round < rounds; ++round) {
    const Bed bed;
    bed.write_counts(resources, 8);
    StandInKubelet kubelet({.directory = bed.plugins()});
    const auto start = Clock::now();
    const Child daemon(bed.config(), bed.plugins());
    wait(kubelet, "the start", all_fed(resources, 1));
    samples.push_back(ms_between(start, last_fed(kubelet.state())));
  }
  print({std::to_string(resources) + " resources of 8: start → all streams fed", "ms", median(samples),
         *std::ranges::max_element(samples), limit_ms, "limit", rounds});
}

std::string this_program() { return fs::read_symlink("/proc/self/exe").string(); }

// Returns the baseline's memory: a separate process that has only that many gRPC servers with a stream each.
double bare_memory_mb(std::size_t servers) {
  const std::string command = this_program() + " --bare " + std::to_string(servers);
  FILE* peer = ::popen(command.c_str(), "r");
  if (peer == nullptr) throw std::runtime_error("popen " + command);
  double kilobytes = 0;
  const bool read = std::fscanf(peer, "%lf", &kilobytes) == 1;
  if (::pclose(peer) != 0 || !read) throw std::runtime_error(command + " failed");
  return kilobytes / 1024;
}

void measure_memory(std::size_t resources, double private_mb, std::optional<double> resident_mb) {
  const Bed bed;
  bed.write_counts(resources, 8);
  StandInKubelet kubelet({.directory = bed.plugins()});
  const Child daemon(bed.config(), bed.plugins());
  wait(kubelet, "attachment", all_fed(resources, 1));
  std::this_thread::sleep_for(3s);  // the daemon frees the memory that only its start needed
  const Memory memory = daemon.memory();
  const std::string of = std::to_string(resources) + " resources of 8: ";
  print({of + "private memory (RssAnon)", "MB", memory.anonymous / 1024, memory.anonymous / 1024, private_mb,
         "limit"});
  print({of + "the same", "MB", memory.anonymous / 1024, memory.anonymous / 1024, bare_memory_mb(resources),
         "as many bare gRPC servers with a stream each:"});
  if (resident_mb)
    print({of + "resident memory (VmRSS)", "MB", memory.resident / 1024, memory.resident / 1024, *resident_mb,
           "limit"});
  std::printf("| %sthreads | %zu | | 1 | | |\n", of.c_str(), daemon.threads());
}

void measure_allocate(std::size_t rounds) {
  const Bed bed;
  bed.write_counts(1, 8);
  StandInKubelet kubelet({.directory = bed.plugins()});
  const Child daemon(bed.config(), bed.plugins());
  wait(kubelet, "attachment", all_fed(1, 1));
  std::vector<std::string> ids;
  for (int n = 0; n < 8; ++n) ids.push_back(resource_name(0) + "-" + std::to_string(n));

  std::vector<double> allocate;
  std::vector<double> empty;
  for (std::size_t round = 0; round < rounds; ++round) {
    const auto start = Clock::now();
    if (kubelet.allocate_ids(resource_name(0), ids).code != 0) give_up("Allocate");
    const auto between = Clock::now();
    if (kubelet.allocate_ids(resource_name(0), {}).code != 0) give_up("an empty call");
    allocate.push_back(ms_between(start, between) * 1000);
    empty.push_back(ms_between(between, Clock::now()) * 1000);
  }
  print({"Allocate of 8 devices", "µs", median(allocate), *std::ranges::max_element(allocate), median(empty),
         "an empty unary call:", rounds});
}

void measure_hotplug(std::size_t rounds) {
  const Bed bed;
  fs::create_directory(bed.devices());
  bed.write_config(
      "resources:\n- {name: bench.example.com/gopher, directory: {path: " + bed.devices().string() + "}}\n");
  StandInKubelet kubelet({.directory = bed.plugins()});
  const Child daemon(bed.config(), bed.plugins());
  wait(kubelet, "attachment", all_fed(1, 1));
  std::vector<double> samples;
  for (std::size_t n = 1; n <= rounds; ++n) {
    std::this_thread::sleep_for(250ms);  // so that no earlier event is still being processed
    const auto start = Clock::now();
    std::ofstream{bed.devices() / ("gopher-" + std::to_string(n))};
    wait(kubelet, "the new file",
         [&](const KubeletState& state) { return state.of("bench.example.com/gopher").capacity == n; });
    samples.push_back(ms_between(start, Clock::now()));
  }
  print({"a file appears → the kubelet has the list", "ms", median(samples),
         *std::ranges::max_element(samples), 20, "limit", rounds});
}

void measure_large_list(std::size_t devices, std::size_t rounds) {
  const Bed bed;
  fs::create_directory(bed.devices());
  char name[64];
  for (std::size_t n = 0; n < devices; ++n) {
    std::snprintf(name, sizeof name, "device-%06zu-with-an-id-of-usual-length", n);
    std::ofstream{bed.devices() / name};
  }
  bed.write_config(
      "resources:\n- {name: bench.example.com/many, directory: {path: " + bed.devices().string() + "}}\n");
  StandInKubelet kubelet({.directory = bed.plugins()});
  const Child daemon(bed.config(), bed.plugins());
  wait(kubelet, "attachment", all_fed(1, 1));
  std::vector<double> samples;
  for (std::size_t n = 1; n <= rounds; ++n) {
    std::this_thread::sleep_for(500ms);
    const std::size_t lists = kubelet.state().of("bench.example.com/many").lists;
    const auto start = Clock::now();
    std::ofstream{bed.devices() / ("one-more-" + std::to_string(n))};
    wait(kubelet, "the change",
         [&](const KubeletState& state) { return state.of("bench.example.com/many").lists > lists; });
    samples.push_back(ms_between(start, *kubelet.state().of("bench.example.com/many").last_list));
  }
  print({std::to_string(devices) + " devices in one resource: a change → the kubelet has the list", "ms",
         median(samples), *std::ranges::max_element(samples), 100, "limit", rounds});
}

void measure_idle(std::chrono::seconds duration) {
  const Bed bed;
  bed.write_counts(64, 8);
  StandInKubelet kubelet({.directory = bed.plugins()});
  const Child daemon(bed.config(), bed.plugins());
  wait(kubelet, "attachment", all_fed(64, 1));
  std::this_thread::sleep_for(3s);
  const double cpu = daemon.cpu_ms();
  const auto wakeups = daemon.wakeups();
  std::this_thread::sleep_for(duration);
  const std::string span = "idle for " + std::to_string(duration.count()) + " s: ";
  const double cpu_used = daemon.cpu_ms() - cpu;
  const auto woken = static_cast<double>(daemon.wakeups() - wakeups);
  print({span + "CPU time", "ms", cpu_used, cpu_used, 10, "one clock tick:"});
  std::printf("| %svoluntary context switches of all threads | %.0f | | 1 | | |\n", span.c_str(), woken);
}

// Runs a measurement in a separate process, because a namespace or a library path applies to the whole
// process.
void measure_apart(const std::string& what, std::size_t rounds) {
  std::fflush(stdout);
  const std::string command = this_program() + " --" + what + " --rounds " + std::to_string(rounds);
  if (std::system(command.c_str()) != 0) std::printf("| %s: not measured | | | | | |\n", what.c_str());
}

void print_machine() {
  utsname name{};
  ::uname(&name);
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::string model = "unknown";
  for (std::string line; std::getline(cpuinfo, line);) {
    if (line.starts_with("model name")) model = line.substr(line.find(':') + 2);
  }
  std::printf("%u × %s, %s %s\n\n", std::thread::hardware_concurrency(), model.c_str(), name.sysname,
              name.release);
}

void raise_descriptor_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

}  // namespace plughost::bench

int main(int argc, char** argv) {
  using namespace plughost::bench;
  CLI::App app{"speed and memory of the daemon, against the stand-in kubelet"};
  std::size_t rounds = 20;
  unsigned idle_seconds = 60;
  app.add_option("--rounds", rounds, "how often each thing is measured")->capture_default_str();
  app.add_option("--idle", idle_seconds, "how long to watch it do nothing, in seconds; 0: not at all")
      ->capture_default_str();
  std::size_t bare_servers = 0;
  app.add_option("--bare", bare_servers, "only print the private memory of so many bare servers, in kB");
  bool uevents = false;
  app.add_flag("--uevents", uevents, "only what needs namespaces of its own");
  bool gpus = false;
  app.add_flag("--gpus", gpus, "only what needs a fake of NVIDIA's library");
  bool holders = false;
  app.add_flag("--holders", holders, "only what 48,000 units of one pod cost");
  bool pods = false;
  app.add_flag("--pods", pods, "only what the pods of a node cost that the API server lists");
  bool fleet = false;
  app.add_flag("--fleet", fleet, "only what one file for many nodes costs");
  bool api_server = false;
  app.add_flag("--api-server", api_server, "only what `apiServer` costs");
  CLI11_PARSE(app, argc, argv);
  raise_descriptor_limit();
  if (uevents) return run_uevents(rounds);
  if (gpus) return run_gpus(rounds);
  if (holders) return run_holders();
  if (pods) return run_pods();
  if (bare_servers > 0) return run_bare_servers(bare_servers);
  try {
    print_machine();
    print_heading();
    if (fleet) {
      measure_fleet(rounds);
      return 0;
    }
    if (api_server) {
      measure_api_server(std::max<std::size_t>(rounds / 4, 1));
      return 0;
    }
    measure_recovery(64, rounds, 50);
    measure_start(64, rounds, 80);
    measure_memory(64, 3.5, 14);
    measure_memory(512, 10, std::nullopt);
    measure_allocate(rounds * 100);
    measure_hotplug(rounds);
    measure_large_list(50000, std::max<std::size_t>(rounds / 2, 1));
    measure_fleet(rounds);
    measure_api_server(std::max<std::size_t>(rounds / 4, 1));
    measure_apart("uevents", rounds);
    measure_apart("gpus", rounds);
    measure_apart("pods", rounds);
    measure_apart("holders", rounds);
    if (idle_seconds > 0) measure_idle(std::chrono::seconds(idle_seconds));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench: %s\n", error.what());
    return 1;
  }
}
