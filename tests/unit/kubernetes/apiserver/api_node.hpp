#pragma once
// The objects of a process that uses the API server, and a fake server. Not thread-safe.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/log/log.hpp"
#include "base/system/event_loop.hpp"
#include "base/system/workers.hpp"
#include "host/programs/programs.hpp"
#include "kubernetes/apiserver/api_server.hpp"
#include "unit/kubernetes/apiserver/fake_cluster.hpp"
#include "unit/temp_dir.hpp"

namespace plughost::test {

struct ApiNode {
  TempDir tree;
  FakeCluster objects;
  EventLoop loop;
  Log log{LogLevel::kError, LogFormat::kJson};
  Workers workers{loop, 2};
  Programs programs{loop};
  ApiServer server{loop, workers, programs, log};

  ApiNode() { use(); }
  ApiServerConfig config() const {
    return {.kubeconfig = objects.kubeconfig(tree), .node = FakeObjects::kNode, .where = {}};
  }
  void use() { server.use(config()); }
  // Returns the number of log lines that contain `words`, including lines below the log's level.
  std::size_t told(std::string_view words) {
    std::size_t count = 0;
    std::uint64_t number = 0;
    while (const auto record = log.history().after(number)) {
      number = record->number;
      if (record->json().dump().find(words) != std::string::npos) ++count;
    }
    return count;
  }
};

}  // namespace plughost::test
