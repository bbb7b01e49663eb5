#pragma once
// The daemon's numbers in Prometheus' text format; docs/metrics.md has them. Thread-safe.

#include <chrono>
#include <functional>
#include <set>
#include <string>

#include "base/log/log.hpp"
#include "base/system/coalescing_writer.hpp"
#include "base/system/event_loop.hpp"
#include "daemon/status/status.hpp"
#include "daemon/telemetry/status_requests.hpp"

namespace plughost {

inline constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

// Reads /proc/self, too.
std::string metrics_text(const DaemonStatus& status);

// The same for node_exporter's textfile collector, without process_…: node_exporter has metrics of these
// names.
std::string textfile_text(const DaemonStatus& status);

// The metrics as a file, which node_exporter's textfile collector reads where nothing may listen. Loop thread
// only.
class MetricsFile {
 public:
  static constexpr const char* kName = "plughost.prom";
  // It is written so often: the kubelet tells nobody when a pod comes or ends.
  static constexpr std::chrono::seconds kInterval{15};
  // And so soon after a change, for all that changes meanwhile; who holds what may be known from a second
  // before (HoldingsReader::kShown).
  static constexpr std::chrono::seconds kTogether{2};

  // loop, workers, log and requests outlive it.
  MetricsFile(EventLoop& loop, Workers& workers, Log& log, StatusRequests& requests);

  // Where it is from now on; empty: nowhere. Where it was it goes.
  void use(const std::string& directory);
  // The metrics may be others than in the file.
  void changed();
  // The file goes: what stood in it would be told for ever. done runs in the loop, when that is done, fails
  // or hangs; maybe at once.
  void finish(std::function<void()> done);

 private:
  void ask();
  // Makes the file say this, or go, and the former ones go.
  void write(const std::string& text);

  EventLoop::Poster post_;
  Log& log_;
  StatusRequests& requests_;
  std::string file_;              // empty: there is none
  std::set<std::string> former_;  // files that are to be gone
  bool soon_ = false;             // because of a change
  Timer due_;
  CoalescingWriter latest_;
  Lifetime lifetime_;
};

}  // namespace plughost
