#include "config/yaml_text.hpp"

#include <yaml-cpp/yaml.h>

namespace plughost {

namespace {

void emit(YAML::Emitter& out, const YAML::Node& node) {
  switch (node.Type()) {
    case YAML::NodeType::Map:
      if (node.size() == 0) out << YAML::Flow;
      out << YAML::BeginMap;
      for (const auto& member : node) {
        out << YAML::Key << member.first.Scalar() << YAML::Value;
        emit(out, member.second);
      }
      out << YAML::EndMap;
      return;
    case YAML::NodeType::Sequence:
      if (node.size() == 0) out << YAML::Flow;
      out << YAML::BeginSeq;
      for (const auto& item : node) emit(out, item);
      out << YAML::EndSeq;
      return;
    case YAML::NodeType::Scalar:
      // "!" is yaml-cpp's tag for what stood in quotes: text, which must stay text.
      if (node.Tag() == "!") out << YAML::DoubleQuoted;
      out << node.Scalar();
      return;
    case YAML::NodeType::Null:
    case YAML::NodeType::Undefined:
      out << YAML::Null;
      return;
  }
}

}  // namespace

std::string yaml_from_json(const std::string& json) {
  YAML::Emitter out;
  emit(out, YAML::Load(json));
  return out.c_str();
}

}  // namespace plughost
