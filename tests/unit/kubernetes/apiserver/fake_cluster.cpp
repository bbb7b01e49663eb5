#include "unit/kubernetes/apiserver/fake_cluster.hpp"

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

void FakeCluster::set_phase(const std::string& name, const std::string& phase) {
  change(kPods, name, [&](Json& pod) { pod["status"]["phase"] = phase; });
}

void FakeCluster::annotate(const std::string& name, const std::map<std::string, std::string>& annotations) {
  change(kPods, name, [&](Json& pod) {
    for (const auto& [key, value] : annotations) pod["metadata"]["annotations"][key] = value;
  });
}

std::string FakeCluster::annotation(const std::string& name, const std::string& key) const {
  const Json pod = get(kPods, name);
  return pod["metadata"]["annotations"][key].text();
}

std::vector<std::string> FakeCluster::patches() const {
  return bodies_of_patches(
      [](const std::string& target) { return target == std::string(kNodes) + '/' + kNode + "/status"; });
}

std::vector<std::string> FakeCluster::pod_patches() const {
  return bodies_of_patches([](const std::string& target) {
    return target.starts_with(std::string(kPods) + '/') && target.ends_with("/status");
  });
}

std::vector<std::string> FakeCluster::bodies_of_patches(
    const std::function<bool(const std::string& target)>& of) const {
  std::vector<std::string> bodies;
  for (const FakeRequest& request : written()) {
    if (request.method == "PATCH" && of(request.target) &&
        request.headers.at("content-type") == "application/merge-patch+json")
      bodies.push_back(request.body);
  }
  return bodies;
}

}  // namespace plughost::test
