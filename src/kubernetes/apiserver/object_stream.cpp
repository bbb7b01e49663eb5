#include "kubernetes/apiserver/object_stream.hpp"

#include <utility>

#include "base/text/json_splitter.hpp"

namespace plughost {
namespace {

constexpr std::string_view kNodePlace = "{node}";

// Known once the node's name is.
ApiRequest::Text path_of(const ApiCollection& collection, const std::string& query) {
  return [path = collection.path, selector = collection.selector, query](const std::string& node) {
    if (selector.empty()) return path + '?' + query;
    std::string filled = selector;
    if (const std::size_t at = filled.find(kNodePlace); at != std::string::npos)
      filled.replace(at, kNodePlace.size(), node);
    return path + '?' + query + (query.empty() ? "" : "&") + "fieldSelector=" + url_encoded(filled);
  };
}

std::vector<std::string> kept_of(const ApiCollection& collection, ApiVerb verb) {
  std::vector<std::string> kept = collection.fields;
  for (const char* const name : {"metadata.name", "metadata.namespace", "metadata.resourceVersion"})
    kept.emplace_back(name);
  if (verb == ApiVerb::kList) return kept;
  for (std::string& each : kept) each.insert(0, "object.");
  for (const char* const name : {"type", "object.code", "object.message"}) kept.emplace_back(name);
  return kept;
}

}  // namespace

struct ObjectStream::Reader {
  JsonSplitter splitter;
  std::vector<std::string> kept;
  std::size_t most_kept;
  std::vector<JsonPart> objects;  // that have been read, and not delivered yet

  void read(std::string_view bytes) {
    splitter.feed(bytes, [this](const JsonSplitter::Piece& piece) {
      JsonPart part = parse_api_part(piece.text, kept, most_kept);
      if (!piece.whole) part.error = "it has more than " + std::to_string(kMostText) + " bytes";
      objects.push_back(std::move(part));
    });
  }
};

ObjectStream::ObjectStream(ApiClient& client, const ApiCollection& collection, ApiVerb verb,
                           const std::string& query, std::chrono::milliseconds deadline, Hooks hooks)
    : client_(client),
      verb_(verb),
      hooks_(std::move(hooks)),
      reader_(std::make_shared<Reader>(Reader{
          .splitter = JsonSplitter(
              verb == ApiVerb::kList ? JsonSplitter::Form::kItems : JsonSplitter::Form::kLines, kMostText),
          .kept = kept_of(collection, verb),
          .most_kept = collection.most_kept,
          .objects = {}})) {
  call_ = client.stream({.verb = verb, .path = path_of(collection, query), .deadline = deadline},
                        {.began =
                             [this] {
                               const auto hook = hooks_.began;
                               if (hook) hook();
                             },
                         .bytes = [this](std::string_view bytes) { on_bytes(bytes); },
                         .ended = [this](ApiAnswer answer) { on_end(std::move(answer)); }});
}

ObjectStream::~ObjectStream() = default;

// The server waits while a worker reads: otherwise what it sends would pile up here.
void ObjectStream::on_bytes(std::string_view bytes) {
  if (reader_->splitter.held() + bytes.size() <= kMostInLoop) {
    reader_->read(bytes);
    return deliver();
  }
  call_->pause();
  const auto on_read = lifetime_.bound([this] {
    const auto go_on = lifetime_.bound([this] { call_->resume(); });
    deliver();
    go_on();
  });
  client_.workers().run([reader = reader_, text = std::string(bytes)] { reader->read(text); }, on_read,
                        kReadDeadline, lifetime_.bound([this] {
                          lifetime_.renew();
                          on_end({.error = "reading what the API server sent takes too long"});
                        }));
}

void ObjectStream::deliver() {
  const auto hook = hooks_.objects;
  if (!reader_->objects.empty()) hook(std::exchange(reader_->objects, {}));
}

void ObjectStream::on_end(ApiAnswer answer) {
  Json list;
  if (answer.ok() && verb_ == ApiVerb::kList) {
    const JsonSplitter::Piece& rest = reader_->splitter.rest();
    JsonPart part = parse_api_part(rest.text, {}, JsonSplitter::kBeginning * sizeof(Json::Member));
    list = std::move(part.value);
    if (!rest.whole)
      part.error = "it has more than " + std::to_string(JsonSplitter::kBeginning) + " bytes beside its items";
    if (!part.error.empty()) answer.error = "the list cannot be read: " + part.error;
  }
  const auto hook = hooks_.ended;
  hook(answer, list);
}

}  // namespace plughost
