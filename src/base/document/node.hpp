#pragma once
// A configuration text as plain values that know where they stood. What it was parsed from (YAML) is not
// visible here. Plain values.

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plughost {

// A file's name that every place in the file has a share in.
class FileName {
 public:
  FileName() = default;
  FileName(std::string name) : name_(std::make_shared<const std::string>(std::move(name))) {}
  FileName(const char* name) : FileName(std::string(name)) {}

  const std::string& text() const {
    static const std::string kNone;
    return name_ ? *name_ : kNone;
  }

 private:
  std::shared_ptr<const std::string> name_;
};

// A place in a file, counted from 1 as editors do, columns in bytes; line 0: the file as a whole.
struct Mark {
  FileName file;
  int line = 0;
  int column = 0;

  std::string text() const;  // "file:line:col", or "file"
};

struct Node {
  struct Member;
  enum class Kind { kNull, kScalar, kSequence, kMap };

  Kind kind = Kind::kNull;
  bool quoted = false;  // "true" in quotes is text, never a flag
  Mark mark;
  std::string scalar;           // the text as written: 0451 stays 0451
  std::vector<Node> items;      // kSequence
  std::vector<Member> members;  // kMap, in the order of the text; keys are scalars

  const Node* find(std::string_view key) const;  // nullptr if this is no map or has no such key
  const char* kind_name() const;                 // for messages: "text", "a list", "a map", "nothing"
};

struct Node::Member {
  Node first;   // the key
  Node second;  // its value
};

// The node, or an empty one where there is none.
const Node& or_nothing(const Node* node);
// What a map has under the key, and its text: an empty node and no text where there is nothing.
const Node& at(const Node& map, std::string_view key);
const std::string& text_at(const Node& map, std::string_view key);

// What a node says, in a form of its own: two nodes say the same if this is the same. Marks, quotes and the
// order of keys do not count, nor what a map has under the key except.
std::string content_of(const Node& node, std::string_view except = {});

}  // namespace plughost
