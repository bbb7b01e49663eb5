#include "kinds/gpu/nvidia_ctk.hpp"

#include <mutex>
#include <utility>

#include "base/event_loop.hpp"
#include "programs/subprocess.hpp"

namespace plughost {

// What the scans and the loop tell each other.
struct NvidiaCtk::Shared {
  std::mutex mutex;
  std::function<void(Program)> begin;  // in the loop, from any thread; not set: nobody watches
  bool runs = false;
  std::optional<Ending> ended;
};

// Loop thread only.
class NvidiaCtk::Runner final : public SourceWatch {
 public:
  Runner(Programs& programs, std::shared_ptr<Shared> shared, std::function<void()> hint)
      : queue_(programs, Purpose::kList), shared_(std::move(shared)), hint_(std::move(hint)) {
    const std::lock_guard lock(shared_->mutex);
    shared_->begin = [poster = programs.loop().poster(), start = lifetime_.bound([this](Program program) {
      start_program(std::move(program));
    })](Program program) { poster([start, program = std::move(program)] { start(program); }); };
  }

 private:
  void start_program(Program program) {
    process_.emplace(queue_, std::move(program), [this](Ending ending) {
      {
        const std::lock_guard lock(shared_->mutex);
        shared_->runs = false;
        shared_->ended = std::move(ending);
      }
      hint_();
    });
  }

  ProgramQueue queue_;
  std::shared_ptr<Shared> shared_;
  std::function<void()> hint_;
  Lifetime lifetime_;
  std::optional<Subprocess> process_;  // the one that runs, or the last one
};

NvidiaCtk::NvidiaCtk() : shared_(std::make_shared<Shared>()) {}

std::unique_ptr<SourceWatch> NvidiaCtk::watch(Programs& programs, const std::function<void()>& hint) {
  return std::make_unique<Runner>(programs, shared_, hint);
}

std::optional<Ending> NvidiaCtk::run(const Program& program) {
  {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->begin) {
      if (shared_->ended || shared_->runs) return std::exchange(shared_->ended, std::nullopt);
      shared_->runs = true;
      shared_->begin(program);
      return std::nullopt;
    }
  }
  return run_program(program);
}

}  // namespace plughost
