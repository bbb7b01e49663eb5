#include "kubernetes/apiserver/api_watch.hpp"

#include <random>
#include <utility>

#include "base/document/diagnostics.hpp"
#include "base/text/json.hpp"
#include "base/text/text.hpp"
#include "base/text/words.hpp"
#include "kubernetes/apiserver/api_request.hpp"

namespace plughost {
namespace {

constexpr std::string_view kNodePlace = "{node}";

// Returns the path, which depends on the node's name.
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
  std::vector<JsonPart> objects;  // parsed and not delivered yet

  void read(std::string_view bytes) {
    splitter.feed(bytes, [this](const JsonSplitter::Piece& piece) {
      JsonPart part = parse_api_part(piece.text, kept, most_kept);
      if (!piece.whole) part.error = "it has more than " + std::to_string(kMostText) + " bytes";
      objects.push_back(std::move(part));
    });
  }
};

ObjectStream::ObjectStream(ApiClient& client, const ApiCollection& collection, ApiVerb verb,
                           const std::string& query, std::chrono::milliseconds deadline, Owner& owner)
    : client_(client),
      verb_(verb),
      owner_(owner),
      reader_(std::make_shared<Reader>(Reader{
          .splitter = JsonSplitter(
              verb == ApiVerb::kList ? JsonSplitter::Form::kItems : JsonSplitter::Form::kLines, kMostText),
          .kept = kept_of(collection, verb),
          .most_kept = collection.most_kept,
          .objects = {}})) {
  call_ = client.stream({.verb = verb, .path = path_of(collection, query), .deadline = deadline}, *this);
}

ObjectStream::~ObjectStream() = default;

// Pauses the server while a worker parses, so that data does not accumulate here.
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
  if (!reader_->objects.empty()) owner_.on_objects(std::exchange(reader_->objects, {}));
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
  owner_.on_end(answer, list);
}

namespace {

constexpr unsigned kPage = 500;  // objects
constexpr std::chrono::seconds kListDeadline{60};
constexpr std::chrono::seconds kWatchDeadline{10};  // until it begins

}  // namespace

std::variant<WatchEvent, std::string> watch_event_of(JsonPart line) {
  using Type = WatchEvent::Type;
  static constexpr Word<Type> kTypes[] = {{"ADDED", Type::kAdded},
                                          {"MODIFIED", Type::kModified},
                                          {"DELETED", Type::kDeleted},
                                          {"BOOKMARK", Type::kBookmark},
                                          {"ERROR", Type::kError}};
  const Json& json = line.value;
  if (!line.error.empty() && json["object"]["metadata"]["name"].text().empty())
    return "an event of the watch cannot be read: " + line.error;
  const std::string& word = json["type"].text();
  const auto type = value_of(kTypes, word);
  if (!type) return "an event of the watch is of the type " + quote(word);
  if (json["object"].object().empty()) return "an event of the watch has no object";
  WatchEvent event{.type = *type, .object = std::move(line.value["object"]), .error = std::move(line.error)};
  const Json& object = event.object;
  event.resource_version = object["metadata"]["resourceVersion"].text();
  if (*type == Type::kError) {
    event.code = static_cast<int>(object["code"].number());
    event.message = object["message"].text();
  }
  return event;
}

ApiWatch::ApiWatch(ApiClient& client, ApiCollection collection, Owner& owner)
    : client_(client),
      collection_(std::move(collection)),
      owner_(owner),
      reflector_(std::random_device()(), client.options_.silence),
      next_(client.loop(), [this] { go_on(); }),
      lived_(client.loop(),
             [this] {
               reflector_.lived(EventLoop::Clock::now());
               publish_state();
             }),
      silence_(client.loop(), [this] {
        fail({.error = "the watch of " + collection_.path + " has sent nothing for too long"});
      }) {
  number_ = client_.tally().watch(0, {.collection = collection_.path});
  next_.arm(std::chrono::milliseconds(0));
}

ApiWatch::~ApiWatch() { client_.tally().forget(number_); }

void ApiWatch::go_on() {
  const Reflector::Step step = reflector_.next(EventLoop::Clock::now());
  if (const auto* const wait = std::get_if<Reflector::Wait>(&step)) next_.arm_at(wait->until);
  if (const auto* const page = std::get_if<Reflector::List>(&step)) list(page->continue_token);
  if (const auto* const watch = std::get_if<Reflector::Watch>(&step)) follow(*watch);
}

void ApiWatch::list(const std::string& continue_token) {
  if (continue_token.empty()) {
    objects_.clear();
    bytes_ = 0;
    pages_ = 0;
  }
  if (++pages_ > kMostPages) {
    return fail({.error = "the list of " + collection_.path + " has more than " + std::to_string(kMostPages) +
                          " pages"});
  }
  std::string query = "limit=" + std::to_string(kPage);
  if (!continue_token.empty()) query += "&continue=" + url_encoded(continue_token);
  open(ApiVerb::kList, query, kListDeadline);
}

void ApiWatch::open(ApiVerb verb, const std::string& query, std::chrono::milliseconds deadline) {
  ObjectStream::Owner& owner = *this;
  stream_ = std::make_unique<ObjectStream>(client_, collection_, verb, query, deadline, owner);
}

