#pragma once
// Which devices are out of service, as somebody has ordered it: written down, and back in service when their
// time is over. Loop thread only.

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "base/latest_write.hpp"
#include "base/log.hpp"
#include "device/drains.hpp"
#include "device/offer.hpp"
#include "supervisor/drain_file.hpp"
#include "supervisor/drain_order.hpp"
#include "supervisor/holdings_reader.hpp"

namespace plughost {

class Draining {
 public:
  // The wall's clock may be set while a timer of ours runs, which has another.
  static constexpr std::chrono::seconds kLongestWait{60};

  struct Hooks {
    std::function<std::vector<std::shared_ptr<const Offer>>()> offers;  // of every resource
    std::function<void(HoldingsReader::Done done)> read_holdings;
    std::function<void()> changed;                          // drains() is another
    std::function<void(const Drains::Name& name)> forgive;  // its trouble (Device::lasting) is over
  };

  // Reads the file, and may block: it is made before the loop runs. workers and log outlive it.
  Draining(EventLoop& loop, Workers& workers, Log& log, const DrainFile& file, Hooks hooks)
      : Draining(loop, workers, log, std::make_shared<DrainFile>(file), std::move(hooks)) {}

  const Drains& drains() const { return drains_; }
  // done runs in the loop, when the order is written down and it is known who holds the device; maybe at
  // once; never, if this is gone by then.
  using Done = std::function<void(const DrainAnswer& answer)>;
  void carry_out(const DrainOrder& order, Done done);

 private:
  // The file is the worker's that writes, from then on.
  Draining(EventLoop& loop, Workers& workers, Log& log, std::shared_ptr<DrainFile> file, Hooks hooks);
  // Says whether the time of any is over.
  bool expire();
  void on_time();
  void change(LatestWrite::Told saved);
  void save(LatestWrite::Told saved);
  void arm();
  void answer(DrainAnswer answer, const Done& done);

  Log& log_;
  const Hooks hooks_;
  const std::shared_ptr<DrainFile> file_;
  Drains drains_;
  LatestWrite latest_;
  Timer timer_;
};

}  // namespace plughost
