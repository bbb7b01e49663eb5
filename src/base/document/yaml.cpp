#include "base/document/yaml.hpp"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <map>
#include <new>
#include <set>
#include <string_view>
#include <utility>

#include "base/document/yaml_mistakes.hpp"
#include "base/text/ascii.hpp"
#include "base/text/text.hpp"

namespace plughost {
namespace {

// The cost of a copy of a node.
struct Size {
  std::size_t nodes = 1;
  std::size_t bytes = 0;  // bytes of text
  std::size_t levels = 1;
};

Size size_of(const Node& node) {
  Size all{.bytes = node.scalar.size()};
  const auto add = [&all](const Node& below) {
    const Size its = size_of(below);
    all.nodes += its.nodes;
    all.bytes += its.bytes;
    all.levels = std::max(all.levels, its.levels + 1);
  };
  for (const Node& item : node.items) add(item);
  for (const auto& [key, value] : node.members) {
    ++all.nodes;
    all.bytes += key.scalar.size();
    add(value);
  }
  return all;
}

// Returns "" for nullptr.
std::string_view text_of(const yaml_char_t* text) { return text ? reinterpret_cast<const char*>(text) : ""; }

// Distinguishes plughost's configuration, with one document and plain values, from another program's text.
enum class Whose { kOurs, kTheirs };

// Builds nodes from the parser's events, so that every limit is checked before memory is used.
class Builder {
 public:
  // `places` and `diagnostics` must outlive this object.
  Builder(YamlPlaces& places, Whose whose, Diagnostics& diagnostics)
      : places_(places), whose_(whose), diagnostics_(diagnostics) {}

  std::vector<Node> take_documents() { return std::move(documents_); }

  void take(const yaml_event_t& event) {
    switch (event.type) {
      case YAML_DOCUMENT_START_EVENT:
        if (std::exchange(began_, true) && whose_ == Whose::kOurs)
          throw YamlStop{places_.at(event.start_mark),
                         "a second YAML document begins here; a configuration is one document"};
        anchored_.clear();
        break;
      case YAML_ALIAS_EVENT:
        alias(places_.at(event.start_mark), std::string(text_of(event.data.alias.anchor)));
        break;
      case YAML_SCALAR_EVENT:
        scalar(event);
        break;
      case YAML_SEQUENCE_START_EVENT:
        open(Node::Kind::kSequence, places_.at(event.start_mark), event.data.sequence_start.tag,
             event.data.sequence_start.anchor);
        break;
      case YAML_MAPPING_START_EVENT:
        open(Node::Kind::kMap, places_.at(event.start_mark), event.data.mapping_start.tag,
             event.data.mapping_start.anchor);
        open_.back().node->in_braces = event.data.mapping_start.style == YAML_FLOW_MAPPING_STYLE;
        break;
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT:
        close();
        break;
      default:
        break;
    }
  }

 private:
  // A list or a map that is not closed yet.
  struct Open {
    Node* node;                 // stays valid: the parent's list does not grow before this node is closed
    std::string anchor;         // empty: the node has no anchor
    bool awaits_value = false;  // the last key has no value yet
  };

  // Appends an empty node where the next value belongs, and returns that node.
  Node& add() {
    if (open_.empty()) return documents_.emplace_back();
    Open& parent = open_.back();
    if (parent.node->kind == Node::Kind::kSequence) return parent.node->items.emplace_back();
    std::vector<Node::Member>& members = parent.node->members;
    parent.awaits_value = !parent.awaits_value;
    return parent.awaits_value ? members.emplace_back().first : members.back().second;
  }

  void scalar(const yaml_event_t& event) {
    const auto& told = event.data.scalar;
    const std::string_view value(reinterpret_cast<const char*>(told.value), told.length);
    const std::string_view tag = text_of(told.tag);
    const bool plain = told.style == YAML_PLAIN_SCALAR_STYLE && tag.empty();
    const bool is_null =
        plain && (value.empty() || value == "~" || value == "null" || value == "Null" || value == "NULL");
    Mark mark = plain && value.empty() ? places_.before(event.start_mark) : places_.at(event.start_mark);
    count(mark, 1, is_null ? 0 : value.size());
    Node& node = add();
    node.mark = std::move(mark);
    if (!is_null) {
      node.kind = Node::Kind::kScalar;
      node.scalar = value;
      node.quoted = told.style != YAML_PLAIN_SCALAR_STYLE || tag == "!" || tag == YAML_STR_TAG;
      if (!node.quoted) check_tag(node.mark, tag);
      if (value.find('\0') != std::string_view::npos)
        diagnostics_.error(node.mark, "",
                           "the text has a zero character, which nothing that is configured can have");
    }
    remember(node, text_of(told.anchor));
  }

