#pragma once
// The ids of Allocate calls that have no answer yet. Thread-safe.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <variant>

namespace plughost {

// Kubelets up to 1.37 can ask for one id for two pods at the same time (kubernetes/kubernetes#137534). The
// ids of a resource are claimed by one call at a time, for as long as its caller waits.
class UnansweredIds {
 public:
  using Cancelled = std::function<bool()>;

  // One call's ids, until it is destroyed.
  class Claim {
   public:
    explicit Claim(UnansweredIds& of, std::set<std::string> ids) : of_(&of), ids_(std::move(ids)) {}
    ~Claim() {
      const std::lock_guard lock(of_->mutex_);
      for (const std::string& id : ids_) {
        const auto found = of_->claims_.find(id);
        if (found != of_->claims_.end() && found->second.first == this) of_->claims_.erase(found);
      }
    }
    Claim& operator=(Claim&&) = delete;

   private:
    UnansweredIds* of_;
    std::set<std::string> ids_;
  };

  // Returns the claim, or the first of the ids that another call has claimed whose caller still waits.
  // cancelled: whether this call's caller has gone, as a kubelet that was restarted; called from any thread,
  // until the claim is destroyed. The claim must not outlive this.
  std::variant<std::unique_ptr<Claim>, std::string> claim(const std::set<std::string>& ids,
                                                          const Cancelled& cancelled) {
    const std::lock_guard lock(mutex_);
    for (const std::string& id : ids) {
      const auto found = claims_.find(id);
      if (found != claims_.end() && !found->second.second()) return id;
    }
    auto claim = std::make_unique<Claim>(*this, ids);
    for (const std::string& id : ids) claims_[id] = {claim.get(), cancelled};
    return claim;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::pair<const Claim*, Cancelled>> claims_;  // by id
};

}  // namespace plughost
