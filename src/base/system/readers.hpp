#pragma once
// Those who want to hear of something that other threads make. Thread-safe.

#include <memory>
#include <mutex>
#include <vector>

namespace plughost {

// Its calls come from any thread, never under a lock of whoever calls.
class FeedReader {
 public:
  virtual ~FeedReader() = default;
  virtual void on_news() = 0;    // look again
  virtual void on_closed() = 0;  // nothing will come any more for this one: end
};

class Readers {
 public:
  // Closed already: the new reader hears so at once.
  void subscribe(std::shared_ptr<FeedReader> reader) {
    {
      const std::lock_guard lock(mutex_);
      if (!closed_) {
        readers_.push_back(std::move(reader));
        return;
      }
    }
    reader->on_closed();
  }

  void unsubscribe(const FeedReader* reader) {
    const std::lock_guard lock(mutex_);
    std::erase_if(readers_, [&](const auto& other) { return other.get() == reader; });
  }

  bool empty() const {
    const std::lock_guard lock(mutex_);
    return readers_.empty();
  }

  void notify() {
    std::vector<std::shared_ptr<FeedReader>> readers;
    {
      const std::lock_guard lock(mutex_);
      readers = readers_;
    }
    for (const auto& reader : readers) reader->on_news();
  }

  // Those that there are end; others may come.
  void dismiss() { end(false); }
  void close() { end(true); }

 private:
  void end(bool for_good) {
    std::vector<std::shared_ptr<FeedReader>> readers;
    {
      const std::lock_guard lock(mutex_);
      closed_ = closed_ || for_good;
      readers.swap(readers_);
    }
    for (const auto& reader : readers) reader->on_closed();
  }

  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<FeedReader>> readers_;
  bool closed_ = false;
};

}  // namespace plughost
