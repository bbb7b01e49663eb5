#pragma once
// The objects of a collection, read while the API server's answer comes: of a list or of a watch. At any time
// one object's text is stored, whatever the size of the answer. Loop thread only; workers parse.

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/system/event_loop.hpp"
#include "base/text/json.hpp"
#include "kubernetes/apiserver/api_request.hpp"
#include "kubernetes/apiserver/api_server.hpp"

namespace plughost {

// Selects the objects that are read, and their fields.
struct ApiCollection {
  std::string path;      // "/api/v1/pods"
  std::string selector;  // "spec.nodeName={node}"; {node} stands for the node's name. Empty: all objects
  // "metadata.labels", "status.phase": see JsonTerms::kept. The others are dropped while parsing.
  std::vector<std::string> fields;
  std::size_t most_kept = std::size_t{64} << 10u;  // bytes of memory of one object's fields
};

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

}  // namespace plughost
