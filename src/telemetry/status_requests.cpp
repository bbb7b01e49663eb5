#include "telemetry/status_requests.hpp"

#include <utility>

namespace plughost {

namespace {

using Clock = SnapshotTimes::Clock;

bool same(const std::shared_ptr<const Holdings>& one, const std::shared_ptr<const Holdings>& other) {
  return one == other || (one && other && *one == *other);
}

}  // namespace

StatusRequests::StatusRequests(EventLoop& loop, LogHistory& history, Daemon daemon)
    : history_(history), daemon_(std::move(daemon)), post_(loop.poster()), due_(loop, [this] { on_due(); }) {}

void StatusRequests::changed() {
  times_.changed(Clock::now(), !readers_.empty());
  arm();
}

void StatusRequests::close() {
  alive_.reset();
  due_.cancel();
  asking_.clear();
  readers_.close();
  history_.readers().close();
}

void StatusRequests::post(std::function<void()> task) {
  post_([task = std::move(task), token = token_] {
    if (!token.expired()) task();
  });
}

void StatusRequests::ask_status(StatusDone done) {
  post([this, done = std::move(done)] { ask(done); });
}

void StatusRequests::ask_reload(std::optional<LogLevel> level, ReloadDone done) {
  post([this, level, done = std::move(done)] { daemon_.reload(level, done); });
}

void StatusRequests::watch() {
  post([this] {
    times_.joined(Clock::now());
    arm();
  });
}

StatusRequests::Newest StatusRequests::newest() const {
  const std::lock_guard lock(mutex_);
  return newest_;
}

void StatusRequests::ask(StatusDone done) {
  asking_.push_back(std::move(done));
  if (asking_.size() > 1) return;
  daemon_.status([this, token = token_](DaemonStatus status) {
    if (!token.expired()) on_status(std::move(status));
  });
}

void StatusRequests::on_status(DaemonStatus status) {
  const auto snapshot = std::make_shared<const Snapshot>(std::move(status));
  for (const StatusDone& done : std::exchange(asking_, {})) done(snapshot);
}

void StatusRequests::on_due() {
  if (times_.begin(Clock::now(), !readers_.empty()))
    ask([this](const SnapshotPointer& snapshot) { publish(snapshot); });
  arm();
}

void StatusRequests::arm() {
  if (const auto due = times_.due())
    due_.arm_at(*due);
  else
    due_.cancel();
}

void StatusRequests::publish(const SnapshotPointer& snapshot) {
  const Newest former = newest();
  const bool other =
      !former.snapshot || !same(former.snapshot->status().holdings, snapshot->status().holdings);
  if (!times_.arrived(other)) return;
  {
    const std::lock_guard lock(mutex_);
    newest_ = {snapshot, former.number + 1};
  }
  readers_.tell();
}

}  // namespace plughost
