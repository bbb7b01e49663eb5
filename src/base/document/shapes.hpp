#pragma once
// Records what Fields' getters request: the keys of a document, with their types, words and ranges. The JSON
// schema is made from that, so that it cannot differ from the code that reads a configuration.
//
// While a Diagnostics has Shapes, Fields finds every key, with a made-up value whose kind differs from
// reading to reading. So enough readings show every key that a reader knows, without a table of keys beside
// the code. Not thread-safe.

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/document/node.hpp"
#include "base/text/json.hpp"

namespace plughost {

// The values that a key accepts. A key has several types if one reading took it as a list, and the next as a
// map.
struct Shape {
  enum class Type { kText, kFlag, kNumber, kDuration, kWord, kList, kMap };

  std::set<Type> types;
  std::set<std::string> words;  // kWord
  unsigned min = 0;             // kNumber
  unsigned max = 0;
  std::set<std::string> ranges;  // kDuration: "1s to 1d"
  bool required = false;
};

class Shapes {
 public:
  Shapes();
  // Starts another reading. `seed` decides which keys are texts, lists and maps, and which optional keys are
  // present.
  void begin(unsigned seed) { seed_ = seed; }

  // Returns the value of the key at `path` ("resources[0].gpu"), and records the key. nullptr: the reading
  // stops there, because a key like it contains it.
  const Node* node(const std::string& path);
  bool has(const std::string& path);
  void record(const std::string& path, Shape::Type type, Shape shape = {});
  void require(const std::string& path) { all_[plain(path)].required = true; }

  // All keys, by their paths without indices: "resources[].groups[].paths[].path". A key of any name is '*'.
  const std::map<std::string, Shape>& all() const { return all_; }

  // Returns the path without indices: "resources[].groups[]" for "resources[2].groups[0]".
  static std::string plain(const std::string& path);

 private:
  std::size_t number_of(const std::string& path) const;

  std::vector<Node> made_;  // a text, a list and a map
  unsigned seed_ = 0;
  std::map<std::string, Shape> all_;
};

// Returns the JSON schema (draft 7) of the document. `sentence` returns the description of the key at a plain
// path; empty: none.
Json json_schema(const Shapes& shapes, std::string (*sentence)(const std::string& path));

}  // namespace plughost
