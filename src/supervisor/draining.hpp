#pragma once
// Which devices are out of service: written down, and back in service when their time is over. Loop thread
// only.

#include <chrono>
#include <functional>
#include <memory>

#include "device/drains.hpp"
#include "supervisor/drain_file.hpp"
#include "supervisor/drain_store.hpp"

namespace plughost {

class Draining {
 public:
  // The wall's clock may be set while a timer of ours runs, which has another.
  static constexpr std::chrono::seconds kLongestWait{60};

  // Reads the file, and may block: it is made before the loop runs. on_change is called when drains() is
  // another. workers and log outlive it.
  Draining(EventLoop& loop, Workers& workers, Log& log, const DrainFile& file,
           std::function<void()> on_change);

  const Drains& drains() const { return drains_; }
  // saved runs in the loop: see DrainStore.
  void drain(const Drains::Name& name, Drain drain, DrainStore::Done saved);
  // The device is drained.
  void undrain(const Drains::Name& name, DrainStore::Done saved);

 private:
  // The file is the worker's that writes, from then on.
  Draining(EventLoop& loop, Workers& workers, Log& log, const std::shared_ptr<DrainFile>& file,
           std::function<void()> on_change);
  // Says whether the time of any is over.
  bool expire();
  void on_time();
  void change(DrainStore::Done saved);
  void arm();

  Log& log_;
  std::function<void()> on_change_;
  Drains drains_;
  DrainStore store_;
  Timer timer_;
};

}  // namespace plughost
