#pragma once
// The objects of a collection, as they are and as they change. Loop thread only.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/system/event_loop.hpp"
#include "base/text/json.hpp"
#include "kubernetes/apiserver/api_request.hpp"
#include "kubernetes/apiserver/api_server.hpp"
#include "kubernetes/apiserver/reflector.hpp"

namespace plughost {

// Selects the objects that are read, and their fields.
struct ApiCollection {
  std::string path;      // "/api/v1/pods"
  std::string selector;  // "spec.nodeName={node}"; {node} stands for the node's name. Empty: all objects
  // "metadata.labels", "status.phase": see JsonTerms::kept. The others are dropped while parsing.
  std::vector<std::string> fields;
  std::size_t most_kept = std::size_t{64} << 10u;  // bytes of memory of one object's fields
};

// The objects of a collection, read while the API server's answer comes: of a list or of a watch. At any time
// one object's text is stored, whatever the size of the answer. Loop thread only; workers parse.
class ObjectStream {
 public:
  // Bytes of one object's text, without strings that are too long to be of interest (JsonSplitter).
  static constexpr std::size_t kMostText = std::size_t{4} << 20u;
  // Events of no more bytes are parsed in the loop, which takes less than a millisecond.
  static constexpr std::size_t kMostInLoop = std::size_t{16} << 10u;
  static constexpr std::chrono::seconds kReadDeadline{30};

  // None is called from within the constructor, and any may end the stream.
  struct Hooks {
    std::function<void()> began;
    // In their order: a list's objects, or a watch's events. Each has `metadata.name`, `metadata.namespace`,
    // `metadata.resourceVersion` and the collection's fields, unless JsonPart::error says why it is not
    // whole.
    std::function<void(std::vector<JsonPart> objects)> objects;
    // list: what else a list has; null for a watch and a failure.
    std::function<void(const ApiAnswer& answer, const Json& list)> ended;
  };

  // verb: kList or kWatch. query: "limit=500". deadline: of a list; of a watch, until it begins. client must
  // outlive the stream.
  ObjectStream(ApiClient& client, const ApiCollection& collection, ApiVerb verb, const std::string& query,
               std::chrono::milliseconds deadline, Hooks hooks);
  ~ObjectStream();
  ObjectStream& operator=(ObjectStream&&) = delete;

 private:
  struct Reader;

  void on_bytes(std::string_view bytes);
  void deliver();
  void on_end(ApiAnswer answer);

  ApiClient& client_;
  ApiVerb verb_;
  Hooks hooks_;
  std::shared_ptr<Reader> reader_;  // a worker's, while the call is paused
  std::unique_ptr<ApiCall> call_;
  Lifetime lifetime_;
};

struct WatchEvent {
  enum class Type { kAdded, kModified, kDeleted, kBookmark, kError };

  Type type = Type::kAdded;
  Json object;
  std::string resource_version;  // of the object
  int code = 0;                  // of kError: as HTTP's
  std::string message;           // likewise
  std::string error;             // why the object is not whole; it has a name
};

// Returns the event in a line of a watch, or a sentence that says why the line has none.
std::variant<WatchEvent, std::string> watch_event_of(JsonPart line);

// Lists, then watches, for as long as it lives; after what was missed it lists again. Once a list is complete
// it keeps no object. An object that is too large is left out, with a warning that names it.
class ApiWatch {
 public:
  // Bytes of memory of a list's objects; those that come after are left out.
  static constexpr std::size_t kMostKept = std::size_t{16} << 20u;
  // Each of 500 objects: a server that always has one more page has no list.
  static constexpr unsigned kMostPages = 1000;
  // So many objects are named in the log.
  static constexpr std::size_t kMostNamed = 100;

  // None is called from within the constructor, and any may end the watch. Objects have the collection's
  // fields, and those that ObjectStream adds; a number that is no integer of 64 bits is a text.
  struct Hooks {
    std::function<void(std::vector<Json> objects)>
        listed;                                // all that there are: what was known before is void
    std::function<void(Json object)> changed;  // it is new, or another
    std::function<void(Json object)> gone;     // as it was last
    std::function<void(const std::string& sentence)> error;  // what is known grows old; empty: that is over
  };

  // client must outlive the watch.
  ApiWatch(ApiClient& client, ApiCollection collection, Hooks hooks);
  ~ApiWatch();
  ApiWatch& operator=(ApiWatch&&) = delete;

 private:
  void go_on();
  void list(const std::string& continue_token);
  void on_objects(std::vector<JsonPart> objects);
  void on_page(const ApiAnswer& answer, const Json& page);
  void follow(const Reflector::Watch& watch);
  void on_lines(std::vector<JsonPart> lines);
  void on_line(JsonPart line);
  void on_end(const ApiAnswer& answer);
  void leave_out(const Json& object, const std::string& why);
  void listen();
  void fail(const ApiAnswer& fault);
  // Ends what is under way; the next step follows from the loop.
  void go_on_anew();
  // What others see of it. The hook may end the watch.
  void publish_state();

  ApiClient& client_;
  ApiCollection collection_;
  Hooks hooks_;
  Reflector reflector_;
  std::uint64_t number_ = 0;
  std::vector<Json> objects_;  // of the pages that have come
  std::size_t bytes_ = 0;      // of memory: theirs
  unsigned pages_ = 0;
  std::set<std::string> left_out_;  // the objects that the log names
  bool told_list_ = false;
  std::uint64_t count_ = 0;
  std::string told_error_;
  std::unique_ptr<ObjectStream> stream_;
  Timer next_;
  Timer lived_;
  Timer silence_;
  Lifetime in_stream_;
  Lifetime alive_;
};

}  // namespace plughost
