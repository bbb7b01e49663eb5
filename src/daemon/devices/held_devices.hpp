#pragma once
// Tracks the devices that pods hold: records them at each Allocate, and verifies them with the kubelet until
// the pods have ended.

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

// For all resources. Loop thread only.
class HeldDevices {
 public:
  using Clock = EventLoop::Clock;

  // read: queries the kubelet. changed: the set of blocked devices has changed; not called from within. loop
  // and log must outlive it.
  HeldDevices(EventLoop& loop, Log& log, HoldingsPoll::Read read, std::function<void()> changed);
  HeldDevices& operator=(HeldDevices&&) = delete;

  const std::shared_ptr<Ledger>& ledger() const { return ledger_; }
  // See Ledger::list() and lead().
  void list(const std::string& resource, std::span<const Device> devices,
            const std::map<std::string, std::vector<std::string>>& units_elsewhere = {});
  // Records the checkpoint's holders until the kubelet has answered, and again after a reload, because a
  // device that was shared before may be held.
  void load_holds(const Checkpoint& checkpoint, bool reloaded = false);
  // Returns true if a pod holds the device, and verifies that with the kubelet: the pod may have ended.
  bool held(const std::string& resource, const std::string& id);

 private:
  void on_answer(const PodResources::Answer& answer);
  void log_double_holds(const Holdings& holdings);
  void refresh();

  Log& log_;
  const std::function<void()> changed_;
  bool told_ = false;               // by the checkpoint or the kubelet
  std::set<Ledger::Name> doubles_;  // that have been logged
  std::uint64_t version_ = 0;       // of the ledger, at the last call of changed_
  HoldingsPoll poll_;
  Timer relay_;
  Lifetime lifetime_;
  const std::shared_ptr<Ledger> ledger_;
};

}  // namespace plughost
