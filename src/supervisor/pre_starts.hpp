#pragma once
// The programs that prepare a container's devices before it starts. Loop thread only.

#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/event_loop.hpp"
#include "base/subprocess.hpp"
#include "device/offer.hpp"

namespace plughost {

class PreStarts {
 public:
  // Called once, with why the container cannot start; empty: it can. Where it is dropped, the start fails,
  // too.
  using Answer = std::function<void(std::string trouble)>;
  // So many devices of one start are prepared at once.
  static constexpr std::size_t kAtOnce = 8;

  // loop outlives it. Destroyed means that what runs is killed, and its starts' answers dropped.
  explicit PreStarts(EventLoop& loop) : loop_(loop) {}
  PreStarts(const PreStarts&) = delete;
  PreStarts& operator=(const PreStarts&) = delete;

  // Runs the offer's program for the device of each id, once for a device with several replicas among them.
  // The first trouble ends the start, and what runs for it is killed. The offer's recipe has a pre_start.
  void run(const std::shared_ptr<const Offer>& offer, std::span<const std::string> ids, Answer answer);

 private:
  struct Start {
    std::shared_ptr<const Offer> offer;
    EventLoop::Clock::time_point due;
    // Of each device that waits: its id, and the command line.
    std::vector<std::pair<std::string, std::vector<std::string>>> waiting;
    std::map<std::string, std::unique_ptr<Subprocess>> running;  // by the device's id
    Answer answer;
  };
  using Starts = std::list<Start>;

  void go_on(Starts::iterator start);
  void on_end(Starts::iterator start, const std::string& id, const std::string& trouble);
  void finish(Starts::iterator start, std::string trouble);

  EventLoop& loop_;
  Starts starts_;
};

}  // namespace plughost
