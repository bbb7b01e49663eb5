#include "unit/apiserver/fake_cluster.hpp"

namespace plughost::test {

void FakeCluster::label(const std::string& key, const std::string& value) {
  change(kNodes, kNode, [&](Json& node) { node["metadata"]["labels"][key] = value; });
}

void FakeCluster::show(const std::string& resource, const std::string& count) {
  change(kNodes, kNode, [&](Json& node) { node["status"]["capacity"][resource] = count; });
}

std::string FakeCluster::shown(const std::string& resource) const {
  const Json node = get(kNodes, kNode);
  return node["status"]["capacity"][resource].text();
}

std::vector<std::string> FakeCluster::patches() const {
  std::vector<std::string> bodies;
  for (const FakeRequest& request : written()) {
    if (request.method == "PATCH" && request.target == std::string(kNodes) + '/' + kNode + "/status" &&
        request.headers.at("content-type") == "application/merge-patch+json")
      bodies.push_back(request.body);
  }
  return bodies;
}

}  // namespace plughost::test
