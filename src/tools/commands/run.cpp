// plughost run: runs the daemon.

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <iostream>
#include <optional>
#include <thread>

#include "base/system/event_loop.hpp"
#include "config/config.hpp"
#include "daemon/daemon.hpp"
#include "daemon/telemetry/control_client.hpp"
#include "kubernetes/kubelet/grpc_setup.hpp"
#include "tools/commands/command.hpp"

namespace plughost {
namespace {

// Each resource needs descriptors, and the soft limit exists only for programs that use select(2).
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// Returns the daemon to take over from; nullopt if none runs. Throws std::runtime_error if it refuses.
std::optional<Predecessor> predecessor_at(const std::string& control) {
  if (control.empty()) return std::nullopt;
  try {
    return ControlClient(control).begin_hand_over();
  } catch (const NotThere&) {
    return std::nullopt;
  }
}

// Waits in a container whose pod is about to be deleted: if its process ended, the kubelet would start it
// again. Returns once that is needed: no daemon has listened on the control socket for a second, because the
// successor has ended or its pod was deleted instead. SIGTERM and SIGINT end this process.
void wait_behind_successor(const std::string& control) {
  constexpr std::chrono::milliseconds kLook{100};
  constexpr int kMostMisses = 10;
  for (const int signal : {SIGTERM, SIGINT}) std::signal(signal, [](int) { ::_exit(0); });
  unblock_signals({SIGTERM, SIGINT});
  while (control.empty()) ::pause();
  for (int misses = 0; misses < kMostMisses; std::this_thread::sleep_for(kLook)) {
    try {
      ControlClient(control).events(1, ControlClient::Follow::kYes, [](const Json&) { return true; });
    } catch (const NotThere&) {
      ++misses;
    } catch (const NoAnswer&) {  // the stream has ended
      misses = 0;
    }
  }
  std::cerr << "plughost: the successor has ended: this process ends, to be started again\n";
}

}  // namespace

int run(const RunOptions& options) {
  raise_descriptor_limit();
  // One heap is enough: the dozen threads are mostly idle.
  ::mallopt(M_ARENA_MAX, 1);
  lock_without_graph();
  // Called before any other thread exists, so gRPC's threads inherit the mask.
  block_signals({SIGHUP, SIGTERM, SIGINT});
  try {
    const Overrides overrides{.plugin_directory = options.plugin_directory,
                              .control = options.control,
                              .log_format = options.log_format};
    Config config = load_config(options.config, overrides);
    const Daemon::End end =
        Daemon({.file = options.config, .overrides = overrides, .level = options.log_level},
               options.state_directory, std::move(config), predecessor_at(options.take_over))
            .run();
    if (end == Daemon::End::kReplaced) wait_behind_successor(options.take_over);
    return end == Daemon::End::kStopped ? 0 : 1;
  } catch (const DirectoryHeld& error) {
    std::cerr << "plughost: " << error.what() << '\n';
    return 1;
  }
}

}  // namespace plughost
