#include "apiserver/api_watch.hpp"

#include <cstdint>
#include <random>
#include <utility>
#include <variant>

#include "apiserver/api_json.hpp"
#include "apiserver/reflector.hpp"
#include "apiserver/watch_stream.hpp"
#include "base/event_loop.hpp"
#include "base/text.hpp"

namespace plughost {
namespace {

constexpr unsigned kPage = 500;  // objects
// For a reading of JSON, which waits for nothing but its turn.
constexpr std::chrono::seconds kReadDeadline{30};
constexpr std::chrono::seconds kListDeadline{60};
constexpr std::string_view kNodePlace = "{node}";

struct Page {
  std::vector<Json> objects;
  std::string resource_version;
  std::string continue_token;
  std::string trouble;
};

Page read_page(const std::string& body) {
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

Reflector::Fault fault_of(const ApiAnswer& answer) {
  return {.code = answer.code,
          .sentence = answer.trouble,
          .retry_after = answer.retry_after,
          .nobody = answer.nobody};
}

}  // namespace

class ApiWatch::Impl {
 public:
  Impl(ApiClient& client, std::string collection, std::string field_selector, Hooks hooks)
      : client_(client),
        collection_(std::move(collection)),
        selector_(std::move(field_selector)),
        hooks_(std::move(hooks)),
        reflector_(std::random_device()(), client.options().silence),
        next_(client.loop(), [this] { go_on(); }),
        silence_(client.loop(), [this] { on_silence(); }) {
    number_ = client_.note_watch(0, {.collection = collection_});
    next_.arm(std::chrono::milliseconds(0));
  }
  ~Impl() { client_.forget_watch(number_); }
  Impl& operator=(Impl&&) = delete;

 private:
  using Clock = EventLoop::Clock;

  void go_on() {
    const Reflector::Step step = reflector_.next(Clock::now());
    if (const auto* const wait = std::get_if<Reflector::Wait>(&step)) next_.arm_at(wait->until);
    if (const auto* const page = std::get_if<Reflector::List>(&step)) list(page->continue_token);
    if (const auto* const watch = std::get_if<Reflector::Watch>(&step)) follow(*watch);
  }

