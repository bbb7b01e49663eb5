#pragma once
// The content of a configuration, with the place of each value in the file. Independent of the format (YAML).
// Plain values.

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plughost {

// A file's name, shared by all places in that file.
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

// A place in a file. Lines and columns count from 1, columns in bytes; line 0: the whole file.
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
  bool quoted = false;     // a quoted "true" is text, never a flag
  bool in_braces = false;  // kMap: written as {...}
  Mark mark;
  std::string scalar;           // the text as written: 0451 stays 0451
  std::vector<Node> items;      // kSequence
  std::vector<Member> members;  // kMap, in the order of the text; keys are scalars

  const Node* find(std::string_view key) const;  // nullptr if this is not a map or the key is absent
  std::string kind_name() const;                 // for messages: "text", "a list", "a map", "nothing"
};

struct Node::Member {
  Node first;   // the key
  Node second;  // its value
};

// Returns the node, or an empty node for nullptr.
const Node& or_nothing(const Node* node);
// Return the value at the map's key, or the value's text; an empty node or "" if the key is absent.
const Node& at(const Node& map, std::string_view key);
const std::string& text_at(const Node& map, std::string_view key);

// Returns the node's content in a canonical form: two nodes are equivalent if their canonical forms are
// equal. Marks, quotes, the order of keys and the map's key `except` do not count.
std::string content_of(const Node& node, std::string_view except = {});

}  // namespace plughost
