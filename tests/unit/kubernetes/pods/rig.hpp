#pragma once
// A fake API server, and its clients on the test's loop.

#include <string>

#include "kubernetes/apiserver/api_server.hpp"
#include "unit/kubernetes/apiserver/fake_cluster.hpp"
#include "unit/model/assume/pods.hpp"
#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

namespace plughost::test {

inline const std::string kAssigned = "ALIYUN_COM_GPU_MEM_ASSIGNED";

struct PodsRig {
  PodsRig() { use(); }
  // Starts the client, or replaces it by a new one.
  void use() {
    ++uses;
    server.use(ApiServerConfig{.kubeconfig = cluster.kubeconfig(directory, "kubeconfig"),
                               .node = FakeObjects::kNode,
                               .where = {.file = std::to_string(uses)}});
  }
  bool until(const std::function<bool()>& condition) { return run_until(loop, condition); }
  static Json pod(const std::string& name, const std::string& card, const std::string& time = "1") {
    return PodText{.uid = name, .name = name, .annotations = gpushare_annotations(time, card)}.json();
  }

  TempDir directory;
  FakeCluster cluster;
  unsigned uses = 0;
  EventLoop loop;
  Log log{LogLevel::kError, LogFormat::kJson};
  Workers workers{loop, 2};
  Programs programs{loop};
  ApiServer server{loop, workers, programs, log};
};

}  // namespace plughost::test
