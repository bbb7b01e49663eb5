#pragma once
// Tracks the devices that pods hold: records them at each Allocate, and verifies them with the kubelet until
// the pods have ended.

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

// One object serves all resources. Loop thread only.
class HeldDevices {
 public:
  using Clock = EventLoop::Clock;

  // `read` queries the kubelet. Calls `changed`, never from within a call, when the set of blocked devices
  // has changed. For `complete` see Ledger. `loop` and `log` must outlive this object.
  HeldDevices(EventLoop& loop, Log& log, HoldingsPoll::Read read, std::function<void()> changed,
              bool complete = true);
  HeldDevices& operator=(HeldDevices&&) = delete;

  const std::shared_ptr<Ledger>& ledger() const { return ledger_; }
  // See Ledger::list() and lead().
  void list(const std::string& resource, std::span<const Device> devices,
            const std::map<std::string, std::vector<std::string>>& units_elsewhere = {});
  // Records the checkpoint's holders unless holders are known already. After a reload, records them in any
  // case, because a device that was shared before may be held.
  void load_holds(const Checkpoint& checkpoint, bool reloaded = false);
  // Returns true if a pod holds the device. Then also queries the kubelet, because the pod may have ended.
  bool held(const std::string& resource, const std::string& id);

 private:
  void on_answer(const PodResources::Answer& answer);
  void log_double_holds(const Holdings& holdings);
  void refresh();

  Log& log_;
  const std::function<void()> changed_;
  bool told_ = false;               // the checkpoint or the kubelet has reported holders
  std::set<Ledger::Name> doubles_;  // double holds that have been logged
  std::uint64_t version_ = 0;       // of the ledger, at the last call of changed_
  HoldingsPoll poll_;
  Timer relay_;
  Lifetime lifetime_;
  const std::shared_ptr<Ledger> ledger_;
};

}  // namespace plughost
