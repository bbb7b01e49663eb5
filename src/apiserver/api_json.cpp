#include "apiserver/api_json.hpp"

#include <stdexcept>

namespace plughost {

std::variant<Json, std::string> parse_api_json(std::string_view text, std::size_t most_values) {
  try {
    return Json::parse(
        text, {.most_values = most_values, .left_out = "managedFields", .other_numbers_as_text = true});
  } catch (const std::runtime_error& error) {
    return std::string(error.what());
  }
}

}  // namespace plughost
