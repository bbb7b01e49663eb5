#include "kubernetes/apiserver/api_request.hpp"

#include <limits>

#include "base/text/ascii.hpp"
#include "base/text/text.hpp"
#include "base/text/words.hpp"

namespace plughost {
namespace {

constexpr std::size_t kMostJsonValues = 1'000'000;
constexpr std::size_t kMostMessage = 300;
constexpr std::size_t kMostPath = 200;

std::string_view name_of(int code) {
  static constexpr Word<int> kNames[] = {{"Bad Request", 400},
                                         {"Unauthorized", 401},
                                         {"Forbidden", 403},
                                         {"Not Found", 404},
                                         {"Method Not Allowed", 405},
                                         {"Conflict", 409},
                                         {"Gone", 410},
                                         {"Request Entity Too Large", 413},
                                         {"Unsupported Media Type", 415},
                                         {"Unprocessable Entity", 422},
                                         {"Too Many Requests", 429},
                                         {"Internal Server Error", 500},
                                         {"Service Unavailable", 503},
                                         {"Gateway Timeout", 504}};
  return word_of(kNames, code);
}

// Returns a single line; keeps the valid part of invalid UTF-8.
std::string cut(std::string_view text, std::size_t most) {
  const std::string_view begin = whole_characters(text, most);
  return printable(begin) + (begin.size() < text.size() ? "…" : "");
}

}  // namespace

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

std::variant<Json, std::string> parse_api_json(std::string_view text) {
  JsonPart part = parse_api_part(text, {}, std::numeric_limits<std::size_t>::max());
  if (!part.error.empty()) return std::move(part.error);
  return std::move(part.value);
}

JsonPart parse_api_part(std::string_view text, std::span<const std::string> kept, std::size_t most_kept) {
  return parse_json_part(text, {.most_values = kMostJsonValues,
                                .left_out = "managedFields",
                                .other_numbers_as_text = true,
                                .kept = kept,
                                .most_kept = most_kept});
}

std::string refusal_text(int code, std::string_view body) {
  std::string text = std::to_string(code);
  if (const std::string_view name = name_of(code); !name.empty()) text += ' ' + std::string(name);
  // A body that is not a Status comes from a proxy, and its first line is the most informative.
  std::string message(body.substr(0, body.find_first_of("\r\n")));
  const auto parsed = parse_api_json(body);
  if (const auto* const json = std::get_if<Json>(&parsed)) message = (*json)["message"].text();
  if (!message.empty()) text += ": " + cut(message, kMostMessage);
  return text;
}

std::string wanted_text(ApiVerb verb, std::string_view path) {
  const std::string_view plain = path.substr(0, path.find('?'));
  return "to " + std::string(word_of(verb)) + (plain.empty() ? "" : ' ' + cut(plain, kMostPath));
}

}  // namespace plughost
