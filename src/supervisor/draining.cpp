#include "supervisor/draining.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/joined.hpp"

namespace plughost {

Draining::Draining(EventLoop& loop, Workers& workers, Log& log, const DrainFile& file,
                   std::function<void()> on_change)
    : Draining(loop, workers, log, std::make_shared<DrainFile>(file), std::move(on_change)) {}

Draining::Draining(EventLoop& loop, Workers& workers, Log& log, const std::shared_ptr<DrainFile>& file,
                   std::function<void()> on_change)
    : log_(log),
      on_change_(std::move(on_change)),
      store_(loop, workers, log, file->path().string(),
             [file](const std::string& text) { return file->write(text); }),
      timer_(loop, [this] { on_time(); }) {
  Drains::Parsed parsed = file->read();
  drains_ = std::move(parsed.drains);
  if (!parsed.troubles.empty())
    log_.error("not all devices that were drained are known any more",
               {{"file", file->path().string()}, {"why", joined(parsed.troubles, "; ")}});
  if (drains_.count() > 0)
    log_.info("devices are drained since before the start", {{"count", std::to_string(drains_.count())}});
  // What was understood of a broken file is in no file now.
  if (expire() || !parsed.troubles.empty()) store_.save(drains_.text(), [](const std::string&) {});
  arm();
}

void Draining::drain(const Drains::Name& name, Drain drain, DrainStore::Done saved) {
  const std::string why = drain.text();
  drains_.set(name, std::move(drain));
  change(std::move(saved));
  log_.info("a device is drained", {{"resource", name.resource}, {"device", name.device}, {"why", why}});
}

void Draining::undrain(const Drains::Name& name, DrainStore::Done saved) {
  drains_.remove(name);
  change(std::move(saved));
  log_.info("a device is not drained any more",
            {{"resource", name.resource}, {"device", name.device}, {"why", "undrain"}});
}

bool Draining::expire() {
  const std::vector<Drains::Name> over = drains_.expire(Drain::Clock::now());
  for (const Drains::Name& name : over)
    log_.info("a device is not drained any more",
              {{"resource", name.resource}, {"device", name.device}, {"why", "its time is over"}});
  return !over.empty();
}

void Draining::on_time() {
  if (expire()) change([](const std::string&) {});
  arm();
}

void Draining::change(DrainStore::Done saved) {
  store_.save(drains_.text(), std::move(saved));
  on_change_();
  arm();
}

void Draining::arm() {
  const auto end = drains_.next_end();
  if (!end) return timer_.cancel();
  const auto left = *end - Drain::Clock::now();
  timer_.arm(std::clamp<Drain::Clock::duration>(left, Drain::Clock::duration::zero(), kLongestWait));
}

}  // namespace plughost
