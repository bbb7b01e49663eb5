#pragma once
// What the kubelet tells of devices: which pods hold them, and which it would give.

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
  // Between two questions: the kubelet answers 100 a second, and 10 at once, for all that ask it.
  static constexpr std::chrono::milliseconds kPause{100};
  // A kubelet that is asked too much is asked again after this, so often.
  static constexpr std::chrono::seconds kPauseIfRefused{1};
  static constexpr unsigned kMostTries = 5;

  struct Answer {
    std::shared_ptr<const Holdings> holdings;  // nullptr: not known
    std::string why;                           // if not known
    // True: a device that is not in `holdings` is held by no container. Of HoldingsReader alone.
    bool complete = false;
    // Why `List` could not be read; empty: it was. Of HoldingsReader alone.
    std::string list_error = {};
    EventLoop::Clock::time_point asked = EventLoop::Clock::time_point::min();  // when the question was put
  };
  using Done = std::function<void(const Answer& answer)>;

  PodResources(EventLoop& loop, std::filesystem::path socket);
  ~PodResources();

  // The answer to a question that is put at that time or later: the last one, or the next, whoever asked for
  // it. done runs in the loop, maybe at once; never, if this is gone by then.
  void query(EventLoop::Clock::time_point since, Done done);

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
  void query(std::function<void(const Count& count)> done);
  bool asking() const { return call_ != nullptr; }

 private:
  struct Call;

  EventLoop& loop_;
  std::filesystem::path socket_;
  std::unique_ptr<Call> call_;  // under way
  Lifetime lifetime_;
};

}  // namespace plughost
