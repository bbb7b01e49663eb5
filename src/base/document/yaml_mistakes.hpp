#pragma once
// Explains why a text is not valid YAML, where, and what to do. Uses libyaml's types: internal to document.

#include <yaml.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/document/node.hpp"

namespace plughost {

// The reason why a text cannot be used at all.
struct YamlStop {
  Mark mark;
  std::string what;
};

// Converts positions to places in the file. Fast if each position lies shortly after the previous one.
class YamlPlaces {
 public:
  // `text` must outlive this object.
  YamlPlaces(std::string_view text, const std::string& file) : text_(text), file_(file) {
    for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n', end + 1))
      lines_.push_back(end + 1);
    const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
    ascii_ = std::ranges::all_of(text, is_ascii);
  }

  // Returns the place of the mark; at the end of the text, the place of the last text before the mark.
  Mark at(const yaml_mark_t& mark) {
    const std::size_t offset = offset_of(mark.index);
    return offset < text_.size() ? place(offset) : before(mark);
  }
  // Returns the place of the last character before the mark that is not blank.
  Mark before(const yaml_mark_t& mark) {
    const std::size_t last = text_.substr(0, offset_of(mark.index)).find_last_not_of(" \t\r\n");
    return place(last == std::string_view::npos ? 0 : last);
  }
  // Returns the place of a byte.
  Mark place(std::size_t offset) {
    while (lines_[line_] > offset) --line_;
    while (line_ + 1 < lines_.size() && lines_[line_ + 1] <= offset) ++line_;
    return {.file = file_,
            .line = static_cast<int>(line_) + 1,
            .column = static_cast<int>(offset - lines_[line_]) + 1};
  }

  // Returns the byte offset of a character, because libyaml counts characters.
  std::size_t offset_of(std::size_t character) {
    if (ascii_) return std::min(character, text_.size());
    if (character < character_) character_ = offset_ = 0;
    for (; character_ < character && offset_ < text_.size(); ++character_) {
      do ++offset_;
      while (offset_ < text_.size() && (static_cast<unsigned char>(text_[offset_]) & 0xC0) == 0x80);
    }
    return offset_;
  }

 private:
  std::string_view text_;
  FileName file_;
  std::vector<std::size_t> lines_{0};  // offsets of line starts
  std::size_t line_ = 0;               // the line of the last place
  bool ascii_ = false;
  std::size_t character_ = 0;  // the number of the character at offset_
  std::size_t offset_ = 0;
};

// Returns why libyaml stopped.
YamlStop stop_of(const yaml_parser_t& parser, std::string_view text, YamlPlaces& places);

// Returns why a list or a map is not a key.
std::string not_a_key(const Node& node);

// Finds the first character that libyaml treats as a line end, or skips, although editors do not show it so:
// text that looks like a part of a comment could be a key.
std::optional<YamlStop> find_misleading(std::string_view text, YamlPlaces& places);

}  // namespace plughost
