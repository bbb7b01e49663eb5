#include "programs/output_line.hpp"

#include <algorithm>

#include "text/text.hpp"

namespace plughost {
namespace {

constexpr std::size_t kLongestLine = 200;
constexpr std::size_t kLongestCharacter = 4;

constexpr std::string_view kBlank = " \t\r\n";

// text has no line's end in it.
std::string shown(std::string_view text) {
  std::string line;
  while (!text.empty() && line.size() + kLongestCharacter <= kLongestLine) {
    const auto [code, length] = first_character(text);
    if (length == 0)
      line += '?';
    else if (is_unsafe(code))
      line += ' ';
    else
      line += text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

std::string first_line(std::string_view output) {
  output.remove_prefix(std::min(output.find_first_not_of(kBlank), output.size()));
  return shown(output.substr(0, output.find('\n')));
}

std::string last_line(std::string_view output) {
  output = output.substr(0, output.find_last_not_of(kBlank) + 1);
  output.remove_prefix(output.rfind('\n') + 1);  // npos + 1 is 0
  return shown(output.substr(std::min(output.find_first_not_of(kBlank), output.size())));
}

}  // namespace plughost
