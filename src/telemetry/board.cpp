#include "telemetry/board.hpp"

#include <utility>

namespace plughost {

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
