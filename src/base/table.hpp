#pragma once
// Text for people: a table whose columns are as wide as their widest cell.

#include <iosfwd>
#include <string>
#include <vector>

namespace plughost {

using TableRow = std::vector<std::string>;

// "gpu-0", and "gpu-0 (x4)" of one that is offered four times.
std::string id_text(const std::string& id, unsigned replicas);
// "Healthy", or "Unhealthy" with the reason.
std::string health_text(const std::string& trouble);

// Every row has as many cells as the head. Cells are shown printable.
void print_table(std::ostream& out, const TableRow& head, const std::vector<TableRow>& rows);

}  // namespace plughost
