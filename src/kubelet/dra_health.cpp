#include "kubelet/dra_health.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/text.hpp"
#include "base/utf8.hpp"
#include "device/first_names.hpp"
#include "drahealth/v1alpha1/drahealth.grpc.pb.h"
#include "kubelet/snapshot_stream.hpp"

namespace plughost {

namespace {

constexpr std::chrono::seconds kHolds = std::chrono::years{1};
// The API's limit, less what shortened() adds.
constexpr std::size_t kLongestMessage = 1024 - 3;
// gRPC's own limit in the kubelet is 4 MiB for the whole list.
constexpr std::size_t kMessagesRoom = 1 << 20;

class HealthLists final : public Snapshots<v1alpha1::NodeWatchResourcesResponse> {
 public:
  explicit HealthLists(std::shared_ptr<HealthFeed> feed) : feed_(std::move(feed)) {}

  Readers& readers() override { return feed_->readers(); }
  Next next(v1alpha1::NodeWatchResourcesResponse& message) override {
    const HealthFeed::Newest newest = feed_->newest();
    if (!newest.pools || newest.telling == told_) return Next::kNoneYet;
    told_ = newest.telling;
    const auto now =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
    std::size_t count = 0;
    for (const PoolHealth& pool : *newest.pools) count += pool.devices.size();
    const std::size_t longest = std::min(kLongestMessage, kMessagesRoom / std::max<std::size_t>(count, 1));
    for (const PoolHealth& pool : *newest.pools) {
      for (const DeviceHealth& device : pool.devices) {
        v1alpha1::DeviceHealth& to = *message.add_devices();
        to.mutable_device()->set_pool_name(pool.pool);
        to.mutable_device()->set_device_name(device.device);
        to.set_health(device.healthy ? v1alpha1::HEALTHY : v1alpha1::UNHEALTHY);
        to.set_last_updated_time(now.count());
        to.set_health_check_timeout_seconds(kHolds.count());
        to.set_message(shortened(printable(with_valid_utf8(device.message)), longest));
      }
    }
    return Next::kMessage;
  }

 private:
  std::shared_ptr<HealthFeed> feed_;
  std::uint64_t told_ = 0;
};

class HealthService final : public v1alpha1::DRAResourceHealth::CallbackService {
 public:
  HealthService(std::shared_ptr<HealthFeed> feed, std::function<void(int)> readers_changed)
      : feed_(std::move(feed)), readers_changed_(std::move(readers_changed)) {}

  grpc::ServerWriteReactor<v1alpha1::NodeWatchResourcesResponse>* NodeWatchResources(
      grpc::CallbackServerContext* /*context*/,
      const v1alpha1::NodeWatchResourcesRequest* /*request*/) override {
    readers_changed_(1);
    return SnapshotStream<v1alpha1::NodeWatchResourcesResponse>::open(
        std::make_unique<HealthLists>(feed_), [changed = readers_changed_] { changed(-1); });
  }

 private:
  const std::shared_ptr<HealthFeed> feed_;
  const std::function<void(int)> readers_changed_;
};

}  // namespace

void HealthFeed::set(std::vector<PoolHealth> pools) {
  // Nobody else sets it: what is compared here is what will be replaced.
  const Newest former = newest();
  if (former.pools && *former.pools == pools) return;
  auto next = std::make_shared<const std::vector<PoolHealth>>(std::move(pools));
  {
    const std::lock_guard lock(mutex_);
    newest_.pools.swap(next);  // the former one is destroyed after the lock
    ++newest_.telling;
  }
  readers_.tell();
}

void HealthFeed::repeat() {
  {
    const std::lock_guard lock(mutex_);
    ++newest_.telling;
  }
  readers_.tell();
}

HealthFeed::Newest HealthFeed::newest() const {
  const std::lock_guard lock(mutex_);
  return newest_;
}

std::unique_ptr<grpc::Service> make_health_service(std::shared_ptr<HealthFeed> feed,
                                                   std::function<void(int)> readers_changed) {
  return std::make_unique<HealthService>(std::move(feed), std::move(readers_changed));
}

}  // namespace plughost
