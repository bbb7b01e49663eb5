#include "driver/pooled_resource.hpp"

#include <chrono>
#include <utility>

namespace plughost {

PooledResource::PooledResource(Offer first) : offer_(std::make_shared<const Offer>(std::move(first))) {
  health_times_.note({}, offer_->inventory.devices(), std::chrono::system_clock::now());
}

void PooledResource::publish(Offer offer) {
  auto newest = std::make_shared<const Offer>(std::move(offer));
  health_times_.note(offer_->inventory.devices(), newest->inventory.devices(),
                     std::chrono::system_clock::now());
  offer_ = std::move(newest);
}

}  // namespace plughost
