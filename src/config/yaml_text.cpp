#include "config/yaml_text.hpp"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/ascii.hpp"

namespace plughost {

namespace {

// YAML 1.1 has all of these as truth or nothing, and readers of both versions are about.
constexpr std::string_view kNoTexts[] = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"};

bool is_plain(const std::string& text) {
  const auto within = [](char c) {
    return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.' || c == '/';
  };
  return !text.empty() && is_letter(text.front()) && std::ranges::all_of(text, within) &&
         std::ranges::find(kNoTexts, to_lower(text)) == std::end(kNoTexts);
}

void emit(YAML::Emitter& out, const YAML::Node& node, Quotes quotes) {
  switch (node.Type()) {
    case YAML::NodeType::Map:
      if (node.size() == 0) out << YAML::Flow;
      out << YAML::BeginMap;
      for (const auto& member : node) {
        out << YAML::Key << member.first.Scalar() << YAML::Value;
        emit(out, member.second, quotes);
      }
      out << YAML::EndMap;
      return;
    case YAML::NodeType::Sequence:
      if (node.size() == 0) out << YAML::Flow;
      out << YAML::BeginSeq;
      for (const auto& item : node) emit(out, item, quotes);
      out << YAML::EndSeq;
      return;
    case YAML::NodeType::Scalar:
      // "!" is yaml-cpp's tag for what stood in quotes: text, which must stay text.
      if (node.Tag() == "!" && (quotes == Quotes::kAlways || !is_plain(node.Scalar())))
        out << YAML::DoubleQuoted;
      out << node.Scalar();
      return;
    case YAML::NodeType::Null:
    case YAML::NodeType::Undefined:
      out << YAML::Null;
      return;
  }
}

}  // namespace

std::string yaml_from_json(const std::string& json, Quotes quotes) {
  YAML::Emitter out;
  emit(out, YAML::Load(json), quotes);
  return out.c_str();
}

}  // namespace plughost
