#include "kubelet/list_stream.hpp"

#include <cstdint>
#include <mutex>
#include <utility>

#include "kubelet/wire.hpp"

namespace plughost {
namespace {

using List = v1beta1::ListAndWatchResponse;

class ListStream final : public grpc::ServerWriteReactor<List>, public FeedReader {
 public:
  ListStream(std::shared_ptr<InventoryFeed> feed, std::function<void()> on_done)
      : feed_(std::move(feed)), on_done_(std::move(on_done)) {}

  void begin(std::shared_ptr<ListStream> self) {
    self_ = std::move(self);
    feed_->readers().subscribe(self_);
    advance();
  }

  void on_news() override { advance(); }
  void on_closed() override { end(true); }
  void OnCancel() override { end(false); }

  void OnWriteDone(bool ok) override {
    {
      const std::lock_guard lock(mutex_);
      list_.reset();
      if (!ok) {
        ending_ = true;
        has_last_ = false;
      }
    }
    advance();
  }

  void OnDone() override {
    feed_->readers().unsubscribe(this);
    on_done_();
    const auto last = std::move(self_);
  }

 private:
  // told: by the feed, and whoever is at the other end listens still.
  void end(bool told) {
    {
      const std::lock_guard lock(mutex_);
      has_last_ = told && (has_last_ || !ending_);
      ending_ = true;
    }
    advance();
  }

  // Decides under the lock and acts outside it: gRPC may call back from within.
  void advance() {
    const List* to_write = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (list_ || finished_) return;
      if (!ending_) {
        const InventoryFeed::Newest newest = feed_->newest();
        if (newest.list == sent_) return;
        sent_ = newest.list;
        list_ = std::make_unique<List>();
        write_list(newest.offer->inventory, *list_);
      } else if (std::exchange(has_last_, false) && feed_->ends_empty()) {
        list_ = std::make_unique<List>();
      }
      to_write = list_.get();
      finished_ = to_write == nullptr;
    }
    if (to_write != nullptr)
      StartWrite(to_write);
    else
      Finish(grpc::Status::OK);
  }

  std::shared_ptr<InventoryFeed> feed_;
  std::function<void()> on_done_;
  std::shared_ptr<ListStream> self_;
  std::mutex mutex_;
  std::unique_ptr<List> list_;  // while its write is in flight
  std::uint64_t sent_ = 0;      // the list's number
  bool ending_ = false;
  bool has_last_ = false;  // perhaps: an empty list
  bool finished_ = false;
};

}  // namespace

grpc::ServerWriteReactor<List>* open_list_stream(std::shared_ptr<InventoryFeed> feed,
                                                 std::function<void()> on_done) {
  const auto stream = std::make_shared<ListStream>(std::move(feed), std::move(on_done));
  stream->begin(stream);
  return stream.get();
}

}  // namespace plughost
