#include "programs/program_run.hpp"

#include "programs/subprocess.hpp"

namespace plughost {

std::optional<Ending> ProgramRun::run(const Program& program) {
  std::optional<Ending> ended;
  EventLoop loop;
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return ended;
    loop_ = &loop;
  }
  {
    Programs programs(loop);
    ProgramQueue queue(programs, Purpose::kList);
    const Subprocess process(queue, program, [&](Ending ending) {
      ended = std::move(ending);
      loop.stop();
    });
    loop.run();
  }
  const std::lock_guard lock(mutex_);
  loop_ = nullptr;
  return ended;
}

void ProgramRun::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  if (loop_ != nullptr) loop_->poster()([loop = loop_] { loop->stop(); });
}

}  // namespace plughost
