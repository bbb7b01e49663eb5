#pragma once
// The objects of a collection, as they are and as they change. Loop thread only.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "apiserver/api_server.hpp"
#include "apiserver/reflector.hpp"
#include "base/event_loop.hpp"
#include "text/json.hpp"

namespace plughost {

// The stream of a watch: one event in JSON per line. A value; not thread-safe.
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

// Lists, then watches, for as long as it lives; after what was missed it lists again. It keeps no object.
class ApiWatch {
 public:
  // None is called from within the constructor, and any may end the watch. Objects have no `managedFields`;
  // a number that is no integer of 64 bits is a text.
  struct Hooks {
    std::function<void(std::vector<Json> objects)>
        listed;                                // all that there are: what was known before is void
    std::function<void(Json object)> changed;  // it is new, or another
    std::function<void(Json object)> gone;     // as it was last
    std::function<void(const std::string& sentence)> trouble;  // what is known grows old; empty: that is over
  };

  // field_selector: "spec.nodeName={node}"; {node} stands for the node's name. Empty: all of them. The client
  // outlives it.
  ApiWatch(ApiClient& client, std::string collection, std::string field_selector, Hooks hooks);
  ~ApiWatch();
  ApiWatch& operator=(ApiWatch&&) = delete;

 private:
  ApiRequest::Text path(std::string query) const;
  void go_on();
  void list(const std::string& continue_token);
  void on_list(ApiAnswer answer);
  struct Page;
  void on_page(Page page);
  void follow(const Reflector::Watch& watch);
  void on_bytes(std::string_view bytes);
  void on_line(const std::string& line);
  void on_end(const ApiAnswer& answer);
  void listen();
  void fail(const ApiAnswer& fault);
  // What others see of it. The hook may end the watch.
  void note();

  ApiClient& client_;
  std::string collection_;
  std::string selector_;
  Hooks hooks_;
  Reflector reflector_;
  std::uint64_t number_ = 0;
  std::vector<Json> objects_;  // of the pages that have come
  std::size_t bytes_ = 0;      // of their texts
  bool told_list_ = false;
  std::uint64_t count_ = 0;
  std::string told_trouble_;
  WatchStream stream_;
  std::unique_ptr<ApiCall> call_;
  Timer next_;
  Timer silence_;
  Lifetime reading_;
  Lifetime in_stream_;
  Lifetime alive_;
};

}  // namespace plughost
