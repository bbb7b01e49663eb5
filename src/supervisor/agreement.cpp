#include "supervisor/agreement.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text.hpp"

namespace plughost {
namespace {

constexpr std::size_t kMostNamed = 3;

std::string named(const std::vector<std::string>& ids) {
  const std::vector<std::string> first(
      ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(std::min(ids.size(), kMostNamed)));
  return std::to_string(ids.size()) + " (" + joined(first, ", ") + (ids.size() > kMostNamed ? ", …)" : ")");
}

}  // namespace

std::string Disagreement::text() const {
  std::string text;
  if (!missing.empty())
    text = "of " + std::to_string(healthy) + " Healthy devices it does not count " + named(missing);
  if (!extra.empty())
    text += (text.empty() ? "it counts " : ", and it counts ") + named(extra) +
            " that it was not sent as Healthy";
  return text;
}

Disagreement compare(const Inventory& sent, const std::vector<std::string>& counted) {
  std::vector<std::string> healthy;
  sent.for_each_share([&](std::string id, const Device& /*device*/, bool is_healthy) {
    if (is_healthy) healthy.push_back(std::move(id));
  });
  if (!std::ranges::is_sorted(healthy)) std::ranges::sort(healthy);  // replicas are not
  Disagreement found{.missing = {}, .extra = {}, .healthy = healthy.size()};
  std::ranges::set_difference(healthy, counted, std::back_inserter(found.missing));
  std::ranges::set_difference(counted, healthy, std::back_inserter(found.extra));
  return found;
}

bool Agreement::take(const Inventory& sent, Time attached_since, Disagreement disagreement, Time now) {
  // Between two answers a kubelet may have gone and another come, whose list is just on its way again.
  if (!sent.lists_same_as(sent_) || since_ < attached_since) since_.reset();
  sent_ = sent;
  found_ = std::move(disagreement);
  if (found_.none()) {
    since_.reset();
    told_ = false;
    pause_.reset();
    not_before_ = {};
    return false;
  }
  if (!since_) since_ = now;
  if (now - *since_ < kLasts) return false;
  told_ = true;
  if (now < not_before_) return false;
  not_before_ = now + pause_.next();
  since_.reset();
  return true;
}

}  // namespace plughost
