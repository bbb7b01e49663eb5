#include "manifests/here.hpp"

#include <algorithm>

namespace plughost {

void add_pod(const Node& node, Here& here) {
  if (const auto& volumes = at(node, "volumes").items; !volumes.empty()) {
    here.mounted.clear();
    const auto mount = [&](const Node& source) {
      const Node* const map = source.find("configMap");
      if (map) here.mounted.push_back(text_at(*map, "name"));
    };
    for (const Node& volume : volumes) {
      mount(volume);
      std::ranges::for_each(at(at(volume, "projected"), "sources").items, mount);
    }
  }
  for (const auto& [name, volume] : at(node, "persistence").members) {
    if (text_at(volume, "type") == "configMap") here.mounted.push_back(text_at(volume, "name"));
    if (const Node* const map = at(volume, "volumeSpec").find("configMap"))
      here.mounted.push_back(text_at(*map, "name"));
  }
  for (const Node* const pod : {&node, &at(node, "pod"), &at(node, "defaultPodOptions")})
    here.nodes = both(here.nodes, node_choice(*pod));
}

}  // namespace plughost
