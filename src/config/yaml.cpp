#include "config/yaml.hpp"

#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <new>
#include <sstream>
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

Node make_node(Node::Kind kind, Mark mark) {
  Node node;
  node.kind = kind;
  node.mark = std::move(mark);
  return node;
}

std::size_t node_count(const Node& node) {
  std::size_t count = 1;
  for (const Node& item : node.items) count += node_count(item);
  for (const auto& [key, value] : node.members) count += 1 + node_count(value);
  return count;
}

std::size_t text_bytes(const Node& node) {
  std::size_t bytes = node.scalar.size();
  for (const Node& item : node.items) bytes += text_bytes(item);
  for (const auto& [key, value] : node.members) bytes += key.scalar.size() + text_bytes(value);
  return bytes;
}

std::size_t depth(const Node& node) {
  std::size_t deepest = 0;
  for (const Node& item : node.items) deepest = std::max(deepest, depth(item));
  for (const auto& [key, value] : node.members) deepest = std::max(deepest, depth(value));
  return deepest + 1;
}

// Whose text it is: ours has one document and plain values.
enum class Whose { kOurs, kTheirs };

// Builds the Nodes from the parser's events, so that every limit is seen before memory is spent.
class Builder final : public YAML::EventHandler {
 public:
  // Refer to what outlives it.
  Builder(std::string_view text, const std::string& file, Whose whose, Diagnostics& diagnostics)
      : text_(text), file_(file), whose_(whose), diagnostics_(diagnostics) {}

  Mark mark_of(const YAML::Mark& mark) const {
    if (mark.line < 0) return {.file = file_, .line = 0, .column = 0};
    if (static_cast<std::size_t>(mark.pos) >= text_.size()) return mark_before(mark);
    return {.file = file_, .line = mark.line + 1, .column = mark.column + 1};
  }

  // The last thing that is written before: what is missing is missing there.
  Mark mark_before(const YAML::Mark& mark) const {
    const std::size_t pos = static_cast<std::size_t>(mark.pos);
    const std::size_t last = text_.substr(0, pos).find_last_not_of(" \t\r\n");
    if (last == std::string_view::npos)
      return {.file = file_, .line = mark.line + 1, .column = mark.column + 1};
    const std::size_t end = std::min(pos, text_.size());
    const std::string_view between = text_.substr(last, end - last);
    const auto lines = static_cast<int>(std::ranges::count(between, '\n'));
    if (lines == 0 && pos < text_.size())
      return {.file = file_, .line = mark.line + 1, .column = mark.column + 1 - static_cast<int>(pos - last)};
    const std::size_t line_start = text_.rfind('\n', last) + 1;  // npos + 1 is 0
    const int beyond = pos > text_.size() ? 1 : 0;               // the line that parse_yaml adds
    return {.file = file_,
            .line = std::max(1, mark.line + 1 - lines - beyond),
            .column = static_cast<int>(last - line_start) + 1};
  }

