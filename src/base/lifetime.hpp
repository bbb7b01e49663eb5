#pragma once
// Callbacks that may come when the object that they belong to is gone. Made, called and ended in the loop
// thread; what bound() makes may be carried through any other.

#include <memory>
#include <utility>

namespace plughost {

// A member of the object, before what its callbacks use.
class Lifetime {
 public:
  // Does what f does while this lives, and nothing after that.
  template <typename F>
  auto bound(F f) const {
    return
        [alive = std::weak_ptr(alive_), f = std::move(f)]<typename... Arguments>(Arguments&&... arguments) {
          if (!alive.expired()) f(std::forward<Arguments>(arguments)...);
        };
  }
  // What has been bound until now does nothing any more.
  void renew() { alive_ = std::make_shared<const bool>(true); }

 private:
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace plughost
