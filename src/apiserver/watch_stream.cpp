#include "apiserver/watch_stream.hpp"

#include <utility>

#include "apiserver/api_json.hpp"
#include "base/words.hpp"
#include "document/diagnostics.hpp"

namespace plughost {

bool WatchStream::feed(std::string_view bytes, const std::function<void(std::string_view line)>& take) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (begun_.size() + part.size() > most_line_) return false;
    begun_ += part;
    if (end == std::string_view::npos) return true;
    bytes.remove_prefix(end + 1);
    if (!begun_.empty()) take(begun_);
    begun_.clear();
  }
  return true;
}

std::variant<WatchEvent, std::string> parse_watch_event(std::string_view line) {
  using Type = WatchEvent::Type;
  static constexpr Word<Type> kTypes[] = {{"ADDED", Type::kAdded},
                                          {"MODIFIED", Type::kModified},
                                          {"DELETED", Type::kDeleted},
                                          {"BOOKMARK", Type::kBookmark},
                                          {"ERROR", Type::kError}};
  auto parsed = parse_api_json(line);
  if (const auto* const trouble = std::get_if<std::string>(&parsed))
    return "an event of the watch cannot be read: " + *trouble;
  Json& json = std::get<Json>(parsed);
  const std::string& word = std::as_const(json)["type"].text();
  const auto type = value_of(kTypes, word);
  if (!type) return "an event of the watch is of the type " + quote(word);
  if (std::as_const(json)["object"].object().empty()) return "an event of the watch has no object";
  WatchEvent event{.type = *type, .object = std::move(json["object"])};
  const Json& object = event.object;
  event.resource_version = object["metadata"]["resourceVersion"].text();
  if (*type == Type::kError) {
    event.code = static_cast<int>(object["code"].number());
    event.message = object["message"].text();
  }
  return event;
}

}  // namespace plughost
