#pragma once
// `discover`: a program that is run before each scan, and prints a document. Loop thread only. Internal to
// exec.

#include <functional>
#include <memory>
#include <optional>

#include "kinds/exec/newest.hpp"
#include "kinds/kind.hpp"
#include "programs/subprocess.hpp"

namespace plughost {

class Discovery final : public SourceWatch {
 public:
  // programs outlives it.
  Discovery(Programs& programs, Program program, std::shared_ptr<Newest> newest);

  void before_scan(const std::function<void()>& then) override;

 private:
  void on_end(const Ending& ending);

  ProgramQueue queue_;
  Program program_;
  std::shared_ptr<Newest> newest_;
  bool lives_ = false;                 // although it was killed
  std::optional<Subprocess> process_;  // the one that runs, or the last one
};

}  // namespace plughost
