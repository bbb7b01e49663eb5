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
  // A kubelet that is asked too much (100 a second, 10 at once, for all that ask it) is asked again after
  // this, so often.
  static constexpr std::chrono::milliseconds kPauseIfRefused{50};
  static constexpr unsigned kMostTries = 10;
  // A longer text of an annotation is read as the empty one.
  static constexpr std::size_t kLongestText = 1024;
  // Bytes of memory of a pod, and of a list: what is larger, or comes after, is left out.
  static constexpr std::size_t kMostOfPod = std::size_t{64} << 10u;
  static constexpr std::size_t kMostOfList = std::size_t{16} << 20u;

  enum class Outcome {
    kTold,
    kNotYet,     // the kubelet has just started, and has not heard of its pods
    kNotServed,  // nobody listens: an older kubelet, or none
    kFailed,
  };
  struct Answer {
    Outcome outcome = Outcome::kFailed;
    std::vector<Pod> pods;
    std::vector<std::string> left_out;  // "namespace/name" of pods that are too large
    std::string why;                    // it is not told
  };
  using Done = std::function<void(const Answer& answer)>;

  PodsApi(EventLoop& loop, std::filesystem::path socket, std::chrono::milliseconds deadline = kDeadline);
  ~PodsApi();
  PodsApi& operator=(PodsApi&&) = delete;

  const std::filesystem::path& socket() const { return socket_; }

  // All pods that have not ended, and done later in the loop; never, if this is gone by then.
  void list(Done done) { request("", std::move(done)); }
  // The one with that UID; none, if the kubelet has none.
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
