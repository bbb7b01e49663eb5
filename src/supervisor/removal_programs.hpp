#pragma once
// The programs that are run for the devices of resources that are not offered any more. Loop thread only.

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "base/event_loop.hpp"
#include "base/log.hpp"
#include "device/offer.hpp"
#include "programs/subprocess.hpp"

namespace plughost {

class RemovalPrograms {
 public:
  // However many devices there are.
  static constexpr std::size_t kAtOnce = 16;

  // programs and log outlive it. Destroyed means that what runs is killed.
  RemovalPrograms(Programs& programs, Log& log);
  RemovalPrograms& operator=(RemovalPrograms&&) = delete;

  // Runs the program of the offer's onRemove, if it has one, for each of its devices. What goes wrong is
  // logged.
  void run(const Offer& offer);
  // Calls done, later, when all programs have ended; or after limit, and then what has not ended is killed.
  void finish(std::chrono::milliseconds limit, std::function<void()> done);

 private:
  struct Removal {
    std::string resource;
    std::string device;
    std::unique_ptr<Subprocess> program;
  };
  using Removals = std::list<Removal>;

  void on_end(Removals::iterator removal, const std::string& trouble);
  void on_limit();
  void tell(const Removal& removal, const std::string& trouble);

  Log& log_;
  ProgramQueue queue_;
  Removals removals_;           // that have not ended
  std::function<void()> done_;  // set: it is the end
  Timer limit_;
};

}  // namespace plughost