void ApiWatch::on_begin() {
  if (stream_->verb() == ApiVerb::kList) return;
  reflector_.began(EventLoop::Clock::now());
  lived_.arm(Reflector::kLived);
  publish_state();
}

void ApiWatch::on_objects(std::vector<JsonPart> objects) {
  if (stream_->verb() == ApiVerb::kList) return add(std::move(objects));
  on_lines(std::move(objects));
}

void ApiWatch::on_end(const ApiAnswer& answer, const Json& page) {
  if (!answer.ok()) return fail(answer);
  if (stream_->verb() == ApiVerb::kList) return on_page(page);
  reflector_.ended(EventLoop::Clock::now());
  go_on_anew();
}

void ApiWatch::add(std::vector<JsonPart> objects) {
  for (JsonPart& object : objects) {
    if (object.error.empty() && bytes_ + object.bytes > kMostKept)
      object.error = "the objects before it take " + std::to_string(kMostKept) + " bytes";
    if (!object.error.empty()) {
      leave_out(object.value, object.error);
      continue;
    }
    bytes_ += object.bytes;
    objects_.push_back(std::move(object.value));
  }
}

void ApiWatch::on_page(const Json& page) {
  const std::string& version = page["metadata"]["resourceVersion"].text();
  const std::string& more = page["metadata"]["continue"].text();
  if (version.empty()) return fail({.error = "what came is no list: it has no resourceVersion"});
  reflector_.page(version, more, EventLoop::Clock::now());
  next_.arm(std::chrono::milliseconds(0));
  const bool is_last = more.empty();
  stream_.reset();
  if (!is_last) return;
  told_list_ = true;
  count_ = objects_.size();
  const auto alive = alive_.bound([this] { publish_state(); });
  owner_.on_list(std::exchange(objects_, {}));
  alive();
}

void ApiWatch::follow(const Reflector::Watch& watch) {
  const std::string query =
      "watch=true&allowWatchBookmarks=true&resourceVersion=" + url_encoded(watch.resource_version) +
      "&timeoutSeconds=" + std::to_string(watch.timeout.count());
  open(ApiVerb::kWatch, query, kWatchDeadline);
  listen();
}

void ApiWatch::on_lines(std::vector<JsonPart> lines) {
  // The handling of an event may end the stream, or destroy the watch.
  const auto take = in_stream_.bound([this](JsonPart line) { on_line(std::move(line)); });
  const auto finish = in_stream_.bound([this] {
    listen();
    publish_state();
  });
  for (JsonPart& line : lines) take(std::move(line));
  finish();
}

void ApiWatch::on_line(JsonPart line) {
  auto parsed = watch_event_of(std::move(line));
  if (auto* const why = std::get_if<std::string>(&parsed)) {
    reflector_.relist();
    return fail({.error = std::move(*why)});
  }
  WatchEvent& event = std::get<WatchEvent>(parsed);
  using Type = WatchEvent::Type;
  if (event.type == Type::kError) {
    return fail({.code = event.code,
                 .error = "the watch of " + collection_.path + " has ended: " + printable(event.message)});
  }
  reflector_.event(event.resource_version, EventLoop::Clock::now());
  if (event.type == Type::kAdded) ++count_;
  if (event.type == Type::kDeleted && count_ > 0) --count_;
  // An object that has become too large counts as gone, because its former fields are outdated.
  const bool is_left_out = !event.error.empty() && event.type != Type::kDeleted;
  if (is_left_out) leave_out(event.object, event.error);
  if (event.type == Type::kBookmark) return;
  if (is_left_out || event.type == Type::kDeleted) return owner_.on_gone(std::move(event.object));
  owner_.on_change(std::move(event.object));
}

void ApiWatch::leave_out(const Json& object, const std::string& why) {
  const Json& metadata = object["metadata"];
  std::string name = metadata["name"].text();
  if (const std::string& name_space = metadata["namespace"].text(); !name_space.empty())
    name = name_space + '/' + name;
  if (name.empty()) name = "(its beginning has no name)";
  if (left_out_.size() == kMostNamed || !left_out_.insert(name).second) return;
  client_.log_.warn("object of the API server left out: make it smaller, or delete it",
                    {{"collection", collection_.path}, {"object", printable(name)}, {"why", why}});
}

void ApiWatch::listen() {
  if (const auto at = reflector_.silent_at()) silence_.arm_at(*at);
}

void ApiWatch::fail(const ApiAnswer& fault) {
  reflector_.failed(fault, EventLoop::Clock::now());  // before the call is destroyed, which may own `fault`
  in_stream_.renew();
  go_on_anew();
}

void ApiWatch::go_on_anew() {
  stream_.reset();
  silence_.cancel();
  next_.arm(std::chrono::milliseconds(0));
  publish_state();
}

void ApiWatch::publish_state() {
  client_.tally().watch(number_, {.collection = collection_.path,
                                  .listed = told_list_,
                                  .objects = count_,
                                  .heard = reflector_.heard(),
                                  .error = reflector_.error()});
  if (told_error_ == reflector_.error()) return;
  told_error_ = reflector_.error();
  owner_.on_error(told_error_);
}

}  // namespace plughost
