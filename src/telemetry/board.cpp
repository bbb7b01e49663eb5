#include "telemetry/board.hpp"

#include <condition_variable>
#include <utility>

namespace plughost {

namespace {

// A thread that waits for one answer.
class Waiter final : public FeedReader {
 public:
  void on_news() override {}
  void on_closed() override { take(nullptr); }
  void take(const Board::Snapshot& status) {
    const std::lock_guard lock(mutex_);
    status_ = status;
    done_ = true;
    ended_.notify_all();
  }
  Board::Snapshot wait(std::chrono::milliseconds deadline) {
    std::unique_lock lock(mutex_);
    ended_.wait_for(lock, deadline, [this] { return done_; });
    return status_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  Board::Snapshot status_;
  bool done_ = false;
};

}  // namespace

Board::Board(EventLoop& loop, LogHistory& history, Daemon daemon)
    : history_(history),
      daemon_(std::move(daemon)),
      post_(loop.poster()),
      together_(loop, [this] { refresh(); }),
      holders_(loop, [this] { refresh(); }) {}

void Board::changed() {
  changed_ = true;
  if (!together_.armed() && !readers_.empty()) together_.arm(kTogether);
}

void Board::close() {
  alive_.reset();
  together_.cancel();
  holders_.cancel();
  readers_.close();
  waiting_.close();
  history_.readers().close();
}

void Board::ask_status(StatusDone done) {
  post_([this, done = std::move(done), alive = std::weak_ptr(alive_)] {
    if (!alive.expired()) daemon_.status(done);
  });
}

void Board::ask_reload(std::optional<LogLevel> level, ReloadDone done) {
  post_([this, level, done = std::move(done), alive = std::weak_ptr(alive_)] {
    if (!alive.expired()) daemon_.reload(level, done);
  });
}

Board::Snapshot Board::wait_for_status(std::chrono::milliseconds deadline) {
  const auto waiter = std::make_shared<Waiter>();
  waiting_.subscribe(waiter);
  ask_status([waiter](const Snapshot& status) { waiter->take(status); });
  Snapshot status = waiter->wait(deadline);
  waiting_.unsubscribe(waiter.get());
  return status;
}

void Board::watch() {
  post_([this, alive = std::weak_ptr(alive_)] {
    if (alive.expired()) return;
    changed_ = true;
    refresh();
  });
}

Board::Newest Board::newest() const {
  const std::lock_guard lock(mutex_);
  return newest_;
}

void Board::refresh() {
  if (readers_.empty()) return;
  holders_.arm(kHoldersInterval);
  if (std::exchange(refreshing_, true)) return;
  daemon_.status([this, alive = std::weak_ptr(alive_)](const Snapshot& status) {
    if (!alive.expired()) publish(status);
  });
}

void Board::publish(const Snapshot& status) {
  refreshing_ = false;
  const auto same = [](const std::shared_ptr<const Holdings>& one,
                       const std::shared_ptr<const Holdings>& other) {
    return one == other || (one && other && *one == *other);
  };
  const Newest former = newest();
  const bool news = std::exchange(changed_, false) || !former.status ||
                    !same(former.status->node->holdings, status->node->holdings);
  if (!news) return;
  {
    const std::lock_guard lock(mutex_);
    newest_ = {status, newest_.number + 1};
  }
  readers_.tell();
}

}  // namespace plughost
