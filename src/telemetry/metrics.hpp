#pragma once
// The daemon's numbers in Prometheus' text format; docs/metrics.md has them. Thread-safe.

#include <string>

#include "status/status.hpp"

namespace plughost {

inline constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

// Reads /proc/self, too.
std::string metrics_text(const DaemonStatus& status);

// The same for node_exporter's textfile collector, without process_…: node_exporter has metrics of these
// names.
std::string textfile_text(const DaemonStatus& status);

}  // namespace plughost
