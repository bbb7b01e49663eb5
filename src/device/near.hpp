#pragma once
// How near devices are to each other in the machine's tree of PCI bridges. A PCI path is what is above a
// device and itself, from the host bridge on: "pci0000:3a/0000:3a:00.0/0000:3b:00.0".

#include <chrono>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plughost {

// Where the devices are that a resource has given last. Thread-safe.
class LastGiven {
 public:
  using Clock = std::chrono::steady_clock;
  // The kubelet admits one container at a time, and asks for its resources one right after the other.
  static constexpr std::chrono::milliseconds kSameContainer{1000};

  void note(std::vector<std::string> paths, Clock::time_point now);
  // To the container that is being admitted now, by all appearances; otherwise none.
  std::vector<std::string> just_now(Clock::time_point now) const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> paths_;
  Clock::time_point when_ = Clock::time_point::min();
};

// The devices of another resource, which those of a resource should be near.
struct Neighbours {
  std::vector<std::string> healthy;  // PCI paths of those that are Healthy, sorted
  std::shared_ptr<const LastGiven> given;

  // The paths to be near: of what the same container has got just now, else of all that are Healthy.
  std::vector<std::string> paths(LastGiven::Clock::time_point now) const;
  bool operator==(const Neighbours&) const = default;
};

// The larger, the nearer: more bridges in common with the nearest of the others come first, then more others
// that are as near. 0: not even a host bridge in common, or it is not known.
unsigned nearness(std::string_view path, std::span<const std::string> others);

}  // namespace plughost
