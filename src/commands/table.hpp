#pragma once
// Text for people: a table whose columns are as wide as their widest cell.

#include <iosfwd>
#include <string>
#include <vector>

namespace plughost {

// Control characters escaped as \xNN, so that what others wrote stays on its line.
std::string printable(const std::string& text);

using TableRow = std::vector<std::string>;

// Every row has as many cells as the head. Cells are shown printable.
void print_table(std::ostream& out, const TableRow& head, const std::vector<TableRow>& rows);

}  // namespace plughost
