#include "convert/arguments.hpp"

#include <algorithm>
#include <utility>

#include "base/ascii.hpp"
#include "device/id.hpp"

namespace plughost {
namespace {

constexpr const char* kSource = "--args";
constexpr std::string_view kBlanks = " \t\r\n";

Mark mark_at(std::size_t offset) {
  return {.file = kSource, .line = 1, .column = static_cast<int>(offset) + 1};
}

std::vector<std::string> split(std::string_view text, Diagnostics& diagnostics) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote_mark = 0;  // the quotation that is open
  std::size_t opened = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote_mark == 0 && kBlanks.find(c) != std::string_view::npos) {
      if (std::exchange(in_word, false)) words.push_back(std::exchange(word, {}));
      continue;
    }
    in_word = true;
    const bool escapes = quote_mark != '\'' && c == '\\' && i + 1 < text.size();
    if (escapes && (quote_mark == 0 || text[i + 1] == '"' || text[i + 1] == '\\')) {
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
  if (quote_mark != 0) diagnostics.error(mark_at(opened), "", "the quotation mark is not closed");
  if (in_word) words.push_back(std::move(word));
  return words;
}

}  // namespace

Arguments::Arguments(std::string_view text, Diagnostics& diagnostics) {
  const bool binary = std::ranges::any_of(
      text, [](char c) { return is_control(c) && kBlanks.find(c) == std::string_view::npos; });
  if (binary || !valid_utf8(text)) {
    diagnostics.error({.file = kSource}, "", "this is not text");
    return;
  }
  const std::vector<std::string> words = split(text, diagnostics);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.starts_with('-')) {
      if (!given_.empty())
        diagnostics.error({.file = kSource}, "", quote(word) + " belongs to no flag; flags begin with '-'");
      continue;
    }
    const std::string bare = word.substr(std::min(word.find_first_not_of('-'), word.size()));
    const std::size_t equals = bare.find('=');
    Given given{.flag = bare.substr(0, equals), .value = {}};
    if (equals != std::string::npos) {
      given.value = bare.substr(equals + 1);
    } else if (i + 1 < words.size() && !words[i + 1].starts_with('-')) {
      given.value = words[++i];
    }
    given_.push_back(std::move(given));
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
  asked_.emplace(flag);
  std::vector<std::string> all;
  for (const Given& given : given_) {
    if (given.flag == flag) all.push_back(given.value);
  }
  return all;
}

std::optional<bool> Arguments::truth(std::string_view flag) {
  const auto given = value(flag);
  if (!given) return std::nullopt;
  return *given != "false" && *given != "0";
}

std::vector<std::string> Arguments::unused() const {
  std::vector<std::string> flags;
  for (const Given& given : given_) {
    if (!asked_.contains(given.flag)) flags.push_back(given.flag);
  }
  return flags;
}

}  // namespace plughost
