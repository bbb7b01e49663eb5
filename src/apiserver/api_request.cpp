#include "apiserver/api_request.hpp"

#include "base/ascii.hpp"
#include "base/words.hpp"

namespace plughost {

std::string_view word_of(ApiVerb verb) {
  static constexpr Word<ApiVerb> kVerbs[] = {{"get", ApiVerb::kGet},       {"list", ApiVerb::kList},
                                             {"watch", ApiVerb::kWatch},   {"create", ApiVerb::kCreate},
                                             {"update", ApiVerb::kUpdate}, {"patch", ApiVerb::kPatch},
                                             {"delete", ApiVerb::kDelete}};
  return word_of(kVerbs, verb);
}

std::string url_encoded(std::string_view text) {
  static constexpr std::string_view kPlain = "-._~";
  std::string encoded;
  for (const char c : text) {
    if (is_letter_or_digit(c) || kPlain.find(c) != std::string_view::npos)
      encoded += c;
    else
      encoded += '%' + upper_hex(c);
  }
  return encoded;
}

}  // namespace plughost
