#pragma once
// NVIDIA's CDI specification, which its own tool makes: nvidia-ctk cdi generate. Internal to the kind `gpu`.

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

// A scan's: worker threads, never two at once; but for watch().
class NvidiaCdi {
 public:
  // The tool looks at every card, and a driver takes its time when it begins.
  static constexpr std::chrono::seconds kDeadline{20};
  // After a failure, and with the same cards, it is tried again after this.
  static constexpr std::chrono::seconds kRetry{30};

  // program: as on the machine; empty: wherever NVIDIA's packages put it. driver_root: where the driver's
  // files are; empty: where the tool looks. by_index: cards are named by their numbers, else by their UUIDs.
  NvidiaCdi(std::string program, std::string driver_root, bool by_index, NvidiaGpus::Now now);

  // Has the tool describe the cards, if something of what it describes is not as it was the last time: they,
  // their nodes, the driver, its library (a path of the process), the tool itself. Adds the specification to
  // scan. If the tool fails, its former specification stays in force, from before or from CDI's directory,
  // where the files that it refers to exist. Sets the error of each card that has none and that no
  // container could get by its CDI name. Does nothing where the tool is not installed: another program may
  // have made a specification. While the tool looks at what it has not described yet, the scan is undecided.
  // library: nullopt: NVML is at rest, so the tool, which would open it, does not run.
  void describe(const HostRoot& host, std::vector<NvidiaGpu>& gpus, const std::optional<std::string>& library,
                Scan& scan);
  // Loop thread, at most once: from then on the tool runs beside the scans, one of which is requested when
  // it has ended. programs outlives what is returned.
  std::unique_ptr<SourceWatch> watch(Programs& programs, const std::function<void()>& request_scan);

 private:
  class Runner;
  struct Shared;

  // How the tool ended, if it has since it was asked for; each end is told once. nullopt: it runs now. Blocks
  // until it has where nobody watches.
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
  NvidiaGpus::Now now_;
  std::string running_;          // what the run that is under way is for; empty: there is none
  std::string described_;        // what the last run was for; empty: there was none
  std::string text_;             // the specification in force; empty: there is none
  std::set<std::string> names_;  // its devices whose files exist
  std::string error_;            // why the last run failed; empty: it did not
  NvidiaHealth::Clock::time_point when_{};
  std::shared_ptr<Shared> shared_;
};

}  // namespace plughost
