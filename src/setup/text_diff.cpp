#include "setup/text_diff.hpp"

#include <algorithm>
#include <sstream>
#include <vector>

namespace plughost {
namespace {

using Lines = std::vector<std::string>;

Lines lines_of(const std::optional<std::string>& text) {
  Lines lines;
  std::istringstream stream(text.value_or(""));
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  if (text && !text->empty() && !text->ends_with('\n')) lines.back() += "\n\\ No newline at end of file";
  return lines;
}

// How many lines the longest common subsequence of the two ends has, from each pair of places on.
std::vector<std::vector<std::size_t>> common(const Lines& before, const Lines& after) {
  std::vector<std::vector<std::size_t>> longest(before.size() + 1,
                                                std::vector<std::size_t>(after.size() + 1));
  for (std::size_t i = before.size(); i-- > 0;) {
    for (std::size_t j = after.size(); j-- > 0;)
      longest[i][j] =
          before[i] == after[j] ? longest[i + 1][j + 1] + 1 : std::max(longest[i + 1][j], longest[i][j + 1]);
  }
  return longest;
}

// "1,3"; of no line "0,0".
std::string range_of(const Lines& lines) {
  return (lines.empty() ? "0," : "1,") + std::to_string(lines.size());
}

}  // namespace

std::string text_diff(const std::string& path, const std::optional<std::string>& before,
                      const std::optional<std::string>& after) {
  if (before == after) return {};
  const Lines from = lines_of(before);
  const Lines to = lines_of(after);
  const auto longest = common(from, to);
  std::string text = "--- " + (before ? "a" + path : "/dev/null") + "\n+++ " +
                     (after ? "b" + path : "/dev/null") + "\n@@ -" + range_of(from) + " +" + range_of(to) +
                     " @@\n";
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < from.size() || j < to.size()) {
    if (i < from.size() && j < to.size() && from[i] == to[j]) {
      text += ' ' + from[i++] + '\n';
      ++j;
    } else if (i < from.size() && (j == to.size() || longest[i + 1][j] >= longest[i][j + 1])) {
      text += '-' + from[i++] + '\n';
    } else {
      text += '+' + to[j++] + '\n';
    }
  }
  return text;
}

}  // namespace plughost