  void alias(const Mark& mark, const std::string& anchor) {
    const auto found = anchored_.find(anchor);
    if (found == anchored_.end()) {
      if (std::ranges::find(open_, anchor, &Open::anchor) != open_.end())
        throw YamlStop{mark, "the alias is inside the value that it refers to"};
      throw YamlStop{mark, "not valid YAML: the alias *" + anchor + " stands for nothing: no &" + anchor +
                               " is before it; quote a text that begins with *"};
    }
    const Node& node = found->second;
    const Size size = size_of(node);
    count(mark, size.nodes, size.bytes);
    check_depth(mark, open_.size() + size.levels);
    add() = node;
  }

  void check_tag(const Mark& mark, std::string_view tag) {
    if (whose_ == Whose::kTheirs || tag.empty() || tag == "!") return;
    diagnostics_.error(mark, "", "the tag " + quote(tag) + " has no meaning here; leave it out");
  }

  void count(const Mark& mark, std::size_t nodes, std::size_t bytes) {
    nodes_ += nodes;
    bytes_ += bytes;
    if (nodes_ > kMostNodes)
      throw YamlStop{mark, "the file expands to more than " + std::to_string(kMostNodes) +
                               " values, which no configuration has"};
    if (bytes_ > kMostExpandedBytes)
      throw YamlStop{mark, "the file's aliases expand to more than 64 MiB, which no configuration has"};
  }

  void check_depth(const Mark& mark, std::size_t levels) const {
    if (levels > kDeepest)
      throw YamlStop{mark, "nested too deeply: more than " + std::to_string(kDeepest) + " levels"};
  }

  void open(Node::Kind kind, Mark mark, const yaml_char_t* tag, const yaml_char_t* anchor) {
    check_tag(mark, text_of(tag));
    count(mark, 1, 0);
    check_depth(mark, open_.size() + 1);
    Node& node = add();
    node.kind = kind;
    node.mark = std::move(mark);
    open_.push_back({.node = &node, .anchor = std::string(text_of(anchor))});
  }

  void close() {
    const Open closed = std::move(open_.back());
    open_.pop_back();
    if (closed.node->kind == Node::Kind::kMap) finish(*closed.node);
    remember(*closed.node, closed.anchor);
  }

  void remember(const Node& node, std::string_view anchor) {
    if (anchor.empty()) return;
    const Size size = size_of(node);
    count(node.mark, size.nodes, size.bytes);
    anchored_.insert_or_assign(std::string(anchor), node);
  }

  // Reports the unusable keys of a complete map, and applies its merge keys.
  void finish(Node& map) {
    for (auto& [key, value] : map.members) {
      if (value.kind == Node::Kind::kNull) value.mark = key.mark;
    }
    std::vector<Node> merged;
    if (whose_ == Whose::kTheirs) {
      for (auto& [key, value] : map.members) {
        if (is_merge(key)) merged.push_back(std::move(value));
      }
      std::erase_if(map.members, [](const Node::Member& member) { return is_merge(member.first); });
    }
    std::erase_if(map.members, [&](const Node::Member& member) { return !is_usable(member.first); });
    leave_out_repeated(map.members, !open_.empty() && open_.back().node->kind == Node::Kind::kSequence);
    if (merged.empty()) return;
    std::set<std::string> keys;
    for (const auto& [key, value] : map.members) keys.insert(key.scalar);
    for (const Node& from : merged) merge(from, map, keys);
  }

  static bool is_merge(const Node& key) { return key.scalar == "<<" && !key.quoted; }

  // Adds to `map` those members of `from`, a map or a list of maps, whose keys are not among `keys`. The
  // members have already been counted as the expansion of an alias.
  static void merge(const Node& from, Node& map, std::set<std::string>& keys) {
    for (const Node& each : from.items) merge(each, map, keys);
    for (const Node::Member& member : from.members) {
      if (keys.insert(member.first.scalar).second) map.members.push_back(member);
    }
  }

  bool is_usable(const Node& key) {
    if (key.kind == Node::Kind::kScalar && !is_merge(key)) return true;
    diagnostics_.error(
        key.mark, "",
        key.kind != Node::Kind::kScalar
            ? not_a_key(key)
            : "merge keys (<<) are not supported; write the keys out, or use an alias as a value");
    return false;
  }

  // Reports repeated keys, and keeps the first member with each. An item that begins again lacks its '-'.
  void leave_out_repeated(std::vector<Node::Member>& members, bool is_item) {
    std::map<std::string, Mark> first;
    std::vector<Node::Member> kept;
    for (Node::Member& member : members) {
      const Node& key = member.first;
      const auto [before, is_new] = first.try_emplace(key.scalar, key.mark);
      if (is_new) {
        kept.push_back(std::move(member));
        continue;
      }
      std::string what = quote(key.scalar) + " is a duplicate; the first is at " + before->second.text();
      const bool begins_again = key.scalar == kept[0].first.scalar && key.mark.line != before->second.line;
      if (is_item && begins_again) what += "; if the next item of the list begins here, write '- ' before it";
      diagnostics_.error(key.mark, "", "the key " + what);
      if (is_item && begins_again) break;
    }
    members = std::move(kept);
  }

