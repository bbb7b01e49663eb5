#pragma once
// Text with placeholders: "{resource}-{n}". Plain values.

#include <compare>
#include <cstddef>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace plughost {

// A template's text is wrong; offset counts bytes from the text's start.
struct TemplateError : std::runtime_error {
  TemplateError(std::size_t at, const std::string& what) : std::runtime_error(what), offset(at) {}
  std::size_t offset;
};

class Template {
 public:
  Template() = default;
  // Throws TemplateError. "{name}" is a placeholder ([A-Za-z][A-Za-z0-9_]*), "{{" and "}}" are braces.
  explicit Template(std::string_view text);

  // Can it be a placeholder's name?
  static bool is_name(std::string_view text);
  // The template that expands to text itself.
  static std::string escape(std::string_view text);

  const std::string& text() const { return text_; }
  // Every placeholder's name, in the order of the text, repeated where it is.
  std::vector<std::string_view> placeholders() const;
  bool names(std::string_view placeholder) const;
  bool literal() const;
  bool empty() const { return text_.empty(); }

  // nullopt as soon as lookup has no value for a placeholder; its name is then in *missing, if given.
  using Lookup = std::function<std::optional<std::string>(std::string_view placeholder)>;
  std::optional<std::string> expand(const Lookup& lookup, std::string* missing = nullptr) const;
  // The template in which the placeholders that lookup has a value for stand as text, and the others stay.
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

// Text in which {n} stands for a device's position in an allocation: "/dev/modem{n}".
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
