#include "base/document/yaml_text.hpp"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>

#include "base/text/ascii.hpp"
#include "base/text/text.hpp"

namespace plughost {
namespace {

// Text that every reader of YAML takes for this text. What begins with a digit could be a number, unless it
// is a size.
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
  // yaml-cpp escapes C0 and C1, but no other unsafe character. These can only stand in double quotes.
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
