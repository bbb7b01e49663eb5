#include "base/document/yaml_mistakes.hpp"

#include <array>
#include <new>

namespace plughost {
namespace {

// The advice on "{{ .Values.name }}".
constexpr std::string_view kOnTemplates =
    "`{{ ... }}` is a template, as in a Helm chart, which must be rendered before plughost reads the file";

// Returns the usual reason for an error of libyaml, or "" if it is unknown.
std::string_view meant_by(std::string_view problem, std::string_view context) {
  struct Reason {
    std::string_view problem;
    std::string_view context;  // a part of the context
    std::string_view meant;
  };
  static constexpr std::array kReasons = {
      Reason{"mapping values are not allowed", "",
             "the line is indented unlike its neighbours, the line before has no blank after its ':', or a "
             "text with ': ' in it has no quotes"},
      Reason{"did not find expected key", "block mapping",
             "a key is indented unlike the others of its map, or a text that begins with '{' or '[' has no "
             "quotes"},
      Reason{"could not find expected ':'", "simple key",
             "a ':' is missing after a key, or a list item's '- ' is missing"},
      Reason{
          "did not find expected '-' indicator", "block collection",
          "this line is indented like the list's items, but has no '- '; indent it further if it belongs to "
          "the item above"},
      Reason{"did not find expected ',' or '}'", "flow mapping",
             "a '{' has no '}', or a ',' is missing; a text that begins with '{' needs quotes"},
      Reason{"did not find expected ',' or ']'", "flow sequence",
             "a '[' has no ']', or a ',' is missing; a text that begins with '[' needs quotes"},
      Reason{"found unexpected ':'", "",
             "a space is missing after the ':', or a text with ':' in it has no quotes"},
      Reason{"mapping keys are not allowed", "", "a key is not allowed here; is the line before complete?"},
      Reason{"block sequence entries are not allowed", "",
             "a list item is not allowed here; is the line before complete?"},
      Reason{"found unexpected end of stream", "quoted scalar", "a quotation mark is not closed"},
      Reason{"found unexpected document indicator", "quoted scalar", "a quotation mark is not closed"},
      Reason{"found character that cannot start any token", "",
             "quote a text that begins with @, `, %, | or >"},
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

// Returns true if the line, or the line before it, is indented with a tab. Lines count from 1.
bool tab_indents(std::string_view text, int line) {
  for (int current = 1; current <= line && !text.empty(); ++current) {
    const std::string_view whole = text.substr(0, text.find('\n'));
    const std::string_view indent = whole.substr(0, whole.find_first_not_of(" \t"));
    if (current >= line - 1 && indent.find('\t') != std::string_view::npos) return true;
    text.remove_prefix(std::min(whole.size() + 1, text.size()));
  }
  return false;
}

// Returns true if "..." has ended the document before the mark.
bool has_ended(std::string_view text, const yaml_mark_t& mark, YamlPlaces& places) {
  const std::string_view before = text.substr(0, places.offset_of(mark.index));
  return before.substr(0, before.find_last_not_of(" \t\r\n") + 1).ends_with("\n...");
}

}  // namespace

YamlStop stop_of(const yaml_parser_t& parser, std::string_view text, YamlPlaces& places) {
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
  if (text.substr(offset).starts_with('\t')) return {mark, "not valid YAML: there is a tab here; use spaces"};
  const bool is_list = problem.starts_with("did not find expected '-' indicator");
  const bool is_document = problem.find("<document start>") != std::string_view::npos;
  if (is_document && has_ended(text, parser.problem_mark, places))
    return {mark, "a second YAML document begins here; a configuration is one document"};
  const std::string_view before = text.substr(0, offset);
  const bool begins_line = before.find_first_not_of(' ', before.rfind('\n') + 1) == std::string_view::npos;
  if (begins_line && (is_document || (is_list && mark.column == 1)))
    return {mark, std::string("this line belongs to nothing: ") + (is_list ? "the list" : "what stands") +
                      " above it ends here, because the line begins in column " +
                      std::to_string(mark.column) + "; did it lose its indentation?"};
  // The message about an unclosed quotation or bracket names the place where the quotation or bracket begins.
  const bool is_open = context.find("quoted scalar") != std::string_view::npos ||
                       context.find("flow") != std::string_view::npos;
  const Mark began = is_open ? places.at(parser.context_mark) : mark;
  const bool shows_beginning = context.find("quoted scalar") != std::string_view::npos;
  std::string what = "not valid YAML: " + std::string(problem);
  if (is_open && !shows_beginning) what += " of what begins at " + began.text();
  const std::size_t line = before.rfind('\n') + 1;  // npos + 1 is 0
  const bool has_template =
      text.substr(line, text.find('\n', line) - line).find("{{ ") != std::string_view::npos;
  if (const std::string_view meant = has_template ? kOnTemplates : meant_by(problem, context); !meant.empty())
    what += ": " + std::string(meant);
  return {shows_beginning ? began : mark, what};
}

std::string not_a_key(const Node& node) {
  std::string what = "a key is text, and this is " + node.kind_name();
  // A map of one key without a value is in the braces.
  if (node.in_braces && node.members.size() == 1 && node.members[0].second.kind == Node::Kind::kNull)
    what += "; " + std::string(kOnTemplates);
  return what;
}

std::optional<YamlStop> find_misleading(std::string_view text, YamlPlaces& places) {
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
  return YamlStop{places.place(first),
                  std::string(name) +
                      " is not allowed here: editors do not show its meaning in YAML; leave "
                      "it out, or write its escape in double quotes"};
}

}  // namespace plughost
