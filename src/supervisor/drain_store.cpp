#include "supervisor/drain_store.hpp"

#include <memory>
#include <utility>

namespace plughost {

DrainStore::DrainStore(EventLoop& loop, Workers& workers, Log& log, std::string path, Write write,
                       std::chrono::milliseconds deadline)
    : workers_(workers),
      log_(log),
      deadline_(deadline),
      path_(std::move(path)),
      write_(std::move(write)),
      retry_(loop, [this] { start(); }) {}

void DrainStore::save(std::string text, Done done) {
  text_ = std::move(text);
  newer_ = true;
  if (hung_) return done(trouble_);
  waiting_.push_back(std::move(done));
  if (!busy_) start();
}

void DrainStore::start() {
  retry_.cancel();
  busy_ = true;
  newer_ = false;
  told_ = std::exchange(waiting_, {});
  const auto trouble = std::make_shared<std::string>();
  workers_.run([trouble, write = write_, text = text_] { *trouble = write(text); },
               lifetime_.bound([this, trouble] { on_written(*trouble); }), deadline_,
               lifetime_.bound([this] { on_overdue(); }));
}

void DrainStore::on_written(const std::string& trouble) {
  busy_ = hung_ = false;
  note(trouble);
  answer(trouble);
  if (busy_) return;  // who was answered has saved another text
  if (newer_) return start();
  if (trouble.empty())
    pause_.reset();
  else
    retry_.arm(pause_.next());
}

// Those who wait for a newer text wait for the same file system.
void DrainStore::on_overdue() {
  hung_ = true;
  const std::string trouble = path_ + " does not answer: its file system hangs";
  note(trouble);
  for (Done& done : std::exchange(waiting_, {})) told_.push_back(std::move(done));
  answer(trouble);
}

void DrainStore::answer(const std::string& trouble) {
  for (const Done& done : std::exchange(told_, {})) done(trouble);
}

// Once, however often it is tried.
void DrainStore::note(const std::string& trouble) {
  if (std::exchange(trouble_, trouble) == trouble) return;
  if (trouble.empty())
    log_.info("which devices are drained is written down after all", {{"file", path_}});
  else
    log_.error("which devices are drained is not written down: a restart would not know", {{"why", trouble}});
}

}  // namespace plughost
