#include "supervisor/drain_orders.hpp"

#include <utility>

namespace plughost {

DrainOrders::DrainOrders(EventLoop& loop, Workers& workers, Log& log, const DrainFile& file, Hooks hooks)
    : hooks_(std::move(hooks)), draining_(loop, workers, log, file, [this] { hooks_.changed(); }) {}

void DrainOrders::carry_out(const DrainOrder& order, Done done) {
  const auto offers = hooks_.offers();
  const Device* const device = device_named(offers, order.resource, order.device);
  DrainAnswer answer{.name = {order.resource, device ? device->id : order.device}};
  answer.error = why_not(order, answer.name, drains(), offers);
  if (!answer.error.empty()) return done(answer);
  if (order.terms) {
    const auto now = Drain::Clock::now();
    answer.drain = Drain{.reason = order.terms->reason, .since = now};
    if (order.terms->duration) answer.drain->until = now + *order.terms->duration;
  }
  if (!order.terms && device && device->lasting) hooks_.forgive(answer.name);
  if (!answer.drain && !drains().find(answer.name)) return this->answer(std::move(answer), std::move(done));
  const auto saved = [this, answer, done = std::move(done)](const std::string& unsaved) mutable {
    answer.unsaved = unsaved;
    this->answer(std::move(answer), std::move(done));
  };
  if (answer.drain)
    draining_.drain(answer.name, *answer.drain, saved);
  else
    draining_.undrain(answer.name, saved);
}

void DrainOrders::answer(DrainAnswer answer, Done done) {
  hooks_.read_holdings(
      [this, answer = std::move(answer), done = std::move(done)](const PodResources::Answer& told) mutable {
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

}  // namespace plughost
