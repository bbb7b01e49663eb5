#pragma once
// Text for people: a table whose columns are as wide as their widest cell.

#include <iosfwd>
#include <string>
#include <type_traits>
#include <vector>

namespace plughost {

// Control characters escaped as \xNN, so that what others wrote stays on its line.
std::string printable(const std::string& text);

using TableRow = std::vector<std::string>;

// Words or numbers in one cell.
template <typename Range>
std::string joined(const Range& words, const char* between) {
  std::string text;
  for (const auto& word : words) {
    if (!text.empty()) text += between;
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(word)>>)
      text += std::to_string(word);
    else
      text += word;
  }
  return text;
}

// "gpu-0", and "gpu-0 (x4)" of one that is offered four times.
std::string id_text(const std::string& id, unsigned replicas);
// "Healthy", or "Unhealthy" with the reason.
std::string health_text(const std::string& trouble);

// Every row has as many cells as the head. Cells are shown printable.
void print_table(std::ostream& out, const TableRow& head, const std::vector<TableRow>& rows);

}  // namespace plughost
