#pragma once
// Readers that are notified of changes made by other threads. Thread-safe.

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
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
  // After close(), only calls the reader's on_closed(). `group` is for dismiss_others().
  void subscribe(std::shared_ptr<FeedReader> reader, std::uint32_t group = 0) {
    {
      const std::lock_guard lock(mutex_);
      if (!closed_) {
        readers_.emplace_back(std::move(reader), group);
        return;
      }
    }
    reader->on_closed();
  }

  // A notification in progress on another thread may still call the reader afterwards.
  void unsubscribe(const FeedReader* reader) {
    const std::lock_guard lock(mutex_);
    std::erase_if(readers_, [&](const auto& other) { return other.first.get() == reader; });
  }

  bool empty() const {
    const std::lock_guard lock(mutex_);
    return readers_.empty();
  }

  void notify() {
    std::vector<Member> readers;
    {
      const std::lock_guard lock(mutex_);
      readers = readers_;
    }
    for (const auto& [reader, group] : readers) reader->on_news();
  }

  // Calls on_closed() of the present readers and removes them. New readers may subscribe.
  void dismiss() { end(false, std::nullopt); }
  // Does so for the readers of other groups.
  void dismiss_others(std::uint32_t group) { end(false, group); }
  void close() { end(true, std::nullopt); }

 private:
  using Member = std::pair<std::shared_ptr<FeedReader>, std::uint32_t>;  // with its group

  void end(bool for_good, std::optional<std::uint32_t> stays) {
    std::vector<Member> ended;
    {
      const std::lock_guard lock(mutex_);
      closed_ = closed_ || for_good;
      ended.swap(readers_);
      for (const Member& each : ended)
        if (each.second == stays) readers_.push_back(each);
    }
    for (const auto& [reader, group] : ended)
      if (group != stays) reader->on_closed();
  }

  mutable std::mutex mutex_;
  std::vector<Member> readers_;
  bool closed_ = false;
};

}  // namespace plughost
