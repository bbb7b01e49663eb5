#pragma once
// What the resources whose cards a scheduler chooses share: the watch of pods, what is written to them, and
// the specifications of names that a start decides. Loop thread only.

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/lifetime.hpp"
#include "platform/cdi_writer.hpp"
#include "platform/platform.hpp"
#include "platform/pod_watch.hpp"
#include "supervisor/checkpoint_reader.hpp"
#include "supervisor/pod_marks.hpp"

namespace plughost {

class Assuming {
 public:
  // Specifications that nobody needs are looked for so long after a change of pods.
  static constexpr std::chrono::seconds kQuiet{1};

  struct Hooks {
    std::function<CheckpointReader&()> checkpoint;  // the present ones
    std::function<CdiWriter&()> cdi;
  };

  // platform outlives it.
  Assuming(Platform& platform, Hooks hooks);
  Assuming(const Assuming&) = delete;
  Assuming& operator=(const Assuming&) = delete;

  Platform& platform() { return platform_; }
  PodWatch& pods() { return pods_; }
  PodMarks& marks() { return marks_; }
  // What the kubelet has written by now; nullptr: it cannot be read, or not in time. done never runs if the
  // kubelet's directory moves meanwhile: all entries, and with them who asks here, begin anew then.
  void read_checkpoint(std::function<void(const std::shared_ptr<const Checkpoint>& checkpoint)> done);

  // What a late device stands for, before done: it says why not; empty: it is written.
  void specify(const std::string& device, std::string text,
               std::function<void(const std::string& trouble)> done);
  // Pods have changed: the specifications of those that the kubelet's checkpoint has no more are to go.
  void tidy_later();

 private:
  void tidy();

  Platform& platform_;
  Hooks hooks_;
  PodWatch pods_;
  PodMarks marks_;
  std::map<std::string, EventLoop::Clock::time_point> specified_;  // late devices, since the last tidying
  Timer quiet_;
  Lifetime lifetime_;
};

}  // namespace plughost
