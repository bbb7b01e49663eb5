#include "daemon/handover/hand_over.hpp"

#include <sys/epoll.h>

#include <stdexcept>
#include <utility>

namespace plughost {

HandOver::HandOver(EventLoop& loop, Workers& workers, Log& log, Owner& owner)
    : loop_(loop),
      workers_(workers),
      log_(log),
      owner_(owner),
      limit_(loop, [this] { on_late(); }),
      look_(loop, [this] { look(); }) {}

void HandOver::upgrade(const Start& start, Done done) {
  if (operator_ || begun_) return done(error("a successor takes over already"));
  if (const std::string why = owner_.objection(); !why.empty()) return done(error(why));
  operator_ = std::move(done);
  limit_.arm(kStartLimit);
  const auto result = starting_ = std::make_shared<Starting>();
  workers_.run(
      [start, result] {
        try {
          result->program = start();
        } catch (const std::runtime_error& exception) {  // includes std::system_error
          result->error = exception.what();
        }
      },
      lifetime_.bound([this, result] {
        if (result != starting_) return result->program.kill();  // it comes too late
        if (!result->error.empty()) return fail(result->error);
        on_started(std::move(result->program));
      }),
      kStartLimit, [] {});
}

void HandOver::on_started(DetachedProgram started) {
  log_.info("successor started", {{"pid", std::to_string(started.pid)}});
  program_ = std::move(started);
  if (!program_.process) return;
  ends_ = std::make_unique<IoWatch>(loop_, program_.process.get(), EPOLLIN, [this](std::uint32_t) {
    fail("the new plughost has ended before it took over");
  });
}

void HandOver::begin(pid_t by, const Done& done) {
  if (begun_) return done(error("another successor takes over already"));
  if (const std::string why = owner_.objection(); !why.empty()) return done(error(why));
  begun_ = true;
  process_ = by;
  limit_.arm(kLimit);
  log_.info("successor asks to take over", {{"pid", std::to_string(by)}});
  done(owner_.inheritance().json(Inheritance::Clock::now()));
}

void HandOver::end(Done done) {
  if (!begun_ || successor_) return done(error("no successor has asked to take over"));
  limit_.arm(kLimit);
  if (!std::exchange(overlaps_, owner_.overlaps()) && overlaps_) {
    owner_.stand_back();
    return done(Json{{"error", ""}, {"register", true}});
  }
  successor_ = std::move(done);
  asked_ = Clock::now();
  look();
}

// Waits for the calls whose answers would be lost with their connections.
void HandOver::look() {
  if (left_) return answer();
  const auto passed = Clock::now() - asked_;
  const bool settles = overlaps_ && passed < kSettling;
  if (settles || (owner_.owes_answer() && passed < kCallsLimit)) return look_.arm(kLook);
  leave();
}

void HandOver::leave() {
  ends_.reset();
  limit_.cancel();
  left_ = true;
  owner_.leave();
  if (overlaps_) return answer();
  look_.arm(kSettling);
}

void HandOver::answer() {
  Json told = owner_.inheritance().json(Inheritance::Clock::now());
  told["error"] = "";
  log_.info("handed over to the successor", {{"pid", std::to_string(process_)}});
  owner_.on_handed_over(process_, program_.pid != 0);
  successor_(told);
  if (operator_) operator_(Json{{"error", ""}, {"process", process_}});
}

void HandOver::lose() {
  // The end of a process that this daemon has started is reported: then nothing of it is left.
  if (begun_ && !left_ && !ends_) fail("the new plughost has ended, or given up, before it took over");
}

void HandOver::on_late() {
  program_.kill();
  fail("the new plughost has not taken over in time");
}

void HandOver::fail(const std::string& why) {
  ends_.reset();
  limit_.cancel();
  look_.cancel();
  program_ = {};
  starting_.reset();
  log_.error("the successor has failed: this plughost serves on", {{"why", why}});
  overlaps_ = false;
  const bool begun = std::exchange(begun_, false);
  if (const Done done = std::exchange(successor_, nullptr)) done(error(why));
  if (const Done done = std::exchange(operator_, nullptr)) done(error(why));
  if (begun) owner_.on_successor_lost();
}

}  // namespace plughost
