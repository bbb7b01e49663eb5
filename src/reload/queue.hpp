#pragma once
// Who waits for a reload: those who ask alike are answered by one that began after all of them had asked. A
// value; not thread-safe.

#include <deque>
#include <utility>
#include <vector>

#include "reload/reload.hpp"

namespace plughost {

class ReloadQueue {
 public:
  struct Batch {
    ReloadOrder order;
    std::vector<ReloadDone> waiting;  // nobody: it is for what has changed
  };

  void ask(ReloadOrder order, ReloadDone done) {
    // The one that is under way may have read the file before it was written.
    const bool joins = batches_.size() > (under_way_ ? 1u : 0u) && batches_.back().order == order;
    if (!joins) batches_.push_back({order, {}});
    batches_.back().waiting.push_back(std::move(done));
  }
  // For nobody who waits: if the files say the same as before, nothing is to be done.
  void ask_if_changed() {
    if (batches_.size() == (under_way_ ? 1u : 0u)) batches_.push_back({});
  }
  // True: a reload is to begin now; end() follows.
  bool begin() {
    if (under_way_ || batches_.empty()) return false;
    under_way_ = true;
    return true;
  }
  // Nobody waits for one.
  bool idle() const { return batches_.empty(); }
  // Of the one that was under way.
  Batch end() {
    Batch batch = std::move(batches_.front());
    batches_.pop_front();
    under_way_ = false;
    return batch;
  }

 private:
  std::deque<Batch> batches_;
  bool under_way_ = false;  // the first one
};

}  // namespace plughost
