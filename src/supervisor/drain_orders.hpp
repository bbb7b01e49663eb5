#pragma once
// Takes devices out of service, and back into it, as they are asked for. Loop thread only.

#include <functional>
#include <memory>
#include <vector>

#include "device/offer.hpp"
#include "supervisor/drain_order.hpp"
#include "supervisor/draining.hpp"
#include "supervisor/holdings_reader.hpp"

namespace plughost {

class DrainOrders {
 public:
  struct Hooks {
    std::function<std::vector<std::shared_ptr<const Offer>>()> offers;  // of every resource
    std::function<void(HoldingsReader::Done done)> read_holdings;
    std::function<void()> changed;                          // drains() is another
    std::function<void(const Drains::Name& name)> forgive;  // its trouble (Device::lasting) is over
  };

  // Reads the file, and may block: it is made before the loop runs. workers and log outlive it.
  DrainOrders(EventLoop& loop, Workers& workers, Log& log, const DrainFile& file, Hooks hooks);

  const Drains& drains() const { return draining_.drains(); }
  // done runs in the loop, when the order is written down and it is known who holds the device; maybe at
  // once; never, if this is gone by then.
  using Done = std::function<void(const DrainAnswer& answer)>;
  void carry_out(const DrainOrder& order, Done done);

 private:
  void answer(DrainAnswer answer, Done done);

  Hooks hooks_;
  Draining draining_;
};

}  // namespace plughost
