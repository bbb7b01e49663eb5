#pragma once
// The newest offer of a resource, and the streams that want to know of it: all that threads share.
// Thread-safe.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/readers.hpp"
#include "device/offer.hpp"

namespace plughost {

class InventoryFeed {
 public:
  struct Newest {
    std::shared_ptr<const Offer> offer;
    std::uint64_t list = 0;  // counts the lists: the same number, the same list
  };

  explicit InventoryFeed(Offer first);

  // Loop thread only. Replaces the offer. Readers are woken only if the kubelet would be told something else.
  void publish(Offer offer);
  Newest newest() const;

  // Loop thread only, before the readers are closed: they are to end with an empty list.
  void end_empty() { ends_empty_ = true; }
  bool ends_empty() const { return ends_empty_; }

  // Closed with the resource.
  Readers& readers() { return readers_; }

 private:
  mutable std::mutex mutex_;
  Newest newest_;
  std::atomic<bool> ends_empty_ = false;
  Readers readers_;
};

}  // namespace plughost
