// plughost schema and explain: what a configuration may contain, for editors and for people.

#include "config/schema.hpp"

#include <iostream>

#include "tools/commands/command.hpp"

namespace plughost {

int schema(const SchemaOptions& /*options*/) {
  std::cout << config_schema().dump_indented() << '\n';
  return 0;
}

int explain(const ExplainOptions& options) {
  const std::optional<std::string> text = explain_key(options.key);
  if (text)
    std::cout << *text;
  else
    std::cerr << "there is no key " << options.key
              << "; name it as in `plughost explain resources.gpu.unit`, or no key for the top level\n";
  return text ? 0 : 1;
}

}  // namespace plughost
