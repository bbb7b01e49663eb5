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

void FakeCluster::add_pod(const std::string& name_space, const std::string& name, const std::string& uid) {
  put("/api/v1/namespaces/" + name_space + "/pods",
      Json{{"metadata", Json{{"namespace", name_space}, {"name", name}, {"uid", uid}}},
           {"spec", Json{{"nodeName", kNode}}}});
}

std::vector<Json> FakeCluster::events() const {
  std::vector<Json> events;
  for (const FakeRequest& request : written())
    if (request.method == "POST" && request.target.ends_with("/events"))
      events.push_back(Json::parse(request.body));
  return events;
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
