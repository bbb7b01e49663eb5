#include "telemetry/http_stream.hpp"

#include <functional>
#include <utility>

#include "telemetry/http_message.hpp"

namespace plughost {

// Wakes the stream: often while it is not awake yet is once.
class HttpStream::Watcher final : public FeedReader {
 public:
  Watcher(EventLoop::Poster post, std::function<void()> awake, std::function<void()> closed)
      : post_(std::move(post)), awake_(std::move(awake)), closed_(std::move(closed)) {}

  void on_news() override {
    if (!waking_.exchange(true)) post_(awake_);
  }
  void on_closed() override { post_(closed_); }
  // It looks now: what comes from here on wakes it again.
  void looks() { waking_ = false; }

 private:
  EventLoop::Poster post_;
  std::function<void()> awake_;
  std::function<void()> closed_;
  std::atomic<bool> waking_{false};
};

HttpStream::HttpStream(EventLoop& loop, StatusRequests& requests, HttpConnection& connection, Terms terms)
    : requests_(requests),
      connection_(connection),
      statuses_(terms.statuses),
      status_told_(requests.newest().number),
      event_told_(terms.after),
      watcher_(std::make_shared<Watcher>(loop.poster(), lifetime_.bound([this] { advance(); }),
                                         lifetime_.bound([this] { connection_.end(); }))) {
  connection_.tell("retry: 2000\n\n");
  keep_alive();
  requests_.history().readers().subscribe(watcher_);
  if (statuses_) {
    requests_.readers().subscribe(watcher_);
    requests_.watch();
  }
  advance();
}

HttpStream::~HttpStream() {
  requests_.readers().unsubscribe(watcher_.get());
  requests_.history().readers().unsubscribe(watcher_.get());
}

void HttpStream::keep_alive() {
  connection_.expect(kAlive, [this] {
    if (!connection_.behind()) connection_.tell(event_text("alive", "1"));
    keep_alive();
  });
}

void HttpStream::advance() {
  watcher_->looks();
  while (!connection_.behind()) {
    if (const auto record = requests_.history().after(event_told_)) {
      event_told_ = record->number;
      connection_.tell(event_text("change", record->json().dump()));
    } else if (const auto newest = requests_.newest(); statuses_ && newest.number != status_told_) {
      status_told_ = newest.number;
      connection_.tell(event_text("status", newest.snapshot->json()));
    } else {
      return;
    }
    keep_alive();
  }
}

}  // namespace plughost
