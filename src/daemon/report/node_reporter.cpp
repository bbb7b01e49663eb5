#include "daemon/report/node_reporter.hpp"

#include <memory>

namespace plughost {

NodeReporter::NodeReporter(Platform& platform, const Config& config, const QueryHolders& query_holders)
    : platform_(platform),
      labels_(platform.loop, platform.workers, platform.log, feature_directory(config)),
      node_capacity_(platform.loop, platform.log, platform.api_server, platform.node_watch),
      events_(platform.loop, platform.log, platform.api_server, query_holders),
      removals_(platform.programs, platform.log),
      unhealthy_(platform.programs, platform.log, query_holders) {}

FeatureDirectory NodeReporter::feature_directory(const Config& config) const {
  return {platform_.host, config.features_directory, config.kubelet.files_owner()};
}

void NodeReporter::use(const Config& config, const Subjects& now) {
  labels_.use(feature_directory(config));
  events_.use(config.events);
  // Runs before the API server is replaced, to adopt the counts that a killed process has written.
  node_capacity_.follow(now.counts);
  // A pending settle() belongs to the former configuration, and would drop the API server of the new one.
  node_capacity_.abandon_settling();
  const auto use = [&server = platform_.api_server, access = config.api_server] { server.use(access); };
  if (config.api_server || node_capacity_.idle())
    use();
  else
    node_capacity_.settle(kFarewellLimit, use);
}

void NodeReporter::follow(const Subjects& now) {
  labels_.follow(now.labels);
  node_capacity_.follow(now.counts);
}

void NodeReporter::follow(const ResourceSnapshot& snapshot) {
  unhealthy_.follow(snapshot);
  events_.follow(snapshot);
}

void NodeReporter::end(const ResourceSnapshot& last) {
  unhealthy_.forget(last.resource);
  events_.forget(last.resource);
  removals_.run(last);
}

void NodeReporter::finish(std::chrono::milliseconds limit, const std::function<void()>& done) {
  const auto ended = [done, left = std::make_shared<int>(3)] {
    if (--*left == 0) done();
  };
  removals_.finish(limit, ended);
  node_capacity_.follow({});
  node_capacity_.settle(limit, ended);
  events_.finish(limit, ended);
}

}  // namespace plughost
