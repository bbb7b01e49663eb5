#pragma once
// The marks that are to be written into the annotations of one resource's pods. Loop thread only.
//
// One request is under way at a time. After a failure one mark, each time another, probes whether marks are
// accepted again, and the others wait for it: a node whose 10,000 marks are forbidden sends two requests a
// minute, and not 333 a second. A new mark is tried at once.

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "apiserver/api_server.hpp"
#include "assume/pod.hpp"
#include "base/event_loop.hpp"
#include "base/rate.hpp"
#include "log/log.hpp"

namespace plughost {

class PodMarks {
 public:
  static constexpr std::chrono::milliseconds kFirstPause{500};
  static constexpr std::chrono::milliseconds kLongestPause{30'000};

  // All outlive it.
  PodMarks(EventLoop& loop, ApiServer& server, Log& log);
  PodMarks& operator=(PodMarks&&) = delete;

  // Writes the pod's mark, unless it is to be written already. patch: a merge patch of the pod's annotations,
  // with its UID.
  void add(const AskingPod& pod, std::string patch);
  // Drops the marks of all other pods.
  void keep(const std::function<bool(const std::string& uid)>& wanted);

 private:
  struct Mark {
    std::string pod;  // "namespace/name"
    std::string uid;
    std::string annotation;
    std::string patch;
  };

  void write();
  void on_answer(const ApiAnswer& answer);

  ApiServer& server_;
  Log& log_;
  std::list<Mark> waiting_;
  std::optional<Mark> writing_;
  std::unique_ptr<ApiCall> call_;  // of writing_
  Backoff backoff_{kFirstPause, kLongestPause};
  bool failing_ = false;
  Timer again_;
  Subscription user_;
};

}  // namespace plughost
