#pragma once
// What the kubelet tells of devices: which pods hold them, and which it would give.

#include <chrono>
#include <compare>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/event_loop.hpp"

namespace plughost {

// Which containers hold which devices. Plain values.
struct Holder {
  std::string pod_namespace;  // empty: only the pod's UID is known
  std::string pod;            // its name, or its UID
  std::string container;

  auto operator<=>(const Holder&) const = default;
};

// By id, as the kubelet knows them: those of replicas. Two pods hold one id only if the kubelet has given it
// twice.
using HoldersOfIds = std::multimap<std::string, Holder, std::less<>>;
// By resource.
using Holdings = std::map<std::string, HoldersOfIds, std::less<>>;
// Of a pod's containers that hold an id, as an init container and the one after it, the last counts.
void note_holder(HoldersOfIds& holders, const std::string& id, const Holder& holder);

// The kubelet's pod resources: which devices pods hold. Loop thread only.
class PodResources {
 public:
  static constexpr std::chrono::seconds kDeadline{2};
  // Between two questions: the kubelet answers 100 a second, and 10 at once, for all that ask it.
  static constexpr std::chrono::milliseconds kPause{100};
  // A kubelet that is asked too much is asked again after this, so often.
  static constexpr std::chrono::seconds kPauseIfRefused{1};
  static constexpr unsigned kMostTries = 5;

  struct Answer {
    std::shared_ptr<const Holdings> holdings;                                  // nullptr: not known
    std::string why;                                                           // if not known
    EventLoop::Clock::time_point asked = EventLoop::Clock::time_point::min();  // when the question was put
  };
  using Done = std::function<void(const Answer& answer)>;

  PodResources(EventLoop& loop, std::filesystem::path socket);
  ~PodResources();

  // The answer to a question that is put at that time or later: the last one, or the next, whoever asked for
  // it. done runs in the loop, maybe at once; never, if this is gone by then.
  void ask(EventLoop::Clock::time_point since, Done done);

 private:
  struct Call;

  void arm();
  void put();
  void on_end(Answer answer, bool exhausted);
  void on_answer(Answer answer);

  EventLoop& loop_;
  std::filesystem::path socket_;
  std::vector<Done> waiting_;   // for the next question
  std::vector<Done> asking_;    // for the answer to this one
  std::unique_ptr<Call> call_;  // under way
  unsigned tries_ = 0;
  std::chrono::milliseconds pause_ = kPause;                                  // after the latest question
  EventLoop::Clock::time_point asked_ = EventLoop::Clock::time_point::min();  // the latest question
  Answer last_;
  Timer next_;
  Lifetime lifetime_;
};

// Which devices the kubelet would give: its own count, and not what it was sent. Loop thread only.
class Allocatable {
 public:
  static constexpr std::chrono::seconds kDeadline{2};

  // Ids of its Healthy devices by resource, sorted, each once.
  using Ids = std::map<std::string, std::vector<std::string>, std::less<>>;
  struct Count {
    std::shared_ptr<const Ids> ids;  // nullptr: not known
    std::string why;                 // if not known
  };

  // socket: of the pod resources.
  Allocatable(EventLoop& loop, std::filesystem::path socket);
  ~Allocatable();

  // done runs in the loop, maybe at once; never, if this is gone by then. One question at a time.
  void ask(std::function<void(const Count& count)> done);
  bool asking() const { return call_ != nullptr; }

 private:
  struct Call;

  EventLoop& loop_;
  std::filesystem::path socket_;
  std::unique_ptr<Call> call_;  // under way
  Lifetime lifetime_;
};

}  // namespace plughost
