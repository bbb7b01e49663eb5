#pragma once
// The programs that are asked when a container gets devices: what more it gets, and whether it may start.

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "host/programs/subprocess.hpp"
#include "model/allocate/allocation.hpp"
#include "model/allocate/resource_snapshot.hpp"

namespace plughost {

// The programs that prepare a container's devices before it starts. Loop thread only.
class PreStarts {
 public:
  // Called once, with why the container cannot start; empty: it can. Where it is dropped, the start fails,
  // too.
  using Answer = std::function<void(std::string error)>;
  // So many devices of one start are prepared at once.
  static constexpr std::size_t kAtOnce = 8;

  // programs outlives it. Destroyed means that what runs is killed, and its starts' answers dropped.
  explicit PreStarts(Programs& programs) : programs_(programs) {}
  PreStarts& operator=(PreStarts&&) = delete;

  // Runs the program of its entry for the device of each id, once for a device with several replicas among
  // them. The first error ends the start, and what runs for it is killed.
  void run(const SharedSnapshot& snapshot, std::span<const std::string> ids, Answer answer);

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

  void on_end(Starts::iterator start, const std::string& id, const std::string& error);
  void finish(Starts::iterator start, std::string error);

  Programs& programs_;
  Starts starts_;
};

// The programs that say what a container gets beside what the configuration says. Loop thread only.
class AllocationPrograms {
 public:
  // What the program adds; or why there is no answer, as a sentence.
  using Outcome = std::variant<Allocation, std::string>;
  // Called once. Where it is dropped, there is no answer, either.
  using Answer = std::function<void(Outcome)>;

  // programs outlives it. Destroyed means that what runs is killed, and its answers dropped.
  explicit AllocationPrograms(Programs& programs) : queue_(programs, Purpose::kAllocate) {}
  AllocationPrograms& operator=(AllocationPrograms&&) = delete;

  // Asks the programs of the devices' entries what a container with these ids gets, each for its own; nothing
  // more where there is none.
  void run(const ResourceSnapshot& snapshot, std::span<const std::string> ids, Answer answer);

 private:
  struct Call {
    std::list<Subprocess> programs;
    std::vector<Allocation> said;  // by each of them
    std::size_t left = 0;
    Answer answer;
  };
  using Calls = std::list<Call>;

  void on_end(Calls::iterator call, std::size_t n, Outcome outcome);
  void finish(Calls::iterator call, Outcome outcome);

  ProgramQueue queue_;
  Calls calls_;
};

// The whole answer for these ids, with what the snapshot's program adds if it has one; or why there is none.
// Blocks for as long as the program runs; any thread.
AllocationPrograms::Outcome allocate_with_program(const ResourceSnapshot& snapshot,
                                                  std::span<const std::string> ids);

}  // namespace plughost
