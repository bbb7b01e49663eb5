#pragma once
// Readers that are notified of changes made by other threads. Thread-safe.

#include <memory>
#include <mutex>
#include <vector>

namespace plughost {

// A reader's functions are called from any thread, but never while that thread holds a lock.
class FeedReader {
 public:
  virtual ~FeedReader() = default;
  virtual void on_news() = 0;    // new data is available
  virtual void on_closed() = 0;  // no more data will follow
};

class Readers {
 public:
  // After close(), only calls the reader's on_closed().
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

  // A notification in progress on another thread may still call the reader afterwards.
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

  // Calls on_closed() of the present readers and removes them. New readers may subscribe.
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
