#pragma once
// Who holds which devices, as the kubelet tells: what Allocates give is known at once, and asked about until
// the pods have gone.

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>

#include "base/log/log.hpp"
#include "base/system/event_loop.hpp"
#include "daemon/platform/kubelet_link.hpp"
#include "kubernetes/kubelet/checkpoint.hpp"
#include "model/allocate/ledger.hpp"

namespace plughost {

// Of all resources. Loop thread only.
class HeldDevices {
 public:
  using Clock = EventLoop::Clock;

  // read: asks the kubelet. changed: the ledger blocks others than before; not called from within. loop and
  // log outlive it.
  HeldDevices(EventLoop& loop, Log& log, HoldingsPoll::Read read, std::function<void()> changed);
  HeldDevices& operator=(HeldDevices&&) = delete;

  const std::shared_ptr<Ledger>& ledger() const { return ledger_; }
  // See Ledger::list() and lead().
  void list(const std::string& resource, std::span<const Device> devices,
            const std::map<std::string, std::vector<std::string>>& units_elsewhere = {});
  // Counts the holds of the checkpoint until the kubelet has answered, and again after a reload: a device
  // that was shared until then may be held.
  void load_holds(const Checkpoint& checkpoint, bool reloaded = false);
  // Does a pod hold the device? Asked of the kubelet anew: it may have gone.
  bool held(const std::string& resource, const std::string& id);

 private:
  void on_answer(const PodResources::Answer& answer);
  void log_double_holds(const Holdings& holdings);
  void refresh();

  Log& log_;
  const std::function<void()> changed_;
  bool told_ = false;               // by the checkpoint, or the kubelet
  std::set<Ledger::Name> doubles_;  // that were told of
  std::uint64_t version_ = 0;       // of the ledger, when changed_ was called last
  HoldingsPoll poll_;
  Timer relay_;
  Lifetime lifetime_;
  const std::shared_ptr<Ledger> ledger_;
};

}  // namespace plughost
