#pragma once
// A table for people: columns as wide as their widest cell.

#include <iosfwd>
#include <string>
#include <vector>

namespace plughost {

using TableRow = std::vector<std::string>;

// Every row has as many cells as the head. Control characters are shown escaped, so that one row is one line.
void print_table(std::ostream& out, const TableRow& head, const std::vector<TableRow>& rows);

}  // namespace plughost
