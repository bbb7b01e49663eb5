#pragma once
// The newest offer of a resource, and the streams that want to know of it: all that threads share.
// Thread-safe.

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "device/offer.hpp"

namespace plughost {

// A reader of the feed. Its calls come from any thread, never under the feed's lock.
class FeedReader {
 public:
  virtual ~FeedReader() = default;
  virtual void on_new_list() = 0;  // look at newest() again
  virtual void on_closed() = 0;    // nothing will come any more: end
};

class InventoryFeed {
 public:
  struct Newest {
    std::shared_ptr<const Offer> offer;
    std::uint64_t list = 0;  // counts the lists: the same number, the same list
  };

  explicit InventoryFeed(Offer first);

  // Loop thread only. Replaces the offer. Readers are woken only if the kubelet would be told something else.
  // Says whether.
  bool publish(Offer offer);
  Newest newest() const;

  // A feed that is closed closes the new reader at once.
  void subscribe(std::shared_ptr<FeedReader> reader);
  void unsubscribe(const FeedReader* reader);
  void close();

 private:
  mutable std::mutex mutex_;
  Newest newest_;
  std::vector<std::shared_ptr<FeedReader>> readers_;
  bool closed_ = false;
};

}  // namespace plughost