  YamlPlaces& places_;
  const Whose whose_;
  Diagnostics& diagnostics_;
  bool began_ = false;
  std::size_t nodes_ = 0;
  std::size_t bytes_ = 0;
  std::vector<Open> open_;
  std::map<std::string, Node> anchored_;
  std::vector<Node> documents_;
};

class Parser {
 public:
  explicit Parser(std::string_view text) {
    if (!yaml_parser_initialize(&parser_)) throw std::bad_alloc();
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  ~Parser() {
    yaml_event_delete(&event_);
    yaml_parser_delete(&parser_);
  }
  Parser& operator=(Parser&&) = delete;

  // Returns an event that is valid until the next call; nullptr if the text is not YAML, and state() has why.
  const yaml_event_t* next() {
    yaml_event_delete(&event_);
    return yaml_parser_parse(&parser_, &event_) ? &event_ : nullptr;
  }
  const yaml_parser_t& state() const { return parser_; }

 private:
  yaml_parser_t parser_{};
  yaml_event_t event_{};
};

std::optional<std::vector<Node>> parse(const std::string& text, const std::string& file, Whose whose,
                                       Diagnostics& diagnostics) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  const std::string_view body = std::string_view(text).substr(text.starts_with(kByteOrderMark) ? 3 : 0);
  YamlPlaces places(body, file);
  Builder builder(places, whose, diagnostics);
  try {
    if (auto misleading = find_misleading(body, places)) throw *std::move(misleading);
    Parser parser(body);
    for (;;) {
      const yaml_event_t* const event = parser.next();
      if (!event) throw stop_of(parser.state(), body, places);
      if (event->type == YAML_STREAM_END_EVENT) return builder.take_documents();
      builder.take(*event);
    }
  } catch (const YamlStop& stop) {
    diagnostics.error(stop.mark, "", stop.what);
  }
  return std::nullopt;
}

// Returns true if every YAML parser reads the text, written without quotes, as this text. A text that begins
// with a digit could be read as a number, unless the text is a size such as 64MiB.
bool is_plain(std::string_view text) {
  static constexpr std::array<std::string_view, 10> kWords = {"true", "false", "yes", "no", "on",
                                                              "off",  "null",  "y",   "n",  "nan"};
  const auto safe = [](char c) {
    return is_letter_or_digit(c) || c == '_' || c == '.' || c == '/' || c == '-' || c == '*';
  };
  if (text.empty() || !(is_letter(text.front()) || text.front() == '/' || text.ends_with("iB"))) return false;
  if (!std::ranges::all_of(text, safe)) return false;
  return std::ranges::find(kWords, to_lower(text)) == kWords.end();
}

struct Emit {
  YAML::Emitter& out;

  void operator()(std::nullptr_t) { out << YAML::Null; }
  void operator()(bool flag) { out << flag; }
  void operator()(std::int64_t number) { out << number; }
  void operator()(const std::string& text) {
    if (!is_plain(text)) out << YAML::DoubleQuoted;
    out << text;
  }
  void operator()(const Json::Array& items) {
    if (items.empty()) out << YAML::Flow;
    out << YAML::BeginSeq;
    for (const Json& item : items) item.visit(*this);
    out << YAML::EndSeq;
  }
  void operator()(const Json::Object& members) {
    if (members.empty()) out << YAML::Flow;
    out << YAML::BeginMap;
    for (const auto& [key, value] : members) {
      out << YAML::Key;
      (*this)(key);
      out << YAML::Value;
      value.visit(*this);
    }
    out << YAML::EndMap;
  }
};

std::string emitted(YAML::Emitter& out, const Json& json) {
  Emit emit{out};
  json.visit(emit);
  // yaml-cpp escapes C0 and C1, but no other unsafe characters, which can only occur in double quotes.
  std::string safe;
  for (std::string_view text = out.c_str(); !text.empty();) {
    const auto [code, length] = first_character(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    if (code >= 0x80 && is_unsafe(code))
      safe += unicode_escape(code);
    else
      safe += character;
    text.remove_prefix(character.size());
  }
  return safe;
}

}  // namespace

std::optional<Node> parse_yaml(const std::string& text, const std::string& file, Diagnostics& diagnostics) {
  auto documents = parse(text, file, Whose::kOurs, diagnostics);
  if (!documents) return std::nullopt;
  if (documents->empty()) return Node{.mark = {.file = file}};
  return std::move(documents->front());
}

std::optional<std::vector<Node>> parse_documents(const std::string& text, const std::string& file,
                                                 Diagnostics& diagnostics) {
  auto documents = parse(text, file, Whose::kTheirs, diagnostics);
  if (documents) std::erase_if(*documents, [](const Node& each) { return each.kind == Node::Kind::kNull; });
  return documents;
}

std::string yaml_of(const Json& json) {
  YAML::Emitter out;
  return emitted(out, json);
}

std::string yaml_in_one_line(const Json& json) {
  YAML::Emitter out;
  out.SetMapFormat(YAML::Flow);
  out.SetSeqFormat(YAML::Flow);
  return emitted(out, json);
}

}  // namespace plughost
