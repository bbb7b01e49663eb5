#include "tools/commands/command.hpp"

#include <ostream>

#include "base/document/yaml.hpp"

namespace plughost {

void print(std::ostream& out, const Json& json, OutputFormat format) {
  out << (format == OutputFormat::kYaml ? yaml_of(json) : json.dump_indented()) << '\n';
}

}  // namespace plughost
