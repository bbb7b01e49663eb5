#pragma once
// One resource that is offered in a pool: the newest offer, and since when its devices are as well as they
// are. Loop thread only.

#include <memory>
#include <string>

#include "device/health_times.hpp"
#include "device/offer.hpp"

namespace plughost {

class PooledResource {
 public:
  explicit PooledResource(Offer first);

  const std::string& name() const { return offer_->resource; }
  const std::shared_ptr<const Offer>& offer() const { return offer_; }
  const HealthTimes& health_times() const { return health_times_; }

  // The newest devices and terms.
  void publish(Offer offer);

 private:
  std::shared_ptr<const Offer> offer_;
  HealthTimes health_times_;
};

}  // namespace plughost
