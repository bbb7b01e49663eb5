#pragma once
// The kubelet's checkpoint, which records the devices that containers hold. plughost only reads the file.

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/log/log.hpp"
#include "base/system/event_loop.hpp"
#include "base/system/workers.hpp"
#include "kubernetes/kubelet/pod_resources.hpp"
#include "model/allocate/allocation.hpp"
#include "model/device/names.hpp"

namespace plughost {

inline constexpr const char* kCheckpointName = "kubelet_internal_checkpoint";

struct Checkpoint {
  struct PodDevices {
    std::string pod_uid;
    std::string container;
    std::string resource;
    std::map<int, std::vector<std::string>> ids;  // by NUMA node; -1: no node (all, before Kubernetes 1.20)
    std::optional<Allocation> allocation;         // the plugin's answer; nullopt: missing or malformed
    IdSet set = {};                               // of all ids

    // Returns the holder without the pod's name, which the checkpoint does not have.
    std::shared_ptr<const Holder> holder() const {
      return std::make_shared<const Holder>(Holder{{}, pod_uid, container});
    }

    bool operator==(const PodDevices&) const = default;
  };
  std::vector<PodDevices> pod_devices;
  std::map<std::string, std::vector<std::string>> registered;  // healthy ids by resource

  // Parses both formats: DeviceIDs as a map by NUMA node (since 1.20), and as a list. Throws
  // std::runtime_error that says what is malformed, as a sentence.
  static Checkpoint parse(std::string_view text);
  // Reads and parses a file. May block. Also throws std::system_error.
  static Checkpoint read(const std::filesystem::path& file);
};

// Reads the kubelet's checkpoint on a worker, once for all concurrent callers. Loop thread only.

class CheckpointReader {
 public:
  using Clock = EventLoop::Clock;
  // The longest time that a caller waits.
  static constexpr std::chrono::milliseconds kDeadline{1000};

  struct Reading {
    std::shared_ptr<const Checkpoint> checkpoint;  // nullptr if it cannot be read, or not in time
    std::string why;  // why `checkpoint` is nullptr; also set if the file is missing
    // The UIDs of the pods that have a directory, which the kubelet keeps until a pod's volumes are
    // unmounted. nullptr if the directories cannot be read.
    std::shared_ptr<const std::set<std::string>> pods = {};
    Clock::time_point began = Clock::time_point::min();
  };
  using Done = std::function<void(const Reading& reading)>;

  // `pods` is the kubelet's directory of pods, which is read together with `file`. `workers` and `log` must
  // outlive this object.
  CheckpointReader(Workers& workers, Log& log, std::filesystem::path file, std::filesystem::path pods,
                   std::chrono::milliseconds deadline = kDeadline);
  CheckpointReader& operator=(CheckpointReader&&) = delete;

  // Calls `done` in the loop, possibly at once, with a reading that began at `since` or later; never after
  // this object is destroyed. A missing file is an empty checkpoint.
  void read(Clock::time_point since, Done done);
  const std::filesystem::path& file() const { return file_; }

 private:
  struct Outcome;

  void begin();
  void on_end(const Outcome& outcome);
  void finish(const Outcome& outcome);

  Workers& workers_;
  Log& log_;
  const std::filesystem::path file_;
  const std::filesystem::path pods_;
  const std::chrono::milliseconds deadline_;
  std::vector<Done> waiting_;  // waiters for the present reading
  std::vector<Done> next_;     // waiters for the next reading
  Reading last_;
  Clock::time_point began_ = Clock::time_point::min();  // when the present reading began
  bool reading_ = false;
  bool hung_ = false;          // the present reading has exceeded the deadline
  std::string told_why_;       // why the last reading failed; empty if it did not
  bool told_no_pods_ = false;  // an unreadable directory of pods has been logged
  Lifetime lifetime_;
};

}  // namespace plughost
