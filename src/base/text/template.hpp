#pragma once
// Texts with placeholders, such as "{resource}-{n}". Plain values.

#include <compare>
#include <cstddef>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace plughost {

// Thrown if a template's text is malformed. `offset` is in bytes from the start of the text.
struct TemplateError : std::runtime_error {
  TemplateError(std::size_t at, const std::string& what) : std::runtime_error(what), offset(at) {}
  std::size_t offset;
};

class Template {
 public:
  Template() = default;
  // Throws TemplateError. "{name}" is a placeholder ([A-Za-z][A-Za-z0-9_]*); "{{" and "}}" are literal
  // braces.
  explicit Template(std::string_view text);

  // Returns true if the text can be the name of a placeholder.
  static bool is_name(std::string_view text);
  // Returns the text of a template that expands to exactly `text`.
  static std::string escape(std::string_view text);

  const std::string& text() const { return text_; }
  // Returns the names of all placeholders in their order in the text, with repetitions.
  std::vector<std::string_view> placeholders() const;
  bool names(std::string_view placeholder) const;
  bool literal() const;
  bool empty() const { return text_.empty(); }

  // Replaces all placeholders by the values that `lookup` returns. If `lookup` returns nullopt, expand() does
  // as well, and stores the name of that placeholder in *missing unless `missing` is nullptr.
  using Lookup = std::function<std::optional<std::string>(std::string_view placeholder)>;
  std::optional<std::string> expand(const Lookup& lookup, std::string* missing = nullptr) const;
  // Returns a template in which the placeholders that `lookup` knows are replaced by their values. Other
  // placeholders stay.
  Template bind(const Lookup& lookup) const;

  bool operator==(const Template& other) const { return text_ == other.text_; }

 private:
  struct Part {
    bool placeholder;
    std::string text;
  };
  std::string text_;
  std::vector<Part> parts_;
};

// A text in which {n} is replaced by a device's position in an allocation: "/dev/modem{n}". A pattern has
// each literal brace twice: Template::escape() turns a literal text into a pattern.
class PositionText {
 public:
  PositionText() = default;
  // Parses the pattern once; at() does not parse it again.
  PositionText(std::string_view pattern);
  PositionText(const std::string& pattern) : PositionText(std::string_view(pattern)) {}
  PositionText(const char* pattern) : PositionText(std::string_view(pattern)) {}

  // Returns false if the pattern has a single brace outside {n}. The whole pattern is then literal text.
  bool valid() const { return valid_; }
  bool has_position() const { return !places_.empty(); }
  std::string at(std::size_t n) const;
  std::string pattern() const;

  auto operator<=>(const PositionText&) const = default;

 private:
  std::string text_;                 // without the doubling of braces, and without each {n}
  std::vector<std::size_t> places_;  // offsets in text_ at which the position is inserted, ascending
  bool valid_ = true;
};

}  // namespace plughost
