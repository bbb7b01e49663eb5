#pragma once
// The daemon's metrics in Prometheus' text format, as described in docs/metrics.md. Thread-safe.

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

// Returns the text of all metrics. Also reads /proc/self.
std::string metrics_text(const DaemonStatus& status);

// Returns the metrics for node_exporter's textfile collector, without the process_… metrics, whose names
// node_exporter uses itself.
std::string textfile_text(const DaemonStatus& status);

// Writes the metrics to a file for node_exporter's textfile collector, for nodes where no port may be open.
// Loop thread only.
class MetricsFile {
 public:
  static constexpr const char* kName = "plughost.prom";
  // Interval of regular writes, because the kubelet does not announce pods.
  static constexpr std::chrono::seconds kInterval{15};
  // Delay after a change, which collects further changes. The holders may be a second old
  // (HoldingsReader::kShown).
  static constexpr std::chrono::seconds kTogether{2};

  // The arguments must outlive this object.
  MetricsFile(EventLoop& loop, Workers& workers, Log& log, StatusRequests& requests);

  // Sets the directory; empty means no file. Removes the file from the former directory.
  void use(const std::string& directory);
  // Call it when the metrics may have changed.
  void changed();
  // Removes the file, because stale metrics would be exported forever. Calls `done` in the loop after
  // success, failure or a stall; possibly from within the call.
  void finish(std::function<void()> done);

 private:
  void ask();
  // Writes the text, or removes the file, and removes former files.
  void write(const std::string& text);

  EventLoop::Poster post_;
  Log& log_;
  StatusRequests& requests_;
  std::string file_;              // empty: none
  std::set<std::string> former_;  // files to remove
  bool soon_ = false;             // a write is due because of a change
  Timer due_;
  CoalescingWriter latest_;
  Lifetime lifetime_;
};

}  // namespace plughost
