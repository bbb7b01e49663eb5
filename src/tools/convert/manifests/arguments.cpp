#include "tools/convert/manifests/arguments.hpp"

#include <algorithm>
#include <utility>

#include "base/document/yaml.hpp"
#include "base/text/ascii.hpp"
#include "model/device/names.hpp"

namespace plughost {
namespace {

std::string variable_of(std::string_view flag) {
  std::string name(flag);
  std::ranges::transform(name, name.begin(), [](char c) { return c == '-' ? '_' : to_upper(c); });
  return name;
}

using Words = std::vector<std::string>;

// Returns the end of the JSON object that begins at `from`; npos: it has no end.
std::size_t end_of_json(std::string_view text, std::size_t from) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = from; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && c == '{') {
      ++depth;
    } else if (!quoted && c == '}' && --depth == 0) {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

Words split_as_shell(std::string_view text, const std::string& name, Diagnostics& diagnostics) {
  Words words;
  std::string word;
  bool in_word = false;
  char quote_mark = 0;  // the open quotation mark
  std::size_t opened = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote_mark == 0 && is_blank(c)) {
      if (std::exchange(in_word, false)) words.push_back(std::exchange(word, {}));
      continue;
    }
    // A shell or a printer of lists may have removed the quotation marks around JSON.
    const bool value_begins = quote_mark == 0 && c == '{' && (!in_word || word.ends_with('='));
    if (const std::size_t end = value_begins ? end_of_json(text, i) : std::string_view::npos;
        end != std::string_view::npos) {
      word += text.substr(i, end - i);
      in_word = true;
      i = end - 1;
      continue;
    }
    in_word = true;
    const bool escapes = quote_mark != '\'' && c == '\\' && i + 1 < text.size();
    if (escapes && quote_mark == 0 && text[i + 1] == '\n') {
      in_word = !word.empty();
      ++i;
    } else if (escapes && (quote_mark == 0 || text[i + 1] == '"' || text[i + 1] == '\\')) {
      word += text[++i];
    } else if (c == quote_mark) {
      quote_mark = 0;
    } else if (quote_mark == 0 && (c == '"' || c == '\'')) {
      quote_mark = c;
      opened = i;
    } else {
      word += c;
    }
  }
  if (quote_mark != 0)
    diagnostics.error({.file = name, .line = 1, .column = static_cast<int>(opened) + 1}, "",
                      "the quotation mark is not closed");
  if (in_word) words.push_back(std::move(word));
  return words;
}

// Returns nullopt unless the text is a list of scalars.
std::optional<Words> list_of(std::string_view text, const std::string& name) {
  if (!text.starts_with('[') && !text.starts_with("- ")) return std::nullopt;
  Diagnostics nobody_reads;
  const auto root = parse_yaml(std::string(text), name, nobody_reads);
  if (!root || nobody_reads.has_errors() || root->kind != Node::Kind::kSequence) return std::nullopt;
  Words words;
  for (const Node& item : root->items) {
    if (item.kind != Node::Kind::kScalar) return std::nullopt;
    words.push_back(item.scalar);
  }
  return words;
}

// Returns true for `--flag`, and for `--flag=` with any value.
bool is_flag_alone(std::string_view line) {
  const std::size_t dashes = line.find_first_not_of('-');
  if (dashes == 0 || dashes == std::string_view::npos || dashes > 2 || !is_letter(line[dashes])) return false;
  const std::string_view flag = line.substr(0, line.find('='));
  return std::ranges::none_of(flag, is_blank);
}

