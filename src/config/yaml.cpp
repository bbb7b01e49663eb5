#include "config/yaml.hpp"

#include <yaml.h>

#include <algorithm>
#include <array>
#include <map>
#include <new>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace plughost {
namespace {

// The text cannot be used at all.
struct Stop {
  Mark mark;
  std::string what;
};

// What a copy of a node costs.
struct Size {
  std::size_t nodes = 1;
  std::size_t bytes = 0;  // of text
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

// "" for none.
std::string_view text_of(const yaml_char_t* text) { return text ? reinterpret_cast<const char*>(text) : ""; }

// Where the characters of a text stand. Quick where each lies a little behind the last one.
class Places {
 public:
  // text outlives it.
  Places(std::string_view text, const std::string& file) : text_(text), file_(file) {
    for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n', end + 1))
      lines_.push_back(end + 1);
    const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
    ascii_ = std::ranges::all_of(text, is_ascii);
  }

  // What is not there is missing where the last thing is written.
  Mark at(const yaml_mark_t& mark) {
    const std::size_t offset = offset_of(mark.index);
    return offset < text_.size() ? place(offset) : before(mark);
  }
  // Of the last thing that is written before.
  Mark before(const yaml_mark_t& mark) {
    const std::size_t last = text_.substr(0, offset_of(mark.index)).find_last_not_of(" \t\r\n");
    return place(last == std::string_view::npos ? 0 : last);
  }
  // Of a byte.
  Mark place(std::size_t offset) {
    while (lines_[line_] > offset) --line_;
    while (line_ + 1 < lines_.size() && lines_[line_ + 1] <= offset) ++line_;
    return {.file = file_,
            .line = static_cast<int>(line_) + 1,
            .column = static_cast<int>(offset - lines_[line_]) + 1};
  }

  // libyaml counts characters.
  std::size_t offset_of(std::size_t character) {
    if (ascii_) return std::min(character, text_.size());
    if (character < character_) character_ = offset_ = 0;
    for (; character_ < character && offset_ < text_.size(); ++character_) {
      do ++offset_;
      while (offset_ < text_.size() && (static_cast<unsigned char>(text_[offset_]) & 0xC0) == 0x80);
    }
    return offset_;
  }

 private:
  std::string_view text_;
  FileName file_;
  std::vector<std::size_t> lines_{0};  // where they begin
  std::size_t line_ = 0;               // the one of the last place
  bool ascii_ = false;
  std::size_t character_ = 0;  // the one that begins at offset_
  std::size_t offset_ = 0;
};

// Whose text it is: ours has one document and plain values.
enum class Whose { kOurs, kTheirs };

// Builds the Nodes from the parser's events, so that every limit is seen before memory is spent.
class Builder {
 public:
  // Refer to what outlives it.
  Builder(Places& places, Whose whose, Diagnostics& diagnostics)
      : places_(places), whose_(whose), diagnostics_(diagnostics) {}

  std::vector<Node> take_documents() { return std::move(documents_); }

