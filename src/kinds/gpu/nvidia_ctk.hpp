#pragma once
// The runs of nvidia-ctk, one at a time and beside the scans that want what it prints. Internal to the kind
// `gpu`.

#include <functional>
#include <memory>
#include <optional>

#include "kinds/kind.hpp"
#include "programs/program.hpp"

namespace plughost {

class NvidiaCtk {
 public:
  NvidiaCtk();

  // Worker thread. How the program ended, if it has since it was asked for; each end is told once. nullopt:
  // it runs now, and a hint comes when it has ended. Blocks until it has where nobody watches.
  std::optional<Ending> run(const Program& program);
  // Loop thread, at most once. programs outlives what is returned.
  std::unique_ptr<SourceWatch> watch(Programs& programs, const std::function<void()>& hint);

 private:
  class Runner;
  struct Shared;

  std::shared_ptr<Shared> shared_;
};

}  // namespace plughost
