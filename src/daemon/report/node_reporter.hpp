#pragma once
// What others than the kubelet are told of the devices, and by which means: labels, the Node's counts,
// Events, and programs of the operator's. Loop thread only.

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
  // When nobody is to ask the API server any more it is asked for so long yet: what it shows of ours goes.
  static constexpr std::chrono::seconds kFarewellLimit{10};

  // Of every entry, as it is now.
  struct Subjects {
    std::vector<FeatureLabels::Subject> labels;
    std::vector<NodeCapacity::Subject> counts;
  };
  // Who holds what. done runs in the loop, maybe at once.
  using QueryHolders = std::function<void(HoldingsReader::Done done)>;

  // platform outlives it.
  NodeReporter(Platform& platform, const Config& config, const QueryHolders& query_holders);

  // By these means from now on.
  void use(const Config& config, const Subjects& now);
  void follow(const Subjects& now);
  // A resource offers this from now on.
  void follow(const ResourceSnapshot& snapshot);
  // A resource ends for good, and has offered this.
  void end(const ResourceSnapshot& last);
  // A reload was refused for these.
  void record_refusal(const std::vector<std::string>& errors) { events_.record_refusal(errors); }
  // There are no devices any more. done is called later, when all of that is told, or after limit.
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
