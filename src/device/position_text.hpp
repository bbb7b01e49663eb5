#pragma once
// Text in which {n} stands for a device's position in an allocation: "/dev/modem{n}". A plain value.

#include <compare>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace plughost {

// A literal brace is doubled: Template::escape() makes a pattern of text that comes from the machine.
class PositionText {
 public:
  PositionText() = default;
  // A pattern, which is parsed here and never again.
  PositionText(std::string_view pattern);
  PositionText(const std::string& pattern) : PositionText(std::string_view(pattern)) {}
  PositionText(const char* pattern) : PositionText(std::string_view(pattern)) {}

  // Has every brace its meaning? What is not valid stands for itself.
  bool valid() const { return valid_; }
  // Is it another text at another position?
  bool has_position() const { return !places_.empty(); }
  std::string at(std::size_t n) const;
  std::string pattern() const;

  auto operator<=>(const PositionText&) const = default;

 private:
  std::string text_;                 // without braces that are doubled, and without each {n}
  std::vector<std::size_t> places_;  // in text_, where the position goes, ascending
  bool valid_ = true;
};

}  // namespace plughost
