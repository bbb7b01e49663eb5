#pragma once
// What is written into pods' annotations, until it is: nobody waits for it. Loop thread only.

#include <chrono>
#include <list>
#include <memory>
#include <string>

#include "apiserver/api_server.hpp"
#include "base/event_loop.hpp"
#include "base/rate.hpp"
#include "log/log.hpp"

namespace plughost {

class PodMarks {
 public:
  static constexpr std::chrono::milliseconds kFirstPause{500};
  static constexpr std::chrono::milliseconds kLongestPause{30'000};
  // What is more waits for what is before it.
  static constexpr std::size_t kMost = 10'000;

  // All outlive it.
  PodMarks(EventLoop& loop, ApiServer& server, Log& log);
  PodMarks& operator=(PodMarks&&) = delete;

  // pod: "namespace/name". patch: a merge patch of its annotations, which only that pod takes, and which
  // gives that annotation that value. Of one annotation one value is written at a time, and the last in the
  // end.
  void add(const std::string& pod, const std::string& uid, const std::string& annotation,
           const std::string& value, std::string patch);

 private:
  struct Mark {
    std::string pod;
    std::string uid;
    std::string annotation;
    std::string value;
    std::string patch;
    bool stale = false;  // the call that is under way says another value
    Backoff backoff{kFirstPause, kLongestPause};
    bool told = false;  // that it fails
    std::unique_ptr<Timer> again;
    std::unique_ptr<ApiCall> call;
  };
  using Marks = std::list<Mark>;

  void write(Marks::iterator mark);
  void on_answer(Marks::iterator mark, const ApiAnswer& answer);

  EventLoop& loop_;
  ApiServer& server_;
  Log& log_;
  Marks marks_;
  Subscription user_;
};

}  // namespace plughost
