#pragma once
// The kubelet's pod resources: which devices pods hold. Loop thread only.

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/event_loop.hpp"
#include "kubelet/holdings.hpp"

namespace plughost {

class PodResources {
 public:
  static constexpr std::chrono::seconds kDeadline{2};
  // Between two questions: the kubelet answers 100 a second, for all that ask it.
  static constexpr std::chrono::seconds kPause{1};
  // A kubelet that is asked too much is asked again so often.
  static constexpr unsigned kMostTries = 5;

  struct Answer {
    std::shared_ptr<const Holdings> holdings;  // nullptr: not known
    std::string why;                           // if not known
  };
  using Done = std::function<void(const Answer& answer)>;

  PodResources(EventLoop& loop, std::filesystem::path socket);
  ~PodResources();

  // done runs in the loop, later; never, if this is gone by then. The question is put after this call: those
  // who ask before it is share the answer.
  void ask(Done done);

 private:
  struct Call;

  void put();
  void on_end(const Answer& answer, bool exhausted);
  void on_answer(const Answer& answer);

  EventLoop& loop_;
  std::filesystem::path socket_;
  std::vector<Done> waiting_;   // for the next question
  std::vector<Done> asking_;    // for the answer to this one
  std::unique_ptr<Call> call_;  // under way
  unsigned tries_ = 0;
  EventLoop::Clock::time_point not_before_{};
  Timer next_;
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace plughost
