#pragma once
// Reports the devices to others than the kubelet: as labels, counts and Events of the Node, and to programs
// of the operator. Loop thread only.

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "daemon/hooks/device_programs.hpp"
#include "daemon/platform/kubelet_link.hpp"
#include "daemon/report/feature_labels.hpp"
#include "daemon/report/node_capacity.hpp"
#include "daemon/report/node_events.hpp"
#include "model/allocate/resource_snapshot.hpp"

namespace plughost {

class NodeReporter {
 public:
  // Time for removing our counts when the configuration no longer has an API server.
  static constexpr std::chrono::seconds kFarewellLimit{10};

  // All entries in their present state.
  struct Subjects {
    std::vector<FeatureLabels::Subject> labels;
    std::vector<NodeCapacity::Subject> counts;
  };
  // Queries the holders. `done` runs in the loop, possibly from within the call.
  using QueryHolders = std::function<void(HoldingsReader::Done done)>;

  // `platform` must outlive this object.
  NodeReporter(Platform& platform, const Config& config, const QueryHolders& query_holders);

  // Applies the means of reporting that `config` selects.
  void use(const Config& config, const Subjects& now);
  void follow(const Subjects& now);
  // Call it when a resource serves a new snapshot.
  void follow(const ResourceSnapshot& snapshot);
  // Call it when a resource ends for good. `last` is its last snapshot.
  void end(const ResourceSnapshot& last);
  void record_refusal(const std::vector<std::string>& errors) { events_.record_refusal(errors); }
  // Reports that no devices are left, and calls `done` later: once everything is written, or after `limit`.
  void finish(std::chrono::milliseconds limit, const std::function<void()>& done);

 private:
  FeatureDirectory feature_directory(const Config& config) const;

  Platform& platform_;
  FeatureLabels labels_;
  NodeCapacity node_capacity_;
  NodeEvents events_;
  RemovalPrograms removals_;
  UnhealthyPrograms unhealthy_;
};

}  // namespace plughost
