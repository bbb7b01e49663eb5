#pragma once
// The stream of a watch: one event in JSON per line. Pure values; not thread-safe.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/json.hpp"

namespace plughost {

class WatchStream {
 public:
  static constexpr std::size_t kMostLine = 4u << 20;

  explicit WatchStream(std::size_t most_line = kMostLine) : most_line_(most_line) {}

  // Calls with each line that is whole now, without its end; empty ones are left out. False: a line is longer
  // than most_line, and nothing may follow.
  bool feed(std::string_view bytes, const std::function<void(std::string_view line)>& take);

 private:
  std::size_t most_line_;
  std::string begun_;  // a line whose end has not come
};

struct WatchEvent {
  enum class Type { kAdded, kModified, kDeleted, kBookmark, kError };

  Type type = Type::kAdded;
  Json object;
  std::string resource_version;  // of the object
  int code = 0;                  // of kError: as HTTP's
  std::string message;           // likewise
};

// Or why the line is none, as a sentence.
std::variant<WatchEvent, std::string> parse_watch_event(std::string_view line);

}  // namespace plughost
