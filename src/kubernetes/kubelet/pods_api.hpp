#pragma once
// The kubelet's pods API: the pods of this node, before they are admitted. Kubernetes 1.37 and later. Loop
// thread only.

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <list>
#include <string>
#include <vector>

#include "base/system/event_loop.hpp"
#include "model/assume/pod.hpp"

namespace plughost {

class PodsApi {
 public:
  static constexpr std::chrono::milliseconds kDeadline{1000};
  // The pause after the rate limit (100 a second, bursts of 10, for all clients together) was exceeded.
  static constexpr std::chrono::milliseconds kPauseIfRefused{50};
  static constexpr unsigned kMostTries = 10;
  // Longer texts of annotations are read as "".
  static constexpr std::size_t kLongestText = 1024;
  // The maximum memory of a pod and of a list, in bytes. Pods that exceed a limit are left out.
  static constexpr std::size_t kMostOfPod = std::size_t{64} << 10u;
  static constexpr std::size_t kMostOfList = std::size_t{16} << 20u;

  enum class Outcome {
    kTold,
    kNotYet,     // the kubelet has just started and does not know its pods yet
    kNotServed,  // no process listens: the kubelet is older, or there is no kubelet
    kFailed,
  };
  struct Answer {
    Outcome outcome = Outcome::kFailed;
    std::vector<Pod> pods;
    std::vector<std::string> left_out;  // "namespace/name" of pods that are too large
    std::string why;                    // why there are no pods
  };
  using Done = std::function<void(const Answer& answer)>;

  PodsApi(EventLoop& loop, std::filesystem::path socket, std::chrono::milliseconds deadline = kDeadline);
  ~PodsApi();
  PodsApi& operator=(PodsApi&&) = delete;

  const std::filesystem::path& socket() const { return socket_; }

  // Requests all pods that have not ended. Calls `done` in the loop, later; never after destruction.
  void list(Done done) { request("", std::move(done)); }
  // Requests the pod with that UID. The answer has no pod if the kubelet does not have it.
  void get(const std::string& uid, Done done) { request(uid, std::move(done)); }

 private:
  struct Question;
  using Questions = std::list<Question>;

  void request(const std::string& uid, Done done);
  void put(Questions::iterator question);
  template <typename Call>
  void put(Questions::iterator question, Call& call, typename Call::Method method);
  void on_end(Questions::iterator question, const Answer& answer, bool exhausted);

  EventLoop& loop_;
  std::filesystem::path socket_;
  std::chrono::milliseconds deadline_;
  Questions questions_;
  Lifetime lifetime_;
};

}  // namespace plughost