  // The rest of the query, once the node's name is known.
  ApiRequest::Text path(std::string query) const {
    return
        [collection = collection_, selector = selector_, query = std::move(query)](const std::string& node) {
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

  void list(const std::string& continue_token) {
    if (continue_token.empty()) {
      objects_.clear();
      bytes_ = 0;
    }
    std::string query = "limit=" + std::to_string(kPage);
    if (!continue_token.empty()) query += "&continue=" + url_encoded(continue_token);
    call_ = client_.send({.verb = ApiVerb::kList,
                          .path = path(std::move(query)),
                          .deadline = kListDeadline,
                          .most_answer = client_.options().most_list},
                         [this](ApiAnswer answer) { on_list(std::move(answer)); });
  }

  void on_list(ApiAnswer answer) {
    call_.reset();
    if (!answer.ok()) return fail(fault_of(answer));
    bytes_ += answer.body.size();
    if (bytes_ > client_.options().most_list) {
      return fail({.sentence = "the list of " + collection_ + " has more than " +
                               std::to_string(client_.options().most_list) +
                               " bytes, which is more than is taken"});
    }
    auto page = std::make_shared<Page>();
    auto body = std::make_shared<const std::string>(std::move(answer.body));
    reading_.renew();
    client_.workers().run([page, body] { *page = read_page(*body); },
                          reading_.bound([this, page] { on_page(std::move(*page)); }), kReadDeadline,
                          reading_.bound([this] {
                            reading_.renew();
                            fail({.sentence = "reading the list of " + collection_ + " takes too long"});
                          }));
  }

  void on_page(Page page) {
    if (!page.trouble.empty()) return fail({.sentence = std::move(page.trouble)});
    for (Json& object : page.objects) objects_.push_back(std::move(object));
    reflector_.page(page.resource_version, page.continue_token, Clock::now());
    next_.arm(std::chrono::milliseconds(0));
    if (!page.continue_token.empty()) return;
    told_list_ = true;
    count_ = objects_.size();
    const auto hook = hooks_.listed;
    const auto alive = alive_.bound([this] { note(); });
    hook(std::exchange(objects_, {}));
    alive();
  }

  void follow(const Reflector::Watch& watch) {
    stream_ = WatchStream();
    const std::string query =
        "watch=true&allowWatchBookmarks=true&resourceVersion=" + url_encoded(watch.resource_version) +
        "&timeoutSeconds=" + std::to_string(watch.timeout.count());
    call_ = client_.stream({.verb = ApiVerb::kWatch, .path = path(query)},
                           {.began =
                                [this] {
                                  reflector_.began(Clock::now());
                                  note();
                                },
                            .bytes = [this](std::string_view bytes) { on_bytes(bytes); },
                            .ended = [this](const ApiAnswer& answer) { on_end(answer); }});
    listen();
  }

  void on_bytes(std::string_view bytes) {
    std::vector<std::string> lines;
    const bool fits = stream_.feed(bytes, [&lines](std::string_view line) { lines.emplace_back(line); });
    // An event may be the last one of the stream, or the last one that is wanted.
    const auto take = in_stream_.bound([this](const std::string& line) { on_line(line); });
    const auto finish = in_stream_.bound([this, fits] {
      if (!fits) return fail({.sentence = "an event of the watch of " + collection_ + " is too long"});
      listen();
      note();
    });
    for (const std::string& line : lines) take(line);
    finish();
  }

  void on_line(const std::string& line) {
    auto parsed = parse_watch_event(line);
    if (auto* const why = std::get_if<std::string>(&parsed)) return fail({.sentence = std::move(*why)});
    WatchEvent& event = std::get<WatchEvent>(parsed);
    using Type = WatchEvent::Type;
    if (event.type == Type::kError) {
      return fail({.code = event.code,
                   .sentence = "the watch of " + collection_ + " has ended: " + printable(event.message)});
    }
    reflector_.event(event.resource_version, Clock::now());
    if (event.type == Type::kAdded) ++count_;
    if (event.type == Type::kDeleted && count_ > 0) --count_;
    const auto hook = event.type == Type::kDeleted ? hooks_.gone : hooks_.changed;
    if (event.type != Type::kBookmark) hook(std::move(event.object));
  }

  void on_end(const ApiAnswer& answer) {
    if (!answer.ok()) return fail(fault_of(answer));
    call_.reset();
    silence_.cancel();
    reflector_.ended(Clock::now());
    next_.arm(std::chrono::milliseconds(0));
    note();
  }

  void on_silence() { fail({.sentence = "the watch of " + collection_ + " has said nothing for too long"}); }

  void listen() {
    if (const auto at = reflector_.silent_at()) silence_.arm_at(*at);
  }

  void fail(const Reflector::Fault& fault) {
    reflector_.failed(fault, Clock::now());  // before the call goes, whose words these may be
    call_.reset();
    in_stream_.renew();
    silence_.cancel();
    next_.arm(std::chrono::milliseconds(0));
    note();
  }

  // What others see of it. The hook may end the watch.
  void note() {
    client_.note_watch(number_, {.collection = collection_,
                                 .listed = told_list_,
                                 .objects = count_,
                                 .heard = reflector_.heard(),
                                 .trouble = reflector_.trouble()});
    if (told_trouble_ == reflector_.trouble()) return;
    told_trouble_ = reflector_.trouble();
    const auto hook = hooks_.trouble;
    hook(told_trouble_);
  }

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

ApiWatch::ApiWatch(ApiClient& client, std::string collection, std::string field_selector, Hooks hooks)
    : impl_(std::make_unique<Impl>(client, std::move(collection), std::move(field_selector),
                                   std::move(hooks))) {}

ApiWatch::~ApiWatch() = default;

}  // namespace plughost
