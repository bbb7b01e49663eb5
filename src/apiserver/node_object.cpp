#include "apiserver/node_object.hpp"

namespace plughost {
namespace {

std::map<std::string, std::string> texts_of(const Json& map) {
  std::map<std::string, std::string> texts;
  for (const auto& [key, value] : map.object()) {
    if (value == Json(value.text())) texts[key] = value.text();
  }
  return texts;
}

}  // namespace

NodeObject node_object_of(const Json& node) {
  const Json& metadata = node["metadata"];
  return {.name = metadata["name"].text(),
          .uid = metadata["uid"].text(),
          .labels = texts_of(metadata["labels"]),
          .capacity = texts_of(node["status"]["capacity"])};
}

}  // namespace plughost
