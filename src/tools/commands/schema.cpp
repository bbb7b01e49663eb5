// plughost schema and explain: what a configuration may contain, for editors and for people.

#include "config/schema.hpp"

#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "base/text/text.hpp"
#include "tools/commands/command.hpp"

namespace plughost {

int schema(const SchemaOptions& /*options*/) {
  std::cout << config_schema().dump_indented() << '\n';
  return 0;
}

int explain(const ExplainOptions& options) {
  if (const std::optional<std::string> text = explain_key(options.key)) {
    std::cout << *text;
    return 0;
  }
  std::cerr << "there is no key " << options.key;
  const std::string last = options.key.substr(options.key.rfind('.') + 1);
  std::vector<std::string> places;
  for (const std::string& place : places_of(last))
    places.push_back(place.empty() ? last : place + '.' + last);
  const std::string known = without_brackets(joined(places, ", "));
  if (known.empty())
    std::cerr << "; `plughost explain` without a key lists those of the top level\n";
  else
    std::cerr << "; there is " << known << '\n';
  return 1;
}

}  // namespace plughost
