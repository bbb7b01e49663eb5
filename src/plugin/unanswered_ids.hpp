#pragma once
// The ids of Allocate calls that have no answer yet. Thread-safe.

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace plughost {

// Kubelets up to 1.37 can ask for one id for two pods at the same time (kubernetes/kubernetes#137534). The
// ids of a resource are claimed by one call at a time, for as long as its caller waits.
class UnansweredIds {
 public:
  using Cancelled = std::function<bool()>;
  using Ids = std::vector<std::string_view>;

  // One call's ids, until it is destroyed, which is cheap: the loop does it.
  class Claim {
   public:
    Claim(UnansweredIds& of, Ids ids, Cancelled cancelled)
        : of_(of), ids_(std::move(ids)), cancelled_(std::move(cancelled)) {}
    ~Claim() {
      const std::lock_guard lock(of_.mutex_);
      std::erase(of_.claims_, this);
    }
    Claim& operator=(Claim&&) = delete;

   private:
    friend class UnansweredIds;
    UnansweredIds& of_;
    const Ids ids_;  // sorted
    const Cancelled cancelled_;
  };

  // Returns the claim, or the first of the ids that another call has claimed whose caller still waits.
  // cancelled: whether this call's caller has gone, as a kubelet that was restarted; called from any thread,
  // until the claim is destroyed. The claim must not outlive this, nor the texts of the ids.
  std::variant<std::unique_ptr<Claim>, std::string> claim(Ids ids, Cancelled cancelled) {
    std::ranges::sort(ids);
    const std::lock_guard lock(mutex_);
    for (const Claim* const other : claims_) {
      const std::string_view id = first_common(ids, other->ids_);
      if (!id.empty() && !other->cancelled_()) return std::string(id);
    }
    auto claim = std::make_unique<Claim>(*this, std::move(ids), std::move(cancelled));
    claims_.push_back(claim.get());
    return claim;
  }

 private:
  // Both are sorted. Empty: there is none.
  static std::string_view first_common(const Ids& some, const Ids& others) {
    auto other = others.begin();
    for (const std::string_view id : some) {
      while (other != others.end() && *other < id) ++other;
      if (other != others.end() && *other == id) return id;
    }
    return {};
  }

  std::mutex mutex_;
  std::vector<const Claim*> claims_;
};

}  // namespace plughost
