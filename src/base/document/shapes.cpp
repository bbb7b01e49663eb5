#include "base/document/shapes.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/text/text.hpp"

namespace plughost {
namespace {

using Type = Shape::Type;

constexpr int kMadeDepth = 3;  // of a made-up value; deeper values are requested by their paths

Node made_value(Node::Kind kind, int depth) {
  Node node;
  node.kind = kind;
  if (depth == 0) return node;
  Node any_name;
  any_name.kind = Node::Kind::kScalar;
  any_name.scalar = "*";
  node.items = {made_value(kind, depth - 1)};
  node.members.push_back({std::move(any_name), made_value(kind, depth - 1)});
  return node;
}

// Returns the path of the key's map or list, and the key.
std::pair<std::string, std::string> split(const std::string& path) {
  const bool is_item = path.ends_with("[]");
  const std::size_t end = is_item ? path.size() - 2 : path.rfind('.');
  if (end == std::string::npos) return {"", path};
  return {path.substr(0, end), is_item ? "[]" : path.substr(end + 1)};
}

Json of_type(Type type, const Shape& shape) {
  switch (type) {
    case Type::kText:
      return {{"$ref", "#/definitions/text"}};
    case Type::kFlag:
      return {{"type", "boolean"}};
    case Type::kNumber:
      return {{"type", "integer"}, {"minimum", shape.min}, {"maximum", shape.max}};
    case Type::kDuration:
      return {{"type", "string"},
              {"pattern", "^([0-9]+(d|h|m|s|ms))+$"},
              {"title", "duration, " + joined(shape.ranges, " or ")}};
    case Type::kWord: {
      Json words = Json::Array();
      for (const std::string& word : shape.words)
        words.push_back(word == "true" || word == "false" ? Json(word == "true") : Json(word));
      return {{"enum", std::move(words)}};
    }
    case Type::kList:
      return {{"type", "array"}};
    case Type::kMap:
      return {{"type", std::vector<std::string>{"object", "null"}}};
  }
  return {};
}

// Builds the schema of the value at the plain path.
class Writer {
 public:
  Writer(const Shapes& shapes, std::string (*sentence)(const std::string& path))
      : all_(shapes.all()), sentence_(sentence) {
    for (const auto& [path, shape] : all_) {
      if (path.empty()) continue;
      const auto [above, key] = split(path);
      below_[above].insert(key);
    }
  }

  Json value(const std::string& path) const {
    const auto known = all_.find(path);
    const Shape shape = known == all_.end() ? Shape() : known->second;
    // Most keys are the same two things.
    const bool is_texts = shape.types == std::set{Type::kText, Type::kList} && has(path, "[]") &&
                          all_.at(path + "[]").types == std::set{Type::kText};
    Json::Array choices;
    if (is_texts) choices.push_back({{"$ref", "#/definitions/texts"}});
    for (const Type type : is_texts ? std::set<Type>() : shape.types) {
      Json choice = of_type(type, shape);
      if (type == Type::kList && has(path, "[]")) choice["items"] = value(path + "[]");
      if (type == Type::kMap) add_keys(path, choice);
      choices.push_back(std::move(choice));
    }
    const std::string text = sentence_(path);
    if (choices.size() == 1 && text.empty()) return choices.front();
    // Beside a reference, nothing else counts.
    const bool alone = choices.size() == 1 && std::as_const(choices).front()["$ref"].is_null();
    Json json = alone ? choices.front() : Json::Object();
    if (!alone && !choices.empty()) json["anyOf"] = std::move(choices);
    if (!text.empty()) json["description"] = text;
    return json;
  }

 private:
  bool has(const std::string& path, const std::string& key) const {
    const auto keys = below_.find(path);
    return keys != below_.end() && keys->second.contains(key);
  }

  void add_keys(const std::string& path, Json& json) const {
    const auto keys = below_.find(path);
    if (keys == below_.end()) return;
    Json required = Json::Array();
    json["additionalProperties"] = has(path, "*") ? value(path + ".*") : Json(false);
    for (const std::string& key : keys->second) {
      if (key == "[]" || key == "*") continue;
      const std::string below = path.empty() ? key : path + '.' + key;
      json["properties"][key] = value(below);
      if (all_.at(below).required) required.push_back(key);
    }
    if (!required.array().empty()) json["required"] = std::move(required);
  }

  const std::map<std::string, Shape>& all_;
  std::string (*sentence_)(const std::string& path);
  std::map<std::string, std::set<std::string>> below_;  // the keys in the map, or "[]", at each path
};

}  // namespace

Shapes::Shapes() {
  for (const Node::Kind kind : {Node::Kind::kScalar, Node::Kind::kSequence, Node::Kind::kMap})
    made_.push_back(made_value(kind, kMadeDepth));
}

// Returns a number that is the same for a path in one reading, and independent of that of other readings.
std::size_t Shapes::number_of(const std::string& path) const {
  return std::hash<std::string>()(path + ' ' + std::to_string(seed_)) >> 8;
}

std::string Shapes::plain(const std::string& path) {
  std::string text;
  for (std::size_t i = 0; i < path.size(); ++i) {
    text += path[i];
    if (path[i] == '[') i = path.find(']', i) - 1;
  }
  return text;
}

const Node* Shapes::node(const std::string& path) {
  const std::string known = plain(path);
  const auto [above, key] = split(known);
  all_.try_emplace(known);
  const std::string inside = '.' + above + '.';
  const bool repeats = inside.find('.' + key + '.') != std::string::npos ||
                       inside.find('.' + key + "[].") != std::string::npos;
  return repeats ? nullptr : &made_[number_of(known) % made_.size()];
}

bool Shapes::has(const std::string& path) {
  if (!node(path)) return false;
  // Kinds of entries exclude each other only by an error, which does not matter here.
  const bool is_of_entry = std::ranges::count(path, '.') < 2;
  const bool is_member = path.ends_with(".*");
  return is_of_entry || is_member || number_of("has " + plain(path)) % 2 == 0;
}

void Shapes::record(const std::string& path, Type type, Shape shape) {
  const std::string name = plain(path);
  if (name.ends_with("[]")) all_[name.substr(0, name.size() - 2)].types.insert(Type::kList);
  Shape& known = all_[name];
  known.types.insert(type);
  known.words.merge(shape.words);
  known.ranges.merge(shape.ranges);
  if (type != Type::kNumber) return;
  known.min = known.max == 0 ? shape.min : std::min(known.min, shape.min);
  known.max = std::max(known.max, shape.max);
}

Json json_schema(const Shapes& shapes, std::string (*sentence)(const std::string& path)) {
  Json json = Writer(shapes, sentence).value("");
  json["$schema"] = "http://json-schema.org/draft-07/schema#";
  // A number or a flag without quotes is a text, too.
  Json& text =
      json["definitions"]["text"] = {{"type", std::vector<std::string>{"string", "number", "boolean"}}};
  json["definitions"]["texts"]["anyOf"] =
      Json::Array{text, {{"type", "array"}, {"items", Json{{"$ref", "#/definitions/text"}}}}};
  json["title"] = "plughost";
  return json;
}

}  // namespace plughost
