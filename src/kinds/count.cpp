// `count: 10`: a number of devices without hardware.

#include "kinds/kind.hpp"

namespace plughost {
namespace {

constexpr unsigned kMostDevices = 1'000'000;  // more than a message can list with any ids

class Count final : public DeviceSource {
 public:
  explicit Count(unsigned count) : count_(count) {}

  Scan scan(const HostRoot&) const override { return {.devices = fixed_devices()}; }

  std::vector<Device> fixed_devices() const override {
    std::vector<Device> devices(count_);
    for (unsigned n = 0; n < count_; ++n) devices[n].id = std::to_string(n);
    return devices;
  }

 private:
  unsigned count_;
};

std::unique_ptr<const DeviceSource> read_count(Fields& entry) {
  return std::make_unique<Count>(entry.number("count", 1, 1, kMostDevices));
}

}  // namespace

Kind count_kind() { return {.default_id = "{resource}-{n}", .read = read_count}; }

}  // namespace plughost