// Splits a text with one word per line; nullopt for any other text, to which a shell's rules apply.
std::optional<Words> lines_of(std::string_view text) {
  if (text.find('\n') == std::string_view::npos) return std::nullopt;
  Words words;
  bool takes_lines = false;  // the last word is a value that may continue
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.ends_with('\\')) return std::nullopt;
    if (is_flag_alone(line)) {
      words.emplace_back(line);
      takes_lines = line.find('=') != std::string_view::npos;
    } else if ((line.starts_with('-') || without_blanks(line).starts_with("--")) && !line.starts_with("- ")) {
      return std::nullopt;
    } else if (words.empty() && without_blanks(line).find(' ') != std::string_view::npos) {
      return std::nullopt;
    } else if (takes_lines) {
      words.back() += '\n' + std::string(line);
    } else if (!without_blanks(line).empty()) {
      if (without_blanks(line).find_first_of("'\"") == 0) return std::nullopt;
      words.emplace_back(line);
      takes_lines = true;
    }
  }
  return words;
}

}  // namespace

Arguments::Arguments(const PluginCommand& line, const std::string& name, Diagnostics& diagnostics)
    : image_(line.image), environment_(line.environment.begin(), line.environment.end()) {
  const std::vector<std::string>& words = line.words;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.starts_with('-')) {
      if (!given_.empty())
        diagnostics.error({.file = name}, "", quote(word) + " belongs to no flag; flags begin with '-'");
      continue;
    }
    const std::string bare = word.substr(std::min(word.find_first_not_of('-'), word.size()));
    const std::size_t equals = bare.find('=');
    Given given{.flag = bare.substr(0, equals)};
    if (equals != std::string::npos) {
      given.value = bare.substr(equals + 1);
    } else if (i + 1 < words.size() && !words[i + 1].starts_with('-')) {
      given.value = words[++i];
    }
    given_.push_back(std::move(given));
  }
}

bool is_placeholder(std::string_view text) {
  return text.find("${") != std::string_view::npos || text.find("{{") != std::string_view::npos;
}

void Arguments::also_called(std::string_view flag, std::string_view other) {
  for (Given& given : given_) {
    if (given.flag == other) given.flag = flag;
  }
}

bool Arguments::has(std::string_view flag) const {
  return std::ranges::find(given_, flag, &Given::flag) != given_.end();
}

std::optional<std::string> Arguments::value(std::string_view flag) {
  std::vector<std::string> all = values(flag);
  if (all.empty()) return std::nullopt;
  return std::move(all.back());
}

std::vector<std::string> Arguments::values(std::string_view flag) {
  became_.try_emplace(std::string(flag));
  std::vector<std::string> all;
  for (const Given& given : given_) {
    if (given.flag == flag) all.push_back(given.value);
  }
  if (all.empty()) {
    if (auto found = variable(variable_of(flag)); found && !found->empty()) all.push_back(*std::move(found));
  }
  return all;
}

std::optional<bool> Arguments::truth(std::string_view flag) {
  const auto given = value(flag);
  if (!given) return std::nullopt;
  const std::string word = to_lower(*given);
  return word != "false" && word != "0" && word != "f";
}

std::optional<std::string> Arguments::variable(std::string_view name) const {
  const auto found = environment_.find(name);
  return found == environment_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<Arguments::Fate> Arguments::fates() const {
  std::vector<Fate> all;
  for (const auto& [flag, value] : given_) {
    const auto found = became_.find(flag);
    all.push_back({"--" + flag, value, found == became_.end() ? std::nullopt : std::optional(found->second)});
  }
  for (const auto& [name, value] : environment_) {
    const auto found = std::ranges::find_if(
        became_, [&, &wanted = name](const auto& each) { return variable_of(each.first) == wanted; });
    all.push_back({name, value, found == became_.end() ? std::nullopt : std::optional(found->second)});
  }
  return all;
}

std::vector<std::string> words_of(std::string_view text, const std::string& name, Diagnostics& diagnostics) {
  const bool binary = std::ranges::any_of(text, [](char c) { return is_control(c) && !is_blank(c); });
  if (binary || !valid_utf8(text)) {
    diagnostics.error({.file = name}, "", "this is not text");
    return {};
  }
  if (auto words = list_of(without_blanks(text), name)) return *std::move(words);
  if (auto words = lines_of(without_blanks(text))) return *std::move(words);
  return split_as_shell(text, name, diagnostics);
}

}  // namespace plughost
