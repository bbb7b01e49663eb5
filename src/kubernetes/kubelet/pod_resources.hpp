#pragma once
// The kubelet's pod resources API: which pods hold devices, and which devices the kubelet would allocate.

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/system/event_loop.hpp"
#include "kubernetes/kubelet/holdings.hpp"

namespace plughost {

// The kubelet's pod resources: which devices pods hold. Loop thread only.
class PodResources {
 public:
  static constexpr std::chrono::seconds kDeadline{2};
  // The shortest interval of queries: the kubelet answers 100 a second, and bursts of 10, for all clients
  // together.
  static constexpr std::chrono::milliseconds kPause{100};
  // After the rate limit was exceeded, the query is repeated after this pause, up to kMostTries times.
  static constexpr std::chrono::seconds kPauseIfRefused{1};
  static constexpr unsigned kMostTries = 5;

  struct Answer {
    std::shared_ptr<const Holdings> holdings;  // nullptr: unknown
    std::string why;                           // why `holdings` is nullptr
    // If true, no container holds a device that is not in `holdings`. Set by HoldingsReader only.
    bool complete = false;
    // Why `List` could not be read; empty if it was. Set by HoldingsReader only.
    std::string list_error = {};
    EventLoop::Clock::time_point asked = EventLoop::Clock::time_point::min();  // when the query was sent
  };
  using Done = std::function<void(const Answer& answer)>;

  PodResources(EventLoop& loop, std::filesystem::path socket);
  ~PodResources();

  // Calls `done` with the answer to a query sent at `since` or later: the last or the next query, shared by
  // all callers. `done` runs in the loop, possibly at once; never after this object is destroyed.
  void query(EventLoop::Clock::time_point since, Done done);

 private:
  struct Call;

  void arm();
  void put();
  void on_end(Answer answer, bool exhausted);
  void on_answer(Answer answer);

  EventLoop& loop_;
  std::filesystem::path socket_;
  std::vector<Done> waiting_;   // waiters for the next query
  std::vector<Done> asking_;    // waiters for the present query
  std::unique_ptr<Call> call_;  // the present query
  unsigned tries_ = 0;
  std::chrono::milliseconds pause_ = kPause;  // after the latest query
  EventLoop::Clock::time_point asked_ =
      EventLoop::Clock::time_point::min();  // when the latest query was sent
  Answer last_;
  Timer next_;
  Lifetime lifetime_;
};

// Queries the devices that the kubelet itself counts as allocatable: they can differ from the lists that it
// was sent. Loop thread only.
class Allocatable {
 public:
  static constexpr std::chrono::seconds kDeadline{2};

  // The ids of Healthy devices by resource, sorted, each once.
  using Ids = std::map<std::string, std::vector<std::string>, std::less<>>;
  struct Count {
    std::shared_ptr<const Ids> ids;  // nullptr: unknown
    std::string why;                 // why `ids` is nullptr
  };

  // `socket` is the socket of the pod resources API.
  Allocatable(EventLoop& loop, std::filesystem::path socket);
  ~Allocatable();

  // Calls `done` in the loop, possibly at once; never after this object is destroyed. One query at a time.
  void query(std::function<void(const Count& count)> done);
  bool asking() const { return call_ != nullptr; }

 private:
  struct Call;

  EventLoop& loop_;
  std::filesystem::path socket_;
  std::unique_ptr<Call> call_;  // the present query
  Lifetime lifetime_;
};

}  // namespace plughost
