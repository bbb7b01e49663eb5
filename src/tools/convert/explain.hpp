#pragma once
// Explains a conversion: where each resource comes from, and what became of each key. Internal to convert.

#include <string>
#include <vector>

#include "tools/convert/converters/converter.hpp"

namespace plughost {

inline constexpr const char* kNoMeaning = "no meaning here";
// Returns "a, b, c, d, e and 2 more".
std::string first_of(const std::vector<std::string>& texts);
// Returns the place of the configuration, or of what starts the plugin.
std::string place_of(const FoundPlugin& found);
// Returns what starts the plugin, or "--args".
std::string starter_of(const FoundPlugin& found);

// Adds an explanation of each key, flag, variable and chart value to the draft, as "PLACE: KEY: what became
// of it". Sets the origins of the entries that have none.
void explain(const FoundPlugin& found, const std::vector<Arguments::Fate>& fates, const Reading& reading,
             ConfigDraft& draft);
// Adds where each entry comes from.
void explain_entries(const ConfigDraft& draft, std::vector<std::string>& explanations);

}  // namespace plughost
