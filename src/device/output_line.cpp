#include "device/output_line.hpp"

#include "base/ascii.hpp"
#include "device/id.hpp"

namespace plughost {

namespace {

constexpr std::size_t kLongestLine = 200;
constexpr std::size_t kLongestCharacter = 4;

// text has no line's end in it.
std::string printable(std::string_view text) {
  std::string line;
  while (!text.empty() && line.size() + kLongestCharacter <= kLongestLine) {
    std::size_t length = 1;
    while (length < kLongestCharacter && !valid_utf8(text.substr(0, length))) ++length;
    const std::string_view character = text.substr(0, length);
    if (!valid_utf8(character)) {
      length = 1;
      line += '?';
    } else if (is_control(character[0])) {
      line += ' ';
    } else {
      line += character;
    }
    text.remove_prefix(length);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

std::string first_line(std::string_view output) {
  output = without_blanks(output);
  return printable(output.substr(0, output.find('\n')));
}

std::string last_line(std::string_view output) {
  output = without_blanks(output);
  return printable(without_blanks(output.substr(output.rfind('\n') + 1)));  // npos + 1 is 0
}

}  // namespace plughost
