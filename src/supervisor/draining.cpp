#include "supervisor/draining.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"

namespace plughost {

Draining::Draining(EventLoop& loop, Workers& workers, Log& log, std::shared_ptr<DrainFile> file, Hooks hooks)
    : log_(log),
      hooks_(std::move(hooks)),
      file_(std::move(file)),
      latest_(
          loop, workers,
          [&log, path = file_->path().string()](const std::string& trouble) {
            if (trouble.empty())
              log.info("which devices are drained is written down after all", {{"file", path}});
            else
              log.error("which devices are drained is not written down: a restart would not know",
                        {{"why", trouble}});
          },
          file_->path().string() + " does not answer: its file system hangs"),
      timer_(loop, [this] { on_time(); }) {
  Drains::Parsed parsed = file_->read();
  drains_ = std::move(parsed.drains);
  if (!parsed.troubles.empty())
    log_.error("not all devices that were drained are known any more",
               {{"file", file_->path().string()}, {"why", joined(parsed.troubles, "; ")}});
  if (drains_.count() > 0)
    log_.info("devices are drained since before the start", {{"count", std::to_string(drains_.count())}});
  // What was understood of a broken file is in no file now.
  if (expire() || !parsed.troubles.empty()) save(nullptr);
  arm();
}

void Draining::carry_out(const DrainOrder& order, Done done) {
  const auto offers = hooks_.offers();
  const Device* const device = device_named(offers, order.resource, order.device);
  DrainAnswer answer{.name = {order.resource, device ? device->id : order.device}};
  const Drains::Name name = answer.name;
  answer.error = why_not(order, name, drains_, offers);
  if (!answer.error.empty()) return done(answer);
  if (order.terms) {
    const auto now = Drain::Clock::now();
    answer.drain = Drain{.reason = order.terms->reason, .since = now};
    if (order.terms->duration) answer.drain->until = now + *order.terms->duration;
  }
  if (!order.terms && device && device->lasting) hooks_.forgive(name);
  if (!answer.drain && !drains_.find(name)) return this->answer(std::move(answer), done);
  const std::optional<Drain> drain = answer.drain;
  if (drain)
    drains_.set(name, *drain);
  else
    drains_.remove(name);
  change([this, answer = std::move(answer), done = std::move(done)](const std::string& unsaved) mutable {
    answer.unsaved = unsaved;
    this->answer(std::move(answer), done);
  });
  if (drain)
    log_.info("a device is drained",
              {{"resource", name.resource}, {"device", name.device}, {"why", drain->text()}});
  else
    log_.info("a device is not drained any more",
              {{"resource", name.resource}, {"device", name.device}, {"why", "undrain"}});
}

void Draining::answer(DrainAnswer answer, const Done& done) {
  hooks_.read_holdings([this, answer = std::move(answer), done](const PodResources::Answer& told) mutable {
    const auto offers = hooks_.offers();
    if (const Device* const device = device_named(offers, answer.name.resource, answer.name.device))
      answer.device = *device;
    // It is listed so until the next look.
    if (answer.device.lasting && !answer.drain) answer.device.trouble.clear();
    answer.holdings = told.holdings;
    answer.holders_unknown = told.why;
    done(answer);
  });
}

bool Draining::expire() {
  const std::vector<Drains::Name> over = drains_.expire(Drain::Clock::now());
  for (const Drains::Name& name : over)
    log_.info("a device is not drained any more",
              {{"resource", name.resource}, {"device", name.device}, {"why", "its time is over"}});
  return !over.empty();
}

void Draining::on_time() {
  if (expire()) change(nullptr);
  arm();
}

void Draining::change(LatestWrite::Told saved) {
  save(std::move(saved));
  hooks_.changed();
  arm();
}

void Draining::save(LatestWrite::Told saved) {
  latest_.write([file = file_, text = drains_.text()] { return file->write(text); }, std::move(saved));
}

void Draining::arm() {
  const auto end = drains_.next_end();
  if (!end) return timer_.cancel();
  const auto left = *end - Drain::Clock::now();
  timer_.arm(std::clamp<Drain::Clock::duration>(left, Drain::Clock::duration::zero(), kLongestWait));
}

}  // namespace plughost
