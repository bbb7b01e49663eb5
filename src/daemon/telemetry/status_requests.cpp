#include "daemon/telemetry/status_requests.hpp"

#include <utility>

namespace plughost {
namespace {

using Clock = SnapshotTimes::Clock;

// A text that takes longer has stalled: another thread makes the next texts.
constexpr std::chrono::seconds kTextDeadline{10};

bool same(const std::shared_ptr<const Holdings>& one, const std::shared_ptr<const Holdings>& other) {
  return one == other || (one && other && *one == *other);
}

}  // namespace

StatusRequests::StatusRequests(EventLoop& loop, LogHistory& history, Owner& owner)
    : history_(history),
      owner_(owner),
      post_(loop.poster()),
      due_(loop, [this] { on_due(); }),
      texts_(loop, 1) {
  // Starts the thread early, so that a machine that has no threads left can still report why.
  make_text([] {});
}

void StatusRequests::changed() {
  times_.changed(Clock::now(), !readers().empty());
  arm();
}

void StatusRequests::close() {
  open_.renew();
  due_.cancel();
  asking_.clear();
  readers().close();
  history_.readers().close();
}

void StatusRequests::post(std::function<void()> task) {
  post_([task = std::move(task), if_open = if_open_] { if_open(task); });
}

void StatusRequests::make_text(std::function<void()> job) {
  texts_.run(
      std::move(job), [] {}, kTextDeadline, [] {});
}

void StatusRequests::query_status(WithHolders with, StatusDone done) {
  post([this, with, done = std::move(done)] {
    ask(with,
        [this, done](const SnapshotPointer& snapshot) { make_text([done, snapshot] { done(snapshot); }); });
  });
}

void StatusRequests::request_reload(ReloadOrder order, ReloadDone done) {
  post([this, order, done = std::move(done)] { owner_.reload(order, done); });
}

void StatusRequests::request_confirm(ConfirmDone done) {
  post([this, done = std::move(done)] { owner_.confirm(done); });
}

void StatusRequests::request_drain(DrainOrder order, DrainDone done) {
  post([this, order = std::move(order), done = std::move(done)] {
    owner_.drain(order, open_.bound([this, done](const DrainAnswer& answer) {
      make_text([done, answer] { done(answer); });
    }));
  });
}

void StatusRequests::request_hand_over(HandOverStep step, pid_t by, HandOver::Done done) {
  post([this, step, by, done = std::move(done)] { owner_.hand_over(step, by, done); });
}

void StatusRequests::watch() {
  post([this] {
    times_.joined(Clock::now());
    arm();
  });
}

StatusRequests::Newest StatusRequests::newest() const {
  const std::lock_guard lock(told_->mutex);
  return told_->newest;
}

void StatusRequests::ask(WithHolders with, StatusDone handed) {
  std::vector<StatusDone>& asking = asking_[with];
  asking.push_back(std::move(handed));
  if (asking.size() > 1) return;
  owner_.query_status(with,
                      open_.bound([this, with](DaemonStatus status) { on_status(with, std::move(status)); }));
}

void StatusRequests::on_status(WithHolders with, DaemonStatus status) {
  const auto snapshot = std::make_shared<const Snapshot>(std::move(status));
  for (const StatusDone& handed : std::exchange(asking_[with], {})) handed(snapshot);
}

void StatusRequests::on_due() {
  if (times_.begin(Clock::now(), !readers().empty()))
    ask(WithHolders::kYes, [this](const SnapshotPointer& snapshot) { publish(snapshot); });
  arm();
}

void StatusRequests::arm() {
  if (const auto due = times_.due())
    due_.arm_at(*due);
  else
    due_.cancel();
}

void StatusRequests::publish(const SnapshotPointer& snapshot) {
  const SnapshotPointer& former = published_.snapshot;
  const bool other = !former || !same(former->status().holdings, snapshot->status().holdings);
  if (!times_.arrived(other)) return;
  published_ = {snapshot, published_.number + 1};
  make_text([told = told_, newest = published_] {
    newest.snapshot->json();
    {
      const std::lock_guard lock(told->mutex);
      told->newest = newest;
    }
    told->readers.notify();
  });
}

}  // namespace plughost
