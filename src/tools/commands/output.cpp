#include "tools/commands/command.hpp"

#include <ostream>

#include "base/document/yaml.hpp"

namespace plughost {

void print(std::ostream& out, const Json& json, OutputFormat format) {
  out << (format == OutputFormat::kYaml ? yaml_of(json) : json.dump_indented()) << '\n';
}

Colour colour_of(std::string_view cell) {
  if (cell.starts_with("Unhealthy") || cell == "not scanned") return Colour::kRed;
  if (cell.starts_with("Healthy") || cell == "attached") return Colour::kGreen;
  return cell == "no devices" || cell == "failed" ? Colour::kYellow : Colour::kNone;
}

}  // namespace plughost
