#pragma once
// The fewest devices that a kubelet has counted.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>

#include "kubelet/standin_kubelet.hpp"

namespace plughost::test {

// The fewest Healthy devices of a resource that the kubelet has counted since the first list.
class Fewest {
 public:
  explicit Fewest(std::string resource) : resource_(std::move(resource)) {}

  StandInKubelet::OnEvent listener() {
    return [this](const KubeletEvent& event) {
      if (event.resource != resource_) return;
      if (event.type == KubeletEvent::Type::kList || begun_)
        fewest_ = std::min(fewest_.load(), event.healthy);
      begun_ = begun_ || event.type == KubeletEvent::Type::kList;
    };
  }
  std::size_t count() const { return fewest_; }

 private:
  const std::string resource_;
  std::atomic<bool> begun_ = false;
  std::atomic<std::size_t> fewest_ = std::numeric_limits<std::size_t>::max();
};

}  // namespace plughost::test
