#include "base/program_run.hpp"

namespace plughost {

namespace {

// One that was killed ends, as a rule.
constexpr std::chrono::milliseconds kGrace{100};

}  // namespace

ProgramRun::Outcome ProgramRun::run(const Program& program, EventLoop::Clock::duration deadline) {
  Outcome outcome;
  EventLoop loop;
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return outcome;
    loop_ = &loop;
  }
  {
    Timer grace(loop, [&] { loop.stop(); });
    const Subprocess process(
        loop, program, deadline,
        [&](Subprocess::Result result) {
          if (!grace.armed()) outcome.end = Outcome::End::kEnded;
          outcome.result = std::move(result);
          loop.stop();
        },
        [&] {
          outcome.end = Outcome::End::kOverdue;
          grace.arm(kGrace);
        });
    loop.run();
  }
  const std::lock_guard lock(mutex_);
  loop_ = nullptr;
  return outcome;
}

void ProgramRun::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  if (loop_ != nullptr) loop_->poster()([loop = loop_] { loop->stop(); });
}

}  // namespace plughost
