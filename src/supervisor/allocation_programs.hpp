#pragma once
// The programs that say what a container gets beside what the configuration says. Loop thread only.

#include <functional>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <variant>

#include "device/allocation.hpp"
#include "device/offer.hpp"
#include "programs/subprocess.hpp"

namespace plughost {

class AllocationPrograms {
 public:
  // What the program adds; or why there is no answer, as a sentence.
  using Outcome = std::variant<Allocation, std::string>;
  // Called once. Where it is dropped, there is no answer, either.
  using Answer = std::function<void(Outcome)>;

  // programs outlives it. Destroyed means that what runs is killed, and its answers dropped.
  explicit AllocationPrograms(Programs& programs) : queue_(programs, Purpose::kAllocate) {}
  AllocationPrograms& operator=(AllocationPrograms&&) = delete;

  // Asks the offer's program what a container with these ids gets. The offer's recipe has an allocate.
  void ask(const Offer& offer, std::span<const std::string> ids, Answer answer);

 private:
  struct Call {
    std::unique_ptr<Subprocess> program;
    Answer answer;
  };
  using Calls = std::list<Call>;

  void finish(Calls::iterator call, Outcome outcome);

  ProgramQueue queue_;
  Calls calls_;
};

// The whole answer for these ids, with what the offer's program adds if it has one; or why there is none.
// Blocks for as long as the program runs; any thread.
AllocationPrograms::Outcome allocate_with_program(const Offer& offer, std::span<const std::string> ids);

}  // namespace plughost
