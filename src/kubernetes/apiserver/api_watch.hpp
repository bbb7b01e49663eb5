#pragma once
// The objects of a collection and their changes. Loop thread only.

#include <chrono>
#include <cstddef>
#include <cstdint>
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

// Selects objects and fields.
struct ApiCollection {
  std::string path;      // "/api/v1/pods"
  std::string selector;  // "spec.nodeName={node}", where {node} is the node's name. Empty: all objects
  // "metadata.labels", "status.phase": see JsonTerms::kept. Other fields are dropped while parsing.
  std::vector<std::string> fields;
  std::size_t most_kept = std::size_t{64} << 10u;  // limit for the memory of one object's fields, in bytes
};

// Reads the objects of a list or a watch while the answer arrives. Stores the text of one object at a time,
// regardless of the answer's size. Loop thread only; workers parse.
class ObjectStream : ApiClient::StreamReader {
 public:
  // Bytes of one object's text, without overlong strings (see JsonSplitter).
  static constexpr std::size_t kMostText = std::size_t{4} << 20u;
  // Smaller events are parsed in the loop, which takes less than a millisecond.
  static constexpr std::size_t kMostInLoop = std::size_t{16} << 10u;
  static constexpr std::chrono::seconds kReadDeadline{30};

  // No function is called from within the stream's constructor, and each may destroy the stream.
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void on_begin() {}
    // Called with the objects of a list, or the events of a watch, in their order. Each object has
    // `metadata.name`, `metadata.namespace`, `metadata.resourceVersion` and the collection's fields. An
    // object is incomplete if JsonPart::error gives a reason.
    virtual void on_objects(std::vector<JsonPart> objects) = 0;
    // `list` has the other members of a list; it is null for a watch and on failure.
    virtual void on_end(const ApiAnswer& answer, const Json& list) = 0;
  };

  // `verb` is kList or kWatch. An example of `query` is "limit=500". `deadline` applies to a whole list, or
  // to the beginning of a watch. `client` and `owner` must outlive the stream.
  ObjectStream(ApiClient& client, const ApiCollection& collection, ApiVerb verb, const std::string& query,
               std::chrono::milliseconds deadline, Owner& owner);
  ~ObjectStream() override;
  ObjectStream& operator=(ObjectStream&&) = delete;

  ApiVerb verb() const { return verb_; }

 private:
  struct Reader;

  void on_begin() override { owner_.on_begin(); }
  void on_bytes(std::string_view bytes) override;
  void on_end(ApiAnswer answer) override;
  void deliver();

  ApiClient& client_;
  ApiVerb verb_;
  Owner& owner_;
  std::shared_ptr<Reader> reader_;  // used by a worker while the call is paused
  std::unique_ptr<ApiCall> call_;
  Lifetime lifetime_;
};

struct WatchEvent {
  enum class Type { kAdded, kModified, kDeleted, kBookmark, kError };

  Type type = Type::kAdded;
  Json object;
  std::string resource_version;  // of the object
  int code = 0;                  // for kError: HTTP status
  std::string message;           // for kError
  std::string error;             // why the object is incomplete, though it has a name; empty: complete
};

// Returns the event in a line of a watch, or why there is none, as a sentence.
std::variant<WatchEvent, std::string> watch_event_of(JsonPart line);

// Lists and then watches a collection, and lists again after missed events. Keeps no object once a list is
// complete. An object that is too large is left out, with a warning that names it.
class ApiWatch : ObjectStream::Owner {
 public:
  // The limit for the memory of a list's objects; the rest is left out.
  static constexpr std::size_t kMostKept = std::size_t{16} << 20u;
  // The maximum number of pages of a list (500 objects each), against a server that always names a next page.
  static constexpr unsigned kMostPages = 1000;
  // The maximum number of objects that are named in the log.
  static constexpr std::size_t kMostNamed = 100;

  // No function is called from within the watch's constructor, and each may destroy the watch. Objects have
  // the collection's fields and those that ObjectStream adds. Numbers other than 64-bit integers are texts.
  class Owner {
   public:
    virtual ~Owner() = default;
    // Called with all present objects, which replace everything known before.
    virtual void on_list(std::vector<Json> objects) = 0;
    // Called with a new or modified object.
    virtual void on_change(Json object) = 0;
    // Called with the last state of an object that is gone.
    virtual void on_gone(Json object) = 0;
    // Called when the known objects are outdated, with the reason as a sentence; empty: no longer outdated.
    virtual void on_error(const std::string& sentence) = 0;
  };

  // `client` and `owner` must outlive the watch.
  ApiWatch(ApiClient& client, ApiCollection collection, Owner& owner);
  ~ApiWatch() override;
  ApiWatch& operator=(ApiWatch&&) = delete;

 private:
  void go_on();
  void list(const std::string& continue_token);
  void follow(const Reflector::Watch& watch);
  void open(ApiVerb verb, const std::string& query, std::chrono::milliseconds deadline);
  void on_begin() override;
  void on_objects(std::vector<JsonPart> objects) override;
  void on_end(const ApiAnswer& answer, const Json& page) override;
  void add(std::vector<JsonPart> objects);
  void on_page(const Json& page);
  void on_lines(std::vector<JsonPart> lines);
  void on_line(JsonPart line);
  void leave_out(const Json& object, const std::string& why);
  void listen();
  void fail(const ApiAnswer& fault);
  // Ends the present request; the next step follows from the loop.
  void go_on_anew();
  // Publishes the state. The owner may destroy the watch.
  void publish_state();

  ApiClient& client_;
  ApiCollection collection_;
  Owner& owner_;
  Reflector reflector_;
  std::uint64_t number_ = 0;
  std::vector<Json> objects_;  // of the pages so far
  std::size_t bytes_ = 0;      // the memory of objects_
  unsigned pages_ = 0;
  std::set<std::string> left_out_;  // objects that have been logged
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
