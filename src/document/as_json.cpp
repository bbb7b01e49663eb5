#include "document/as_json.hpp"

#include <utility>

namespace plughost {

Json as_json(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull:
      return {};
    case Node::Kind::kScalar:
      return node.scalar;
    case Node::Kind::kSequence: {
      Json::Array array;
      for (const Node& item : node.items) array.push_back(as_json(item));
      return array;
    }
    case Node::Kind::kMap: {
      Json::Object object;
      for (const auto& [key, value] : node.members) object.emplace_back(key.scalar, as_json(value));
      return object;
    }
  }
  return {};
}

}  // namespace plughost