  std::vector<Node> take_documents() { return std::move(documents_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    const bool first = !std::exchange(began_, true);
    if (first) return;
    // yaml-cpp takes what follows a whole list or map for another document.
    const auto at = static_cast<std::size_t>(std::max(mark.pos, 0));
    if (at < text_.size() && !text_.substr(at).starts_with("---") && !ended_before(at))
      throw Stop{mark_of(mark), lost_indentation(documents_.empty() ? Node{} : documents_.back())};
    if (whose_ == Whose::kOurs)
      throw Stop{mark_of(mark), "a second YAML document begins here; a configuration has one document"};
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(make_node(Node::Kind::kNull, mark_before(mark)), anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Node node = make_node(Node::Kind::kScalar, mark_of(mark));
    node.scalar = value;
    // yaml-cpp's words for "in quotes" and "plain" are these two tags.
    node.quoted = tag == "!" || tag == "tag:yaml.org,2002:str";
    if (!node.quoted) check_tag(node.mark, tag);
    if (value.find('\0') != std::string::npos) {
      diagnostics_.error(node.mark, "",
                         "the text has a zero character, which nothing that is configured can have");
    }
    add(std::move(node), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchored_.find(anchor);
    if (found == anchored_.end()) throw Stop{mark_of(mark), "the alias is inside of what it stands for"};
    const Node& node = found->second;
    count(mark_of(mark), node_count(node), text_bytes(node));
    check_depth(mark_of(mark), open_.size() + depth(node));
    place(node);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Node::Kind::kSequence, mark_of(mark), tag, anchor);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Node::Kind::kMap, mark_of(mark), tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  // A list or a map whose end has not come.
  struct Open {
    Node node;
    YAML::anchor_t anchor = 0;
    std::optional<Node> key;  // of the value that comes next
    std::map<std::string, Mark> keys;
    std::vector<Node> merged;  // values of `<<`
  };

  // Has "..." ended the document before?
  bool ended_before(std::size_t at) const {
    const std::string_view before = text_.substr(0, at);
    return before.substr(0, before.find_last_not_of(" \t\r\n") + 1).ends_with("\n...");
  }

  static std::string lost_indentation(const Node& before) {
    const std::string after = before.kind == Node::Kind::kSequence ? "the list" : before.kind_name();
    return "this line belongs to nothing: " + after +
           " above it ends here, because the line begins in column " + "1; did it lose its indentation?";
  }

  void check_tag(const Mark& mark, const std::string& tag) {
    if (whose_ == Whose::kTheirs || tag.empty() || tag == "?" || tag == "!") return;
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

  void open(Node::Kind kind, Mark mark, const std::string& tag, YAML::anchor_t anchor) {
    check_tag(mark, tag);
    count(mark, 1, 0);
    check_depth(mark, open_.size() + 1);
    open_.push_back(
        {.node = make_node(kind, std::move(mark)), .anchor = anchor, .key = {}, .keys = {}, .merged = {}});
  }

  void close() {
    Open closed = std::move(open_.back());
    open_.pop_back();
    for (const Node& from : closed.merged) merge(from, closed.node);
    remember(closed.node, closed.anchor);
    place(std::move(closed.node));
  }

  void add(Node node, YAML::anchor_t anchor) {
    count(node.mark, 1, node.scalar.size());
    remember(node, anchor);
    place(std::move(node));
  }

  void remember(const Node& node, YAML::anchor_t anchor) {
    if (anchor == 0) return;
    count(node.mark, node_count(node), text_bytes(node));
    anchored_.insert_or_assign(anchor, node);
  }

  void place(Node node) {
    if (open_.empty()) {
      documents_.push_back(std::move(node));
      return;
    }
    Open& parent = open_.back();
    if (parent.node.kind == Node::Kind::kSequence) {
      parent.node.items.push_back(std::move(node));
    } else if (!parent.key) {
      parent.key = std::move(node);
    } else {
      Node key = std::move(*parent.key);
      parent.key.reset();
      if (node.kind == Node::Kind::kNull) node.mark = key.mark;
      if (whose_ == Whose::kTheirs && is_merge(key)) return parent.merged.push_back(std::move(node));
      if (is_usable(key, parent)) parent.node.members.push_back({std::move(key), std::move(node)});
    }
  }

  static bool is_merge(const Node& key) { return key.scalar == "<<" && !key.quoted; }

  // The members of a map, or of a list of them, that the map itself has not. They have been counted as what
  // an alias stands for.
  static void merge(const Node& from, Node& map) {
    for (const Node& each : from.items) merge(each, map);
    for (const Node::Member& member : from.members) {
      if (map.find(member.first.scalar)) continue;
      map.members.push_back(member);
    }
  }

  bool is_usable(const Node& key, Open& map) {
    if (key.kind != Node::Kind::kScalar) {
      diagnostics_.error(key.mark, "", std::string("a key is text, and this is ") + key.kind_name());
      return false;
    }
    if (is_merge(key)) {
      diagnostics_.error(key.mark, "",
                         "merge keys (<<) are not supported; write the keys out, or use an alias as a value");
      return false;
    }
    const auto [first, is_new] = map.keys.try_emplace(key.scalar, key.mark);
    if (is_new) return true;
    diagnostics_.error(key.mark, "",
                       "the key " + quote(key.scalar) + " is there twice, first at " + first->second.text());
    return false;
  }

  std::string_view text_;
  const std::string& file_;
  const Whose whose_;
  Diagnostics& diagnostics_;
  bool began_ = false;
  std::size_t nodes_ = 0;
  std::size_t bytes_ = 0;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Node> anchored_;
  std::vector<Node> documents_;
};

// yaml-cpp's words, and what usually is the reason.
std::string explain(const std::string& words) {
  static constexpr std::pair<std::string_view, std::string_view> kReasons[] = {
      {"end of map not found",
       "a key is indented unlike the others of its map, its ':' is missing, or a text that begins with '{' "
       "has no quotes"},
      {"end of sequence not found",
       "an item is indented unlike the others of its list, or its '- ' is missing"},
      {"end of map flow not found",
       "a '{' has no '}', or a ',' is missing; a text that begins with '{' needs quotes"},
      {"end of sequence flow not found",
       "a '[' has no ']', or a ',' is missing; a text that begins with '[' needs quotes"},
      {"illegal map value",
       "the line is indented unlike its neighbours, or a text with ': ' in it has no quotes"},
      {"illegal map key", "a key cannot stand here; is the line before complete?"},
      {"illegal block entry", "a list item cannot stand here; is the line before complete?"},
      {"illegal flow end", "a ']' or '}' closes nothing"},
      {"illegal EOF in scalar", "a quotation mark is not closed"},
      {"illegal document indicator in scalar", "a quotation mark is not closed"},
      {"unknown token", "quote a text that begins with @, ` or %"},
      {"alias not found after *", "quote a text that begins with *"},
      {"illegal character found while scanning alias", "quote a text that begins with *"},
      {"anchor not found after &", "quote a text that begins with &"},
      {"illegal character found while scanning anchor", "quote a text that begins with &"},
      {"the referenced anchor is not defined",
       "no &name before it has this *name; quote a text that begins with *"},
  };
  for (const auto& [said, meant] : kReasons) {
    // yaml-cpp 0.8 adds the name of what it misses.
    if (words == said || words.starts_with(std::string(said) + ": "))
      return std::string(said) + ": " + std::string(meant);
  }
  return words;
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

std::string explain_syntax(const std::string& words, std::string_view text, int line) {
  if (tab_indents(text, line))
    return "not valid YAML: a tab indents this line or the one before it; use spaces";
  return "not valid YAML: " + explain(words);
}

std::optional<std::vector<Node>> parse(const std::string& text, const std::string& file, Whose whose,
                                       Diagnostics& diagnostics) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  const std::string_view body = std::string_view(text).substr(text.starts_with(kByteOrderMark) ? 3 : 0);
  Builder builder(body, file, whose, diagnostics);
  try {
    // A quotation mark that is never closed is an error for yaml-cpp only if no line ends after it.
    std::istringstream stream(std::string(body) + "\n#");
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
    return builder.take_documents();
  } catch (const Stop& stop) {
    diagnostics.error(stop.mark, "", stop.what);
  } catch (const YAML::DeepRecursion& error) {
    diagnostics.error(builder.mark_of(error.mark), "", "nested too deeply");
  } catch (const YAML::Exception& error) {
    const Mark mark = builder.mark_of(error.mark);
    diagnostics.error(mark, "", explain_syntax(error.msg, body, mark.line));
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    diagnostics.error({.file = file}, "", std::string("not valid YAML: ") + error.what());
  }
  return std::nullopt;
}

}  // namespace

std::optional<Node> parse_yaml(const std::string& text, const std::string& file, Diagnostics& diagnostics) {
  auto documents = parse(text, file, Whose::kOurs, diagnostics);
  if (!documents) return std::nullopt;
  if (documents->empty()) return make_node(Node::Kind::kNull, {.file = file});
  return std::move(documents->front());
}

std::optional<std::vector<Node>> parse_documents(const std::string& text, const std::string& file,
                                                 Diagnostics& diagnostics) {
  auto documents = parse(text, file, Whose::kTheirs, diagnostics);
  if (documents) std::erase_if(*documents, [](const Node& each) { return each.kind == Node::Kind::kNull; });
  return documents;
}

}  // namespace plughost
