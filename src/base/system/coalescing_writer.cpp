#include "base/system/coalescing_writer.hpp"

#include <memory>
#include <utility>

namespace plughost {

CoalescingWriter::CoalescingWriter(EventLoop& loop, Workers& workers, Told changed, std::string hangs,
                                   std::chrono::milliseconds deadline)
    : workers_(workers),
      changed_(std::move(changed)),
      hangs_(std::move(hangs)),
      deadline_(deadline),
      retry_(loop, [this] { start(); }) {}

void CoalescingWriter::write(Write write, Told told) {
  newest_ = std::move(write);
  newer_ = true;
  if (told && hung_) return told(error_);
  if (told) waiting_.push_back(std::move(told));
  if (!busy_) start();
}

void CoalescingWriter::start() {
  retry_.cancel();
  busy_ = true;
  newer_ = false;
  answered_ = std::exchange(waiting_, {});
  const auto error = std::make_shared<std::string>();
  workers_.run([error, write = newest_] { *error = write(); },
               lifetime_.bound([this, error] { on_written(*error); }), deadline_,
               lifetime_.bound([this] { on_overdue(); }));
}

void CoalescingWriter::on_written(const std::string& error) {
  busy_ = hung_ = false;
  record_error(error);
  answer(error);
  if (busy_) return;  // a waiter has requested another write
  if (newer_) return start();
  if (error.empty())
    pause_.reset();
  else if (!finishing_)
    retry_.arm(pause_.next());
  end();
}

void CoalescingWriter::on_overdue() {
  hung_ = true;
  record_error(hangs_);
  // Callers that wait for the newer write depend on the same file system.
  for (Told& told : std::exchange(waiting_, {})) answered_.push_back(std::move(told));
  answer(hangs_);
  end();
}

void CoalescingWriter::finish(std::function<void()> done) {
  finishing_ = true;
  retry_.cancel();
  done_ = std::move(done);
  if (!busy_ || hung_) end();
}

void CoalescingWriter::end() {
  if (const auto done = std::exchange(done_, nullptr)) done();
}

void CoalescingWriter::record_error(const std::string& error) {
  if (std::exchange(error_, error) != error) changed_(error);
}

void CoalescingWriter::answer(const std::string& error) {
  for (const Told& told : std::exchange(answered_, {})) told(error);
}

}  // namespace plughost
