#include "base/table.hpp"

#include <algorithm>
#include <ostream>

#include "base/text.hpp"

namespace plughost {
namespace {

// In characters, not bytes: UTF-8's continuation bytes take no room.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

std::string id_text(const std::string& id, unsigned replicas) {
  return replicas > 1 ? id + " (x" + std::to_string(replicas) + ")" : id;
}

std::string health_text(const std::string& trouble) {
  return trouble.empty() ? "Healthy" : "Unhealthy: " + trouble;
}

void print_table(std::ostream& out, const TableRow& head, const std::vector<TableRow>& rows) {
  std::vector<TableRow> all{head};
  for (const TableRow& row : rows) {
    TableRow& shown = all.emplace_back();
    for (const std::string& cell : row) shown.push_back(cell.empty() ? "-" : printable(cell));
  }
  std::vector<std::size_t> widths(head.size(), 0);
  for (const TableRow& row : all) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  for (const TableRow& row : all) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      out << row[i];
      if (i + 1 < row.size()) out << std::string(widths[i] - width(row[i]) + 2, ' ');
    }
    out << '\n';
  }
}

}  // namespace plughost
