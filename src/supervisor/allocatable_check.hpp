#pragma once
// Asks the kubelet which devices it would give, and holds that against what it was sent. Loop thread only.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/lifetime.hpp"
#include "supervisor/agreement.hpp"
#include "supervisor/kubelet_link.hpp"

namespace plughost {

class AllocatableCheck {
 public:
  // While the kubelet disagrees it is asked so often.
  static constexpr std::chrono::seconds kAgain{1};

  struct Subject {
    std::string resource;
    Inventory sent;
    std::optional<EventLoop::Clock::time_point> attached_since;  // nullopt: no stream is open
  };
  struct Hooks {
    std::function<std::vector<Subject>()> subjects;
    std::function<void(const std::string& resource)> register_anew;
    std::function<void()> changed;  // disagrees() or unknown()
  };

  // platform outlives it.
  AllocatableCheck(Platform& platform, Hooks hooks);

  // Asks that kubelet, at once unless it is being asked, if it has a stream. link outlives the answer, or
  // forget() is called.
  void look(KubeletLink& link);
  // Another kubelet is meant from now on.
  void forget();

  // Has what the kubelet counts been wrong for a while? As a sentence; empty: it has not, as far as is known.
  std::string disagreement(const std::string& resource) const;
  // Why nobody knows what the kubelet counts; empty: it is known, or nobody has asked yet.
  const std::string& unknown() const { return unknown_; }

 private:
  void take(const Allocatable::Count& count);
  void judge(const Subject& subject, const std::vector<std::string>& counted);

  Platform& platform_;
  Hooks hooks_;
  KubeletLink* link_ = nullptr;
  std::map<std::string, Agreement> agreements_;  // by resource
  std::map<std::string, std::string> told_;      // the sentences of those that disagree
  std::string unknown_;
  bool again_ = false;  // asked to look meanwhile
  Timer timer_;
  Lifetime question_;
};

}  // namespace plughost
