#pragma once
// The programs that prepare a container's devices before it starts. Loop thread only.

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "device/offer.hpp"
#include "programs/subprocess.hpp"

namespace plughost {

class PreStarts {
 public:
  // Called once, with why the container cannot start; empty: it can. Where it is dropped, the start fails,
  // too.
  using Answer = std::function<void(std::string trouble)>;
  // So many devices of one start are prepared at once.
  static constexpr std::size_t kAtOnce = 8;

  // programs outlives it. Destroyed means that what runs is killed, and its starts' answers dropped.
  explicit PreStarts(Programs& programs) : programs_(programs) {}
  PreStarts& operator=(PreStarts&&) = delete;

  // Runs the offer's program for the device of each id, once for a device with several replicas among them.
  // The first trouble ends the start, and what runs for it is killed. The offer's recipe has a pre_start.
  void run(const std::shared_ptr<const Offer>& offer, std::span<const std::string> ids, Answer answer);

 private:
  struct Start {
    Start(Answer what, Programs& programs_of, std::size_t count)
        : answer(std::move(what)), queue(programs_of, Purpose::kPreStart, kAtOnce), left(count) {}

    Answer answer;
    ProgramQueue queue;
    std::list<Subprocess> programs;
    std::size_t left;
  };
  using Starts = std::list<Start>;

  void on_end(Starts::iterator start, const std::string& id, const std::string& trouble);
  void finish(Starts::iterator start, std::string trouble);

  Programs& programs_;
  Starts starts_;
};

}  // namespace plughost
