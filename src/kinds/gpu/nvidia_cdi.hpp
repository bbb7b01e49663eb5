#pragma once
// NVIDIA's CDI specification, created by NVIDIA's tool: nvidia-ctk cdi generate. Internal to the kind `gpu`.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/programs/program.hpp"
#include "kinds/gpu/nvidia_gpus.hpp"
#include "kinds/kind.hpp"

namespace plughost {

// Used by scans, in worker threads, never concurrently; except watch().
class NvidiaCdi {
 public:
  // The tool examines every card, and a driver that is being initialised is slow.
  static constexpr std::chrono::seconds kDeadline{20};
  // The retry interval after a failure with unchanged cards.
  static constexpr std::chrono::seconds kRetry{30};

  // `program` is a path on the host (empty: where NVIDIA's packages install it), `driver_root` the directory
  // of the driver's files (empty: the tool's default). `by_index` names cards by index, not UUID.
  NvidiaCdi(std::string program, std::string driver_root, bool by_index);

  // Runs the tool if anything that it describes has changed since the last run: the cards, their nodes, the
  // driver, its library (a path of this process), or the tool. Adds the specification to `scan`. If the tool
  // fails, the former specification, from the last run or from CDI's directory, stays in force as far as the
  // files to which it refers exist. Sets the error of each card that no container could get by its CDI name.
  // Does nothing if the tool is not installed, because another program may create a specification. The scan
  // is undecided while the tool runs for a change. `library` is nullopt while NVML is at rest: then the tool,
  // which would open NVML, does not run.
  void describe(const HostRoot& host, std::vector<NvidiaGpu>& gpus, const std::optional<std::string>& library,
                Scan& scan);
  // Loop thread, at most once. Runs the tool beside the scans from then on, and requests a scan when the tool
  // has ended. `programs` must outlive the result.
  std::unique_ptr<SourceWatch> watch(Programs& programs, const std::function<void()>& request_scan);

 private:
  class Runner;
  struct Shared;

  // Returns how the tool ended, once per run; nullopt while the tool is running. Without watch(), blocks
  // until the tool has ended.
  std::optional<Ending> run(const Program& program);
  std::string find_program(const HostRoot& host) const;
  std::string what_there_is(const HostRoot& host, const std::string& program, const std::string& library,
                            const std::vector<NvidiaGpu>& gpus) const;
  void run_tool(const std::string& program, const std::string& there, const HostRoot& host);
  Program command(const std::string& program) const;
  void on_end(Ending ending, const HostRoot& host);
  const std::string& name_of(const NvidiaGpu& gpu) const { return by_index_ ? gpu.index : gpu.uuid; }

  std::string program_;
  std::string driver_root_;
  bool by_index_;
  std::string running_;          // the input of the present run; empty: none is running
  std::string described_;        // the input of the last run; empty: there was none
  std::string text_;             // the specification in force; empty: none
  std::set<std::string> names_;  // its devices whose files exist
  std::string error_;            // why the last run failed; empty: it did not
  LoopClock::time_point when_{};
  std::shared_ptr<Shared> shared_;
};

}  // namespace plughost
