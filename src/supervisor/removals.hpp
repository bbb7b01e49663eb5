#pragma once
// The programs that are run for the devices of resources that are not offered any more. Loop thread only.

#include <chrono>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/event_loop.hpp"
#include "base/log.hpp"
#include "base/subprocess.hpp"
#include "device/offer.hpp"

namespace plughost {

class Removals {
 public:
  // However many devices there are.
  static constexpr std::size_t kAtOnce = 16;

  // loop and log outlive it. Destroyed means that what runs is killed.
  Removals(EventLoop& loop, Log& log);
  Removals(const Removals&) = delete;
  Removals& operator=(const Removals&) = delete;

  // Runs the program of the offer's onRemove, if it has one, for each of its devices. What goes wrong is
  // logged.
  void run(const Offer& offer);
  // Calls done, later, when all programs have ended; or after limit, and then what has not ended is killed.
  void finish(std::chrono::milliseconds limit, std::function<void()> done);

 private:
  struct Removal {
    std::string resource;
    std::string device;
    std::vector<std::string> command;
    std::chrono::milliseconds timeout;
    std::unique_ptr<Subprocess> program;  // once it runs
  };
  using Running = std::list<Removal>;

  void go_on();
  void on_end(Running::iterator removal, const std::string& trouble);
  void on_limit();
  void tell(const Removal& removal, const std::string& trouble);

  EventLoop& loop_;
  Log& log_;
  std::deque<Removal> waiting_;
  Running running_;
  std::function<void()> done_;  // set: it is the end
  Timer limit_;
};

}  // namespace plughost
