#include "programs/run_program.hpp"

#include <utility>

#include "programs/subprocess.hpp"

namespace plughost {

Ending run_program(const Program& program) {
  Ending ended;
  EventLoop loop;
  Programs programs(loop);
  ProgramQueue queue(programs, Purpose::kList);
  const Subprocess process(queue, program, [&](Ending ending) {
    ended = std::move(ending);
    loop.stop();
  });
  loop.run();
  return ended;
}

}  // namespace plughost
