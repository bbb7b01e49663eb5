#include "assume/pod.hpp"

namespace plughost {
namespace {

// A file may have a quantity as a number.
std::string quantity(const Json& value) {
  return value.text().empty() && value.number() != 0 ? std::to_string(value.number()) : value.text();
}

void add(const Json& containers, bool init, Pod& pod) {
  for (const Json& container : containers.array()) {
    Pod::Container& added = pod.containers.emplace_back(
        Pod::Container{.name = container["name"].text(), .init = init, .limits = {}});
    for (const auto& [resource, limit] : container["resources"]["limits"].object())
      added.limits.emplace(resource, quantity(limit));
  }
}

}  // namespace

Pod pod_of(const Json& json) {
  const Json& metadata = json["metadata"];
  Pod pod{.uid = metadata["uid"].text(),
          .name_space = metadata["namespace"].text(),
          .name = metadata["name"].text(),
          .created = metadata["creationTimestamp"].text(),
          .deleted = !metadata["deletionTimestamp"].is_null(),
          .phase = json["status"]["phase"].text(),
          .annotations = {},
          .containers = {}};
  for (const auto& [key, value] : metadata["annotations"].object())
    pod.annotations.emplace(key, value.text());
  add(json["spec"]["initContainers"], true, pod);
  add(json["spec"]["containers"], false, pod);
  return pod;
}

}  // namespace plughost
