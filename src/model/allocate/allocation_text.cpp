#include "model/allocate/allocation_text.hpp"

namespace plughost {

Json json_of(const ContainerNode& node) {
  return {{"hostPath", node.host_path},
          {"containerPath", node.container_path},
          {"permissions", node.permissions}};
}

Json json_of(const ContainerMount& mount) {
  return {
      {"hostPath", mount.host_path}, {"containerPath", mount.container_path}, {"readOnly", mount.read_only}};
}

Json json_of(const Allocation& allocation) {
  Json json = Json::Object();
  if (!allocation.env.empty()) json["env"] = allocation.env;
  for (const ContainerNode& node : allocation.nodes) json["nodes"].push_back(json_of(node));
  for (const ContainerMount& mount : allocation.mounts) json["mounts"].push_back(json_of(mount));
  if (!allocation.annotations.empty()) json["annotations"] = allocation.annotations;
  if (!allocation.cdi.empty()) json["cdi"] = allocation.cdi;
  const CdiEdits& edits = allocation.by_cdi;
  if (!edits.env.empty()) json["byCdi"]["env"] = edits.env;
  for (const ContainerNode& node : edits.nodes) json["byCdi"]["nodes"].push_back(json_of(node));
  for (const ContainerMount& mount : edits.mounts) json["byCdi"]["mounts"].push_back(json_of(mount));
  return json;
}

namespace {

// `what` is an Allocation or CdiEdits.
template <typename Container>
std::string text_of_contents(const Container& what, const std::string& indent) {
  std::string text;
  for (const auto& [name, value] : what.env) text += indent + "env         " + name + "=" + value + "\n";
  for (const ContainerNode& node : what.nodes)
    text += indent + "node        " + node.host_path + " as " + node.container_path + " (" +
            node.permissions + ")\n";
  for (const ContainerMount& mount : what.mounts)
    text += indent + "mount       " + mount.host_path + " as " + mount.container_path +
            (mount.read_only ? " (read-only)\n" : "\n");
  return text;
}

}  // namespace

std::string text_of(const Allocation& allocation, const std::string& indent) {
  std::string text = text_of_contents(allocation, indent);
  for (const auto& [name, value] : allocation.annotations)
    text += indent + "annotation  " + name + "=" + value + "\n";
  for (const std::string& name : allocation.cdi) text += indent + "cdi         " + name + "\n";
  const std::string by_cdi = text_of_contents(allocation.by_cdi, indent);
  if (!by_cdi.empty()) text += indent + "and by the CDI specification\n" + by_cdi;
  return text.empty() ? indent + "nothing\n" : text;
}

}  // namespace plughost
