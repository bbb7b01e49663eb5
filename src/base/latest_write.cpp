#include "base/latest_write.hpp"

#include <memory>
#include <utility>

namespace plughost {

LatestWrite::LatestWrite(EventLoop& loop, Workers& workers, Told told, std::chrono::milliseconds deadline)
    : workers_(workers), told_(std::move(told)), deadline_(deadline), retry_(loop, [this] { start(); }) {}

void LatestWrite::write(Write write) {
  newest_ = std::move(write);
  newer_ = true;
  if (!busy_) start();
}

void LatestWrite::start() {
  retry_.cancel();
  busy_ = true;
  newer_ = false;
  const auto trouble = std::make_shared<std::string>();
  workers_.run([trouble, write = newest_] { *trouble = write(); },
               lifetime_.bound([this, trouble] { on_written(*trouble); }), deadline_,
               lifetime_.bound([this] { on_overdue(); }));
}

void LatestWrite::on_written(const std::string& trouble) {
  busy_ = hung_ = false;
  note(trouble);
  if (newer_) return start();
  if (trouble.empty())
    pause_.reset();
  else if (!finishing_)
    retry_.arm(pause_.next());
  end();
}

void LatestWrite::on_overdue() {
  hung_ = true;
  note("the file system hangs");
  end();
}

void LatestWrite::finish(std::function<void()> done) {
  finishing_ = true;
  retry_.cancel();
  done_ = std::move(done);
  if (!busy_ || hung_) end();
}

void LatestWrite::end() {
  if (const auto done = std::exchange(done_, nullptr)) done();
}

void LatestWrite::note(const std::string& trouble) {
  if (std::exchange(trouble_, trouble) != trouble) told_(trouble);
}

}  // namespace plughost
