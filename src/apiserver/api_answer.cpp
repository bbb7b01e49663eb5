#include "apiserver/api_answer.hpp"

#include <array>
#include <utility>

#include "apiserver/api_json.hpp"
#include "base/text.hpp"

namespace plughost {
namespace {

constexpr std::size_t kMostMessage = 300;
constexpr std::size_t kMostPath = 200;

std::string_view name_of(int code) {
  static constexpr std::array<std::pair<int, std::string_view>, 14> kNames{{{400, "Bad Request"},
                                                                            {401, "Unauthorized"},
                                                                            {403, "Forbidden"},
                                                                            {404, "Not Found"},
                                                                            {405, "Method Not Allowed"},
                                                                            {409, "Conflict"},
                                                                            {410, "Gone"},
                                                                            {413, "Request Entity Too Large"},
                                                                            {415, "Unsupported Media Type"},
                                                                            {422, "Unprocessable Entity"},
                                                                            {429, "Too Many Requests"},
                                                                            {500, "Internal Server Error"},
                                                                            {503, "Service Unavailable"},
                                                                            {504, "Gateway Timeout"}}};
  for (const auto& [known, name] : kNames) {
    if (known == code) return name;
  }
  return {};
}

// On one line; of what is no UTF-8 as much as is.
std::string cut(std::string_view text, std::size_t most) {
  const std::string_view begin = whole_characters(text, most);
  return printable(begin) + (begin.size() < text.size() ? "…" : "");
}

}  // namespace

std::string refusal_text(int code, std::string_view body) {
  std::string text = std::to_string(code);
  if (const std::string_view name = name_of(code); !name.empty()) text += ' ' + std::string(name);
  // What is no Status is some proxy's page, of which the first line says most.
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
