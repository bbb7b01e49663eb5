#pragma once
// The kubelet's checkpoint: which pod holds which device. Read, never written. Thread-safe.

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
    std::map<int, std::vector<std::string>> ids;  // by NUMA node; -1: none (all, before Kubernetes 1.20)
    std::optional<Allocation> allocation;         // nullopt: what is stored is no answer of a plugin
    IdSet set = {};                               // of all ids

    // The pod's name is not known.
    std::shared_ptr<const Holder> holder() const {
      return std::make_shared<const Holder>(Holder{{}, pod_uid, container});
    }

    bool operator==(const PodDevices&) const = default;
  };
  std::vector<PodDevices> pod_devices;
  std::map<std::string, std::vector<std::string>> registered;  // healthy ids by resource

  // Both formats: DeviceIDs as a map by NUMA node (since 1.20) and as a list.
  // Throws std::runtime_error with a sentence that says what is not as it should be.
  static Checkpoint parse(std::string_view text);
  // The same of a file. May block. Throws std::system_error as well.
  static Checkpoint read(const std::filesystem::path& file);
};

// The kubelet's checkpoint, read off the loop and once for many who ask. Loop thread only.

class CheckpointReader {
 public:
  using Clock = EventLoop::Clock;
  // Nobody waits for it for longer.
  static constexpr std::chrono::milliseconds kDeadline{1000};

  struct Reading {
    std::shared_ptr<const Checkpoint> checkpoint;  // nullptr: it cannot be read, or not in time
    std::string why;                               // there is none; or the file is not there
    // The UIDs of the pods for which the kubelet keeps a directory: until a pod's volumes are unmounted.
    // nullptr: these directories cannot be read.
    std::shared_ptr<const std::set<std::string>> pods = {};
    Clock::time_point began = Clock::time_point::min();
  };
  using Done = std::function<void(const Reading& reading)>;

  // pods: the kubelet's directory of pods, read together with the file. workers and log outlive it.
  CheckpointReader(Workers& workers, Log& log, std::filesystem::path file, std::filesystem::path pods,
                   std::chrono::milliseconds deadline = kDeadline);
  CheckpointReader& operator=(CheckpointReader&&) = delete;

  // A reading that began at that time or later. done runs in the loop, maybe at once; never, if this is gone
  // by then. A file that is not there is an empty checkpoint.
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
  std::vector<Done> waiting_;  // for the reading that is under way
  std::vector<Done> next_;     // for the one after it
  Reading last_;
  Clock::time_point began_ = Clock::time_point::min();  // the reading that is under way
  bool reading_ = false;
  bool hung_ = false;          // it is under way for longer than the deadline
  std::string told_why_;       // why it could not be read the last time; empty: it could
  bool told_no_pods_ = false;  // the log has said that the pods' directory cannot be read
  Lifetime lifetime_;
};

}  // namespace plughost
