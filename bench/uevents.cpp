#include "uevents.hpp"

#include <algorithm>
#include <cstdio>
#include <thread>

#include "bed.hpp"
#include "child.hpp"
#include "figures.hpp"
#include "hotplug/namespaces.hpp"

namespace plughost::bench {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

constexpr const char* kCamera = "bench.example.com/camera";
constexpr const char* kOther = "bench.example.com/other";
constexpr const char* kClass = "/sys/class/video4linux";

std::string device_path(std::size_t n) {
  return "/sys/devices/platform/cameras/video4linux/video" + std::to_string(n);
}

fs::path class_link(std::size_t n) { return fs::path(kClass) / ("video" + std::to_string(n)); }

// Simulates a machine whose cameras can be plugged in and unplugged.
class Cameras {
 public:
  explicit Cameras(std::size_t count) {
    test::show(bed_.tree());
    fs::create_directories(kClass);
    for (std::size_t n = 0; n < count; ++n) {
      fs::create_directories(device_path(n));
      std::ofstream(device_path(n) + "/uevent") << "DEVNAME=video" << n << "\n";
      fs::create_directory_symlink(kClass, device_path(n) + "/subsystem");
      test::make_node("/dev/video" + std::to_string(n));
    }
    bed_.write_config(std::string("resources:\n- {name: ") + kCamera +
                      ", udev: {subsystem: video4linux}}\n- {name: " + kOther + ", count: 8}\n");
  }

  const Bed& bed() const { return bed_; }
  void plug_in(std::size_t n) const {
    fs::create_directory_symlink(device_path(n), class_link(n));
    tell("add", n);
  }
  void unplug(std::size_t n) const {
    fs::remove(class_link(n));
    tell("remove", n);
  }
  void tell(const char* action, std::size_t n) const {
    test::send_uevent(action, device_path(n).substr(4), "video4linux");
  }

 private:
  Bed bed_;
};

std::size_t healthy(const KubeletState& state) {
  return static_cast<std::size_t>(std::ranges::count_if(*state.of(kCamera).devices, &ListedDevice::healthy));
}

void wait_for_cameras(const StandInKubelet& kubelet, std::size_t count) {
  wait(kubelet, "the cameras", [=](const KubeletState& state) {
    return state.of(kCamera).attached && state.of(kCamera).first_list && healthy(state) == count;
  });
}

double allocate_us(StandInKubelet& kubelet) {
  const auto start = Clock::now();
  if (kubelet.allocate_ids(kOther, {std::string(kOther) + "-0"}).code != 0) give_up("Allocate");
  return ms_between(start, Clock::now()) * 1000;
}

void measure_one(std::size_t rounds) {
  const Cameras cameras(rounds);
  StandInKubelet kubelet({.directory = cameras.bed().plugins()});
  const Child daemon(cameras.bed().config(), cameras.bed().plugins());
  wait_for_cameras(kubelet, 0);
  std::vector<double> samples;
  for (std::size_t n = 0; n < rounds; ++n) {
    std::this_thread::sleep_for(250ms);  // so that no earlier event is still being processed
    const auto start = Clock::now();
    cameras.plug_in(n);
    wait_for_cameras(kubelet, n + 1);
    samples.push_back(ms_between(start, Clock::now()));
  }
  print({"a uevent → the kubelet has the list", "ms", median(samples), *std::ranges::max_element(samples),
         1000, "limit", rounds});
}

void measure_storm(std::size_t events) {
  const Cameras cameras(100);
  StandInKubelet kubelet({.directory = cameras.bed().plugins()});
  const Child daemon(cameras.bed().config(), cameras.bed().plugins());
  for (std::size_t n = 0; n < 50; ++n) cameras.plug_in(n);
  wait_for_cameras(kubelet, 50);
  wait(kubelet, "the other resource", [](const KubeletState& state) { return state.of(kOther).attached; });
  std::vector<double> quiet;
  for (int n = 0; n < 500; ++n) quiet.push_back(allocate_us(kubelet));

  const std::size_t lists = kubelet.state().of(kCamera).lists;
  std::vector<double> stormy;
  const auto start = Clock::now();
  Clock::time_point end;
  std::thread storm([&] {
    for (std::size_t n = 0; n < events; ++n) {
      if (n % 200 == 0 && n / 200 < 50)
        cameras.plug_in(50 + n / 200);
      else
        cameras.tell("change", n % 50);
    }
    end = Clock::now();
  });
  while (Clock::now() - start < 1s) stormy.push_back(allocate_us(kubelet));
  storm.join();
  wait_for_cameras(kubelet, 100);
  const double late = ms_between(end, *kubelet.state().of(kCamera).last_list);
  const double seconds = ms_between(start, end) / 1000;
  const std::string of =
      "a storm of " + std::to_string(events) + " events in " + std::to_string(seconds).substr(0, 4) + " s: ";
  print({of + "the last of them → the list is right", "ms", std::max(late, 0.0), std::max(late, 0.0), 1000,
         "limit"});
  print({of + "messages to the kubelet a second", "",
         static_cast<double>(kubelet.state().of(kCamera).lists - lists) / std::max(seconds, 1.0), 0, 10,
         "limit"});
  print({of + "another resource's Allocate", "µs", median(stormy), *std::ranges::max_element(stormy),
         median(quiet), "without a storm:", stormy.size()});
}

void measure_flapping(std::size_t devices, std::chrono::seconds duration) {
  const Cameras cameras(devices);
  StandInKubelet kubelet({.directory = cameras.bed().plugins()});
  const Child daemon(cameras.bed().config(), cameras.bed().plugins());
  for (std::size_t n = 0; n < devices; ++n) cameras.plug_in(n);
  wait_for_cameras(kubelet, devices);
  const Memory before = daemon.memory();
  const double cpu = daemon.cpu_ms();
  const auto start = Clock::now();
  std::size_t events = 0;
  for (std::size_t n = 0; Clock::now() - start < duration; n = (n + 1) % devices, events += 2) {
    cameras.unplug(n);
    cameras.plug_in(n);
    std::this_thread::sleep_for(1ms);
  }
  const double seconds = ms_between(start, Clock::now()) / 1000;
  const Memory after = daemon.memory();
  const std::string of = std::to_string(devices) + " devices flap for " + std::to_string(duration.count()) +
                         " s (" + std::to_string(events) + " events): ";
  print({of + "resident memory", "MB", after.resident / 1024, after.resident / 1024, before.resident / 1024,
         "before:"});
  const double used = (daemon.cpu_ms() - cpu) / seconds;
  print({of + "CPU time a second", "ms", used, used, 1000, "one core:"});
}

}  // namespace

int run_uevents(std::size_t rounds) {
  test::enter_made_machine();
  try {
    measure_one(rounds);
    measure_storm(10'000);
    measure_flapping(1'000, 10s);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench: %s\n", error.what());
    return 1;
  }
}

}  // namespace plughost::bench