  void take(const yaml_event_t& event) {
    switch (event.type) {
      case YAML_DOCUMENT_START_EVENT:
        if (std::exchange(began_, true) && whose_ == Whose::kOurs)
          throw Stop{places_.at(event.start_mark),
                     "a second YAML document begins here; a configuration has one document"};
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
  // A list or a map whose end has not come.
  struct Open {
    Node* node;                 // stays where it is: what it is in does not grow before its end
    std::string anchor;         // empty: none
    bool awaits_value = false;  // of the last key
  };

  // Where the next node of the text belongs.
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
        throw Stop{mark, "the alias is inside of what it stands for"};
      throw Stop{mark, "not valid YAML: the alias *" + anchor + " stands for nothing: no &" + anchor +
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
    if (nodes_ > kMostNodes) {
      throw Stop{mark, "the file expands to more than " + std::to_string(kMostNodes) +
                           " values, which no configuration has"};
    }
    if (bytes_ > kMostExpandedBytes)
      throw Stop{mark, "the file's aliases expand to more than 64 MiB, which no configuration has"};
  }

  void check_depth(const Mark& mark, std::size_t levels) const {
    if (levels > kDeepest)
      throw Stop{mark, "nested too deeply: more than " + std::to_string(kDeepest) + " levels"};
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

  // Of a map that is complete.
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
    leave_out_repeated(map.members);
    if (merged.empty()) return;
    std::set<std::string> keys;
    for (const auto& [key, value] : map.members) keys.insert(key.scalar);
    for (const Node& from : merged) merge(from, map, keys);
  }

  static bool is_merge(const Node& key) { return key.scalar == "<<" && !key.quoted; }

  // The members of a map, or of a list of them, that the map itself has not. They have been counted as what
  // an alias stands for.
  static void merge(const Node& from, Node& map, std::set<std::string>& keys) {
    for (const Node& each : from.items) merge(each, map, keys);
    for (const Node::Member& member : from.members) {
      if (keys.insert(member.first.scalar).second) map.members.push_back(member);
    }
  }

  bool is_usable(const Node& key) {
    if (key.kind != Node::Kind::kScalar) {
      diagnostics_.error(key.mark, "", std::string("a key is text, and this is ") + key.kind_name());
      return false;
    }
    if (is_merge(key)) {
      diagnostics_.error(key.mark, "",
                         "merge keys (<<) are not supported; write the keys out, or use an alias as a value");
      return false;
    }
    return true;
  }

  // Of members with one key the first counts.
  void leave_out_repeated(std::vector<Node::Member>& members) {
    std::map<std::string_view, const Mark*> first;
    std::set<const Node::Member*> repeated;
    for (const Node::Member& member : members) {
      const Node& key = member.first;
      const auto [other, is_new] = first.try_emplace(key.scalar, &key.mark);
      if (is_new) continue;
      repeated.insert(&member);
      diagnostics_.error(
          key.mark, "",
          "the key " + quote(key.scalar) + " is there twice, first at " + other->second->text());
    }
    if (repeated.empty()) return;
    std::erase_if(members, [&](const Node::Member& member) { return repeated.contains(&member); });
  }

  Places& places_;
  const Whose whose_;
  Diagnostics& diagnostics_;
  bool began_ = false;
  std::size_t nodes_ = 0;
  std::size_t bytes_ = 0;
  std::vector<Open> open_;
  std::map<std::string, Node> anchored_;
  std::vector<Node> documents_;
};

// libyaml's words, and what usually is the reason.
std::string_view meant_by(std::string_view problem, std::string_view context) {
  struct Reason {
    std::string_view problem;
    std::string_view context;  // ends so
    std::string_view meant;
  };
  static constexpr std::array kReasons = {
      Reason{"mapping values are not allowed", "",
             "the line is indented unlike its neighbours, or a text with ': ' in it has no quotes"},
      Reason{"did not find expected key", "block mapping",
             "a key is indented unlike the others of its map, or a text that begins with '{' or '[' has no "
             "quotes"},
      Reason{"could not find expected ':'", "simple key",
             "a ':' is missing after a key, or a list item's '- ' is missing"},
      Reason{"did not find expected '-' indicator", "block collection",
             "an item is indented unlike the others of its list, or its '- ' is missing"},
      Reason{"did not find expected ',' or '}'", "flow mapping",
             "a '{' has no '}', or a ',' is missing; a text that begins with '{' needs quotes"},
      Reason{"did not find expected ',' or ']'", "flow sequence",
             "a '[' has no ']', or a ',' is missing; a text that begins with '[' needs quotes"},
      Reason{"found unexpected ':'", "",
             "a space is missing after the ':', or a text with ':' in it has no quotes"},
      Reason{"mapping keys are not allowed", "", "a key cannot stand here; is the line before complete?"},
      Reason{"block sequence entries are not allowed", "",
             "a list item cannot stand here; is the line before complete?"},
      Reason{"found unexpected end of stream", "quoted scalar", "a quotation mark is not closed"},
      Reason{"found unexpected document indicator", "quoted scalar", "a quotation mark is not closed"},
      Reason{"found character that cannot start any token", "", "quote a text that begins with @, ` or %"},
      Reason{"found unknown escape character", "",
             "in double quotes a backslash is written \\\\, in single quotes it stands for itself"},
      Reason{"did not find expected alphabetic or numeric character", "alias",
             "quote a text that begins with *"},
      Reason{"did not find expected alphabetic or numeric character", "anchor",
             "quote a text that begins with &"},
      Reason{"did not find expected node content", "flow", "a value is missing, or a ',' is too many"},
      Reason{"did not find expected node content", "", "a ']' or '}' closes nothing, or a value is missing"},
  };
  const auto found = std::ranges::find_if(kReasons, [&](const Reason& each) {
    return problem.starts_with(each.problem) && context.find(each.context) != std::string_view::npos;
  });
  return found == kReasons.end() ? "" : found->meant;
}

// Is the line, or the one before it, indented with a tab? Lines count from 1.
bool tab_indents(std::string_view text, int line) {
  for (int current = 1; current <= line && !text.empty(); ++current) {
    const std::string_view whole = text.substr(0, text.find('\n'));
    const std::string_view indent = whole.substr(0, whole.find_first_not_of(" \t"));
    if (current >= line - 1 && indent.find('\t') != std::string_view::npos) return true;
    text.remove_prefix(std::min(whole.size() + 1, text.size()));
  }
  return false;
}

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

  // nullptr: the text is no YAML, and error() says why.
  const yaml_event_t* next() {
    yaml_event_delete(&event_);
    return yaml_parser_parse(&parser_, &event_) ? &event_ : nullptr;
  }
  const yaml_parser_t& state() const { return parser_; }

 private:
  yaml_parser_t parser_{};
  yaml_event_t event_{};
};

// Has "..." ended the document before the mark?
bool has_ended(std::string_view text, const yaml_mark_t& mark, Places& places) {
  const std::string_view before = text.substr(0, places.offset_of(mark.index));
  return before.substr(0, before.find_last_not_of(" \t\r\n") + 1).ends_with("\n...");
}

// Why libyaml stopped.
Stop stop_of(const yaml_parser_t& parser, std::string_view text, Places& places) {
  if (parser.error == YAML_MEMORY_ERROR) throw std::bad_alloc();
  const std::string_view problem = parser.problem ? parser.problem : "";
  const std::string_view context = parser.context ? parser.context : "";
  if (parser.error == YAML_READER_ERROR)
    return {places.place(std::min(parser.problem_offset, text.size())),
            "not valid YAML: " + std::string(problem)};
  const Mark mark = places.at(parser.problem_mark);
  if (tab_indents(text, mark.line))
    return {mark, "not valid YAML: a tab indents this line or the one before it; use spaces"};
  const std::size_t offset = places.offset_of(parser.problem_mark.index);
  if (text.substr(offset).starts_with('\t')) return {mark, "not valid YAML: a tab stands here; use spaces"};
  const bool is_list = problem.starts_with("did not find expected '-' indicator");
  const bool is_document = problem.find("<document start>") != std::string_view::npos;
  if (is_document && has_ended(text, parser.problem_mark, places))
    return {mark, "a second YAML document begins here; a configuration has one document"};
  const std::string_view before = text.substr(0, offset);
  const bool begins_line = before.find_first_not_of(' ', before.rfind('\n') + 1) == std::string_view::npos;
  if (begins_line && (is_document || (is_list && mark.column == 1)))
    return {mark, std::string("this line belongs to nothing: ") + (is_list ? "the list" : "what stands") +
                      " above it ends here, because the line begins in column " +
                      std::to_string(mark.column) + "; did it lose its indentation?"};
  // What is not closed is told where it was opened.
  const bool is_open = context.find("quoted scalar") != std::string_view::npos ||
                       context.find("flow") != std::string_view::npos;
  const Mark began = is_open ? places.at(parser.context_mark) : mark;
  const bool shows_beginning = context.find("quoted scalar") != std::string_view::npos;
  std::string what = "not valid YAML: " + std::string(problem);
  if (is_open && !shows_beginning) what += " of what begins at " + began.text();
  if (const std::string_view meant = meant_by(problem, context); !meant.empty())
    what += ": " + std::string(meant);
  return {shows_beginning ? began : mark, what};
}

// The first character that libyaml takes for the end of a line or leaves out, unlike whoever wrote the text:
// what is in a comment for an editor could be a key.
std::optional<Stop> find_misleading(std::string_view text, Places& places) {
  struct Character {
    std::string_view bytes;
    std::string_view name;
  };
  static constexpr std::array kCharacters = {
      Character{"\xC2\x85", "U+0085"}, Character{"\xE2\x80\xA8", "U+2028"},
      Character{"\xE2\x80\xA9", "U+2029"}, Character{"\xEF\xBB\xBF", "U+FEFF"}};
  std::size_t first = text.find('\r');
  while (text.substr(std::min(first, text.size())).starts_with("\r\n")) first = text.find('\r', first + 2);
  std::string_view name = "a carriage return alone";
  for (const Character& each : kCharacters) {
    const std::size_t at = text.find(each.bytes);
    if (at >= first) continue;
    first = at;
    name = each.name;
  }
  if (first == std::string_view::npos) return std::nullopt;
  return Stop{places.place(first), std::string(name) +
                                       " cannot stand here: editors do not show what it means in YAML; leave "
                                       "it out, or write its escape in double quotes"};
}

std::optional<std::vector<Node>> parse(const std::string& text, const std::string& file, Whose whose,
                                       Diagnostics& diagnostics) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  const std::string_view body = std::string_view(text).substr(text.starts_with(kByteOrderMark) ? 3 : 0);
  Places places(body, file);
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
  } catch (const Stop& stop) {
    diagnostics.error(stop.mark, "", stop.what);
  }
  return std::nullopt;
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

}  // namespace plughost
