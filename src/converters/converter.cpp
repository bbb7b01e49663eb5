#include "converters/converter.hpp"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <utility>

#include "device/template.hpp"
#include "document/fields.hpp"
#include "text/text.hpp"

namespace plughost {

YamlDraft sharing_draft(unsigned theirs) {
  YamlDraft draft = std::min(theirs, kMostSharing);
  if (theirs > kMostSharing)
    draft.notes.push_back(loss("The number was " + std::to_string(theirs) + "; plughost has at most " +
                               std::to_string(kMostSharing) + '.'));
  return draft;
}

YamlDraft gpu_entry(const char* name, const char* vendor) {
  return YamlDraft::map({{"name", name}, {"gpu", YamlDraft::map({{"vendor", vendor}})}});
}

std::string literal_name(std::string_view domain, std::string_view name) {
  return Template::escape(std::string(domain) + '/' + std::string(name));
}

std::string hardware_id(std::string_view text) {
  if (const auto id = hex_digits(text, 4)) return *id;
  return hex_digits("0x" + std::string(text), 4).value_or("");
}

std::vector<std::string> hardware_ids(const std::vector<std::string>& texts, const Node& at,
                                      const std::string& path, Diagnostics& diagnostics) {
  std::vector<std::string> ids;
  for (const std::string& text : texts) {
    ids.push_back(hardware_id(text));
    if (ids.back().empty())
      diagnostics.error(at.mark, path,
                        quote(text) + " is no id of hardware; it has four hexadecimal digits, as in 15b3");
  }
  return ids;
}

std::vector<std::string> words_between_commas(const std::string& list) {
  std::vector<std::string> all;
  std::istringstream words(list);
  for (std::string one; std::getline(words, one, ',');) all.push_back(one);
  return all;
}

void add_notes(Notes& to, Notes notes) { std::ranges::move(notes, std::back_inserter(to)); }

std::optional<std::string> setting(LenientFields& file, const char* key, Arguments& arguments,
                                   const char* flag) {
  auto from_file = file.text(key);
  auto from_flag = arguments.value(flag);
  return from_flag ? from_flag : from_file;
}

}  // namespace plughost
