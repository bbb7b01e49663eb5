#include "device/health_changes.hpp"

namespace plughost {
namespace {

constexpr std::size_t kMostNames = 5;

// The first names, and then how many more.
class Gathering {
 public:
  void add(const Device& device) {
    const std::string why = device.reason();
    if (count_ == 0) why_ = why;
    differ_ = differ_ || why != why_;
    if (count_++ < kMostNames) names_ += (names_.empty() ? "" : ", ") + device.id;
  }

  HealthChanges::Group finish() && {
    if (count_ > kMostNames) names_ += " and " + std::to_string(count_ - kMostNames) + " more";
    if (differ_) why_ += ", and others";
    return {.count = count_, .names = std::move(names_), .why = std::move(why_)};
  }

 private:
  std::size_t count_ = 0;
  bool differ_ = false;
  std::string names_;
  std::string why_;
};

}  // namespace

HealthChanges health_changes(std::span<const Device> before, std::span<const Device> after) {
  Gathering unhealthy;
  Gathering healthy;
  Gathering forgotten;
  auto old = before.begin();
  for (const Device& device : after) {
    for (; old != before.end() && old->id < device.id; ++old) forgotten.add(*old);
    const bool listed = old != before.end() && old->id == device.id;
    if (!device.healthy() && (!listed || old->healthy())) unhealthy.add(device);
    if (device.healthy() && listed && !old->healthy()) healthy.add(device);
    if (listed) ++old;
  }
  for (; old != before.end(); ++old) forgotten.add(*old);
  return {.unhealthy = std::move(unhealthy).finish(),
          .healthy = std::move(healthy).finish(),
          .forgotten = std::move(forgotten).finish()};
}

}  // namespace plughost
