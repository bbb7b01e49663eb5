#include "base/text/template.hpp"

#include <algorithm>
#include <utility>

#include "base/text/ascii.hpp"

namespace plughost {

Template::Template(std::string_view text) : text_(text) {
  std::string literal;
  const auto end_literal = [&] {
    if (!literal.empty()) parts_.push_back({.placeholder = false, .text = std::exchange(literal, {})});
  };
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const bool brace = c == '{' || c == '}';
    if (!brace || (at + 1 < text.size() && text[at + 1] == c)) {
      literal += c;
      at += brace ? 2 : 1;
      continue;
    }
    if (c == '}') throw TemplateError(at, "'}' has no '{' before it; write '}}' for the brace itself");
    const std::size_t close = text.find('}', at);
    if (close == std::string_view::npos) {
      throw TemplateError(at, "'{' has no '}' after it; write '{{' for the brace itself");
    }
    const std::string name(text.substr(at + 1, close - at - 1));
    if (!is_name(name)) {
      throw TemplateError(at, "'{" + name +
                                  "}' is not a placeholder: a name has letters, digits and '_', and begins "
                                  "with a letter; write '{{' for the brace itself");
    }
    end_literal();
    parts_.push_back({.placeholder = true, .text = name});
    at = close + 1;
  }
  end_literal();
}

bool Template::is_name(std::string_view text) {
  return !text.empty() && is_letter(text.front()) &&
         std::ranges::all_of(text, [](char c) { return is_letter_or_digit(c) || c == '_'; });
}

std::string Template::escape(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) escaped.append(c == '{' || c == '}' ? 2 : 1, c);
  return escaped;
}

std::vector<std::string_view> Template::placeholders() const {
  std::vector<std::string_view> names;
  for (const Part& part : parts_) {
    if (part.placeholder) names.push_back(part.text);
  }
  return names;
}

bool Template::names(std::string_view placeholder) const {
  return std::ranges::any_of(parts_,
                             [&](const Part& part) { return part.placeholder && part.text == placeholder; });
}

bool Template::literal() const { return std::ranges::none_of(parts_, &Part::placeholder); }

std::optional<std::string> Template::expand(const Lookup& lookup, std::string* missing) const {
  std::string expanded;
  for (const Part& part : parts_) {
    if (!part.placeholder) {
      expanded += part.text;
    } else if (const auto value = lookup(part.text)) {
      expanded += *value;
    } else {
      if (missing) *missing = part.text;
      return std::nullopt;
    }
  }
  return expanded;
}

Template Template::bind(const Lookup& lookup) const {
  std::string bound;
  for (const Part& part : parts_) {
    if (!part.placeholder) {
      bound += escape(part.text);
    } else if (const auto value = lookup(part.text)) {
      bound += escape(*value);
    } else {
      bound += '{' + part.text + '}';
    }
  }
  return Template(bound);
}

PositionText::PositionText(std::string_view pattern) {
  constexpr std::string_view kPosition = "{n}";
  for (std::size_t at = 0; at < pattern.size();) {
    const char c = pattern[at];
    const bool brace = c == '{' || c == '}';
    if (brace && pattern.substr(at).starts_with(kPosition)) {
      places_.push_back(text_.size());
      at += kPosition.size();
    } else if (brace && pattern.substr(at + 1).starts_with(c)) {
      text_ += c;
      at += 2;
    } else if (brace) {
      text_ = pattern;
      places_.clear();
      valid_ = false;
      return;
    } else {
      text_ += c;
      ++at;
    }
  }
}

std::string PositionText::at(std::size_t n) const {
  const std::string position = std::to_string(n);
  std::string text;
  std::size_t from = 0;
  for (const std::size_t place : places_) {
    text.append(text_, from, place - from);
    text += position;
    from = place;
  }
  return text.append(text_, from);
}

std::string PositionText::pattern() const {
  if (!valid_) return text_;
  std::string text;
  std::size_t from = 0;
  for (const std::size_t place : places_) {
    text += Template::escape(std::string_view(text_).substr(from, place - from)) + "{n}";
    from = place;
  }
  return text + Template::escape(std::string_view(text_).substr(from));
}

}  // namespace plughost
