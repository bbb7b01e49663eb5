#pragma once
// The way from gRPC's threads to what lives in the loop. Thread-safe.

#include <functional>
#include <memory>
#include <utility>

#include "base/event_loop.hpp"

namespace plughost {

template <typename Owner>
class InLoop {
 public:
  // alive: expired when nobody wants to hear of anything any more.
  InLoop(EventLoop::Poster post, Owner& owner, std::weak_ptr<const bool> alive)
      : post_(std::move(post)), owner_(&owner), alive_(std::move(alive)) {}

  // Calls in the loop, later; never, if nobody wants to hear of it by then.
  void tell(std::function<void(Owner& owner)> call) const {
    post_([owner = owner_, alive = alive_, call = std::move(call)] {
      if (!alive.expired()) call(*owner);
    });
  }

 private:
  EventLoop::Poster post_;
  Owner* owner_;
  std::weak_ptr<const bool> alive_;
};

}  // namespace plughost
