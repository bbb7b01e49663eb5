#include "device/position_text.hpp"

#include "device/template.hpp"

namespace plughost {

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
