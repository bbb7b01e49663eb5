#include "apiserver/api_watch.hpp"

#include <random>
#include <utility>

#include "apiserver/api_request.hpp"
#include "document/diagnostics.hpp"
#include "text/text.hpp"
#include "text/words.hpp"

namespace plughost {
namespace {

constexpr unsigned kPage = 500;  // objects
// For a reading of JSON, which waits for nothing but its turn.
constexpr std::chrono::seconds kReadDeadline{30};
constexpr std::chrono::seconds kListDeadline{60};
constexpr std::string_view kNodePlace = "{node}";

}  // namespace

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

struct ApiWatch::Page {
  std::vector<Json> objects;
  std::string resource_version;
  std::string continue_token;
  std::string trouble;

  static Page read(const std::string& body);
};

ApiWatch::Page ApiWatch::Page::read(const std::string& body) {
  auto parsed = parse_api_json(body);
  if (const auto* const trouble = std::get_if<std::string>(&parsed))
    return {.trouble = "the list cannot be read: " + *trouble};
  const Json& list = std::get<Json>(parsed);
  const Json& metadata = list["metadata"];
  Page page{.resource_version = metadata["resourceVersion"].text(),
            .continue_token = metadata["continue"].text()};
  if (page.resource_version.empty()) return {.trouble = "what came is no list: it has no resourceVersion"};
  page.objects = list["items"].array();
  return page;
}

ApiWatch::ApiWatch(ApiClient& client, std::string collection, std::string field_selector, Hooks hooks)
    : client_(client),
      collection_(std::move(collection)),
      selector_(std::move(field_selector)),
      hooks_(std::move(hooks)),
      reflector_(std::random_device()(), client.options_.silence),
      next_(client.loop(), [this] { go_on(); }),
      silence_(client.loop(), [this] {
        fail({.trouble = "the watch of " + collection_ + " has said nothing for too long"});
      }) {
  number_ = client_.tally().watch(0, {.collection = collection_});
  next_.arm(std::chrono::milliseconds(0));
}

ApiWatch::~ApiWatch() { client_.tally().forget(number_); }

void ApiWatch::go_on() {
  const Reflector::Step step = reflector_.next(EventLoop::Clock::now());
  if (const auto* const wait = std::get_if<Reflector::Wait>(&step)) next_.arm_at(wait->until);
  if (const auto* const page = std::get_if<Reflector::List>(&step)) list(page->continue_token);
  if (const auto* const watch = std::get_if<Reflector::Watch>(&step)) follow(*watch);
}

// The rest of the query, once the node's name is known.
ApiRequest::Text ApiWatch::path(std::string query) const {
  return [collection = collection_, selector = selector_, query = std::move(query)](const std::string& node) {
    std::string text = collection + '?' + query;
    if (!selector.empty()) {
      std::string filled = selector;
      if (const std::size_t at = filled.find(kNodePlace); at != std::string::npos)
        filled.replace(at, kNodePlace.size(), node);
      text += "&fieldSelector=" + url_encoded(filled);
    }
    return text;
  };
}

void ApiWatch::list(const std::string& continue_token) {
  if (continue_token.empty()) {
    objects_.clear();
    bytes_ = 0;
  }
  std::string query = "limit=" + std::to_string(kPage);
  if (!continue_token.empty()) query += "&continue=" + url_encoded(continue_token);
  call_ = client_.send({.verb = ApiVerb::kList,
                        .path = path(std::move(query)),
                        .deadline = kListDeadline,
                        .most_answer = client_.options_.most_list},
                       [this](ApiAnswer answer) { on_list(std::move(answer)); });
}

void ApiWatch::on_list(ApiAnswer answer) {
  call_.reset();
  if (!answer.ok()) return fail(answer);
  bytes_ += answer.body.size();
  if (bytes_ > client_.options_.most_list) {
    return fail({.trouble = "the list of " + collection_ + " has more than " +
                            std::to_string(client_.options_.most_list) +
                            " bytes, which is more than is taken"});
  }
  auto page = std::make_shared<Page>();
  auto body = std::make_shared<const std::string>(std::move(answer.body));
  reading_.renew();
  client_.workers().run([page, body] { *page = Page::read(*body); },
                        reading_.bound([this, page] { on_page(std::move(*page)); }), kReadDeadline,
                        reading_.bound([this] {
                          reading_.renew();
                          fail({.trouble = "reading the list of " + collection_ + " takes too long"});
                        }));
}

void ApiWatch::on_page(Page page) {
  if (!page.trouble.empty()) return fail({.trouble = std::move(page.trouble)});
  for (Json& object : page.objects) objects_.push_back(std::move(object));
  reflector_.page(page.resource_version, page.continue_token, EventLoop::Clock::now());
  next_.arm(std::chrono::milliseconds(0));
  if (!page.continue_token.empty()) return;
  told_list_ = true;
  count_ = objects_.size();
  const auto hook = hooks_.listed;
  const auto alive = alive_.bound([this] { note(); });
  hook(std::exchange(objects_, {}));
  alive();
}

void ApiWatch::follow(const Reflector::Watch& watch) {
  stream_ = WatchStream();
  const std::string query =
      "watch=true&allowWatchBookmarks=true&resourceVersion=" + url_encoded(watch.resource_version) +
      "&timeoutSeconds=" + std::to_string(watch.timeout.count());
  call_ = client_.stream({.verb = ApiVerb::kWatch, .path = path(query)},
                         {.began =
                              [this] {
                                reflector_.began(EventLoop::Clock::now());
                                note();
                              },
                          .bytes = [this](std::string_view bytes) { on_bytes(bytes); },
                          .ended = [this](const ApiAnswer& answer) { on_end(answer); }});
  listen();
}

void ApiWatch::on_bytes(std::string_view bytes) {
  std::vector<std::string> lines;
  const bool fits = stream_.feed(bytes, [&lines](std::string_view line) { lines.emplace_back(line); });
  // An event may be the last one of the stream, or the last one that is wanted.
  const auto take = in_stream_.bound([this](const std::string& line) { on_line(line); });
  const auto finish = in_stream_.bound([this, fits] {
    if (!fits) return fail({.trouble = "an event of the watch of " + collection_ + " is too long"});
    listen();
    note();
  });
  for (const std::string& line : lines) take(line);
  finish();
}

void ApiWatch::on_line(const std::string& line) {
  auto parsed = parse_watch_event(line);
  if (auto* const why = std::get_if<std::string>(&parsed)) return fail({.trouble = std::move(*why)});
  WatchEvent& event = std::get<WatchEvent>(parsed);
  using Type = WatchEvent::Type;
  if (event.type == Type::kError) {
    return fail({.code = event.code,
                 .trouble = "the watch of " + collection_ + " has ended: " + printable(event.message)});
  }
  reflector_.event(event.resource_version, EventLoop::Clock::now());
  if (event.type == Type::kAdded) ++count_;
  if (event.type == Type::kDeleted && count_ > 0) --count_;
  const auto hook = event.type == Type::kDeleted ? hooks_.gone : hooks_.changed;
  if (event.type != Type::kBookmark) hook(std::move(event.object));
}

void ApiWatch::on_end(const ApiAnswer& answer) {
  if (!answer.ok()) return fail(answer);
  call_.reset();
  silence_.cancel();
  reflector_.ended(EventLoop::Clock::now());
  next_.arm(std::chrono::milliseconds(0));
  note();
}

void ApiWatch::listen() {
  if (const auto at = reflector_.silent_at()) silence_.arm_at(*at);
}

void ApiWatch::fail(const ApiAnswer& fault) {
  reflector_.failed(fault, EventLoop::Clock::now());  // before the call goes, whose words these may be
  call_.reset();
  in_stream_.renew();
  silence_.cancel();
  next_.arm(std::chrono::milliseconds(0));
  note();
}

void ApiWatch::note() {
  client_.tally().watch(number_, {.collection = collection_,
                                  .listed = told_list_,
                                  .objects = count_,
                                  .heard = reflector_.heard(),
                                  .trouble = reflector_.trouble()});
  if (told_trouble_ == reflector_.trouble()) return;
  told_trouble_ = reflector_.trouble();
  const auto hook = hooks_.trouble;
  hook(told_trouble_);
}

}  // namespace plughost
