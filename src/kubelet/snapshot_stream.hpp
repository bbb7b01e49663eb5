#pragma once
// A call that is answered with a stream of what is new. Thread-safe: gRPC's callback threads run it.

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "base/readers.hpp"

namespace plughost {

// What one such call tells. Thread-safe, but next() never runs twice at once.
template <typename Message>
class Snapshots {
 public:
  enum class Next { kMessage, kNoneYet, kEnd };

  virtual ~Snapshots() = default;
  virtual Readers& readers() = 0;
  // Fills message with what comes after the former one, if there is something; must not block.
  virtual Next next(Message& message) = 0;
  // When the readers are told to end: fills message with what is to be said before that, if there is
  // something.
  virtual bool last(Message& /*message*/) { return false; }
};

// At most one write is in flight; a slow reader gets the next message when it is ready for one, and costs
// nothing until then. It owns itself until gRPC says OnDone.
template <typename Message>
class SnapshotStream final : public grpc::ServerWriteReactor<Message>, public FeedReader {
 public:
  // on_done is called once, when gRPC needs the stream no more.
  static SnapshotStream* open(
      std::unique_ptr<Snapshots<Message>> snapshots, std::function<void()> on_done = [] {}) {
    const auto stream = std::make_shared<SnapshotStream>(std::move(snapshots), std::move(on_done));
    stream->self_ = stream;
    stream->snapshots_->readers().subscribe(stream);
    stream->advance();
    return stream.get();
  }

  SnapshotStream(std::unique_ptr<Snapshots<Message>> snapshots, std::function<void()> on_done)
      : snapshots_(std::move(snapshots)), on_done_(std::move(on_done)) {}

  void on_news() override { advance(); }
  void on_closed() override { end(true); }
  void OnCancel() override { end(false); }

  void OnWriteDone(bool ok) override {
    {
      const std::lock_guard lock(mutex_);
      message_.reset();
      if (!ok) {
        ending_ = true;
        has_last_ = false;
      }
    }
    advance();
  }

  void OnDone() override {
    snapshots_->readers().unsubscribe(this);
    on_done_();
    const auto last = std::move(self_);
  }

 private:
  // told: by the readers, and whoever is at the other end listens still.
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
    const Message* to_write = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (message_ || finished_) return;
      if (!ending_) {
        auto message = std::make_unique<Message>();
        switch (snapshots_->next(*message)) {
          case Snapshots<Message>::Next::kNoneYet:
            return;
          case Snapshots<Message>::Next::kMessage:
            message_ = std::move(message);
            to_write = message_.get();
            break;
          case Snapshots<Message>::Next::kEnd:
            ending_ = true;
            break;
        }
      }
      if (ending_ && std::exchange(has_last_, false)) {
        auto message = std::make_unique<Message>();
        if (snapshots_->last(*message)) {
          message_ = std::move(message);
          to_write = message_.get();
        }
      }
      finished_ = ending_ && to_write == nullptr;
    }
    if (to_write != nullptr)
      this->StartWrite(to_write);
    else
      this->Finish(grpc::Status::OK);
  }

  std::unique_ptr<Snapshots<Message>> snapshots_;
  std::function<void()> on_done_;
  std::shared_ptr<SnapshotStream> self_;
  std::mutex mutex_;
  std::unique_ptr<Message> message_;  // while its write is in flight
  bool ending_ = false;
  bool has_last_ = false;  // perhaps: see Snapshots::last
  bool finished_ = false;
};

}  // namespace plughost
