#pragma once
// Programs that add to a container's allocation, or prepare its start.

#include <cstddef>
#include <functional>
#include <list>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "host/programs/subprocess.hpp"
#include "model/allocate/allocation.hpp"
#include "model/allocate/resource_snapshot.hpp"

namespace plughost {

// Runs the programs that prepare a container's devices before it starts. Loop thread only.
class PreStarts {
 public:
  // Called once, with why the container cannot start, or "". Dropping it without a call fails the start.
  using Answer = std::function<void(std::string error)>;
  // The maximum number of devices of one start that are prepared at the same time.
  static constexpr std::size_t kAtOnce = 8;

  // `programs` must outlive this object. The destructor kills running programs and drops the answers.
  explicit PreStarts(Programs& programs) : programs_(programs) {}
  PreStarts& operator=(PreStarts&&) = delete;

  // Runs the program of the entry for the device of each id, once per device. The first error ends the start
  // and kills its other programs.
  void run(const SharedSnapshot& snapshot, std::span<const std::string> ids, Answer answer);
  bool idle() const { return starts_.empty(); }

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

// Runs the programs that add to what a container gets. Loop thread only.
class AllocationPrograms {
 public:
  // The program's addition, or why there is no answer, as a sentence.
  using Outcome = std::variant<Allocation, std::string>;
  // Called once. Dropping the callback without a call means that there is no answer.
  using Answer = std::function<void(Outcome)>;

  // `programs` must outlive this object. The destructor kills running programs and drops the answers.
  explicit AllocationPrograms(Programs& programs) : queue_(programs, Purpose::kAllocate) {}
  AllocationPrograms& operator=(AllocationPrograms&&) = delete;

  // Runs the programs of the devices' entries, each for the devices of its own entry, to obtain what a
  // container with these ids gets. Entries without a program add nothing.
  void run(const ResourceSnapshot& snapshot, std::span<const std::string> ids, Answer answer);

 private:
  struct Call {
    std::list<Subprocess> programs;
    std::vector<Allocation> said;  // one per program
    std::size_t left = 0;
    Answer answer;
  };
  using Calls = std::list<Call>;

  void on_end(Calls::iterator call, std::size_t n, Outcome outcome);
  void finish(Calls::iterator call, Outcome outcome);

  ProgramQueue queue_;
  Calls calls_;
};

// Returns the whole answer for these ids, with the addition of the snapshot's program if there is a program;
// or why there is no answer. Blocks while the program runs; any thread.
AllocationPrograms::Outcome allocate_with_program(const ResourceSnapshot& snapshot,
                                                  std::span<const std::string> ids);

}  // namespace plughost
