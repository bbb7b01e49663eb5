#pragma once
// A simulated machine with an entry. Loop thread only, except Machine.

#include <condition_variable>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "config/config.hpp"
#include "unit/daemon/platform/process.hpp"

namespace plughost::test {

// A machine whose devices the test sets. Thread-safe.
class Machine {
 public:
  void show(Scan scan) {
    const std::lock_guard lock(mutex_);
    scan_ = std::move(scan);
  }
  void fail(std::string why) {
    const std::lock_guard lock(mutex_);
    why_ = std::move(why);
  }
  // If `hangs`, stalls the scans that begin from now on; otherwise releases all stalled scans.
  void hang(bool hangs) {
    const std::lock_guard lock(mutex_);
    hangs_at_ = hangs ? scans_ + 1 : kNever;
    changed_.notify_all();
  }
  // Stalls the scan with this number and later scans until hang(false); earlier scans end.
  void hang_at(int scan) {
    const std::lock_guard lock(mutex_);
    hangs_at_ = scan;
    changed_.notify_all();
  }
  int scans() const {
    const std::lock_guard lock(mutex_);
    return scans_;
  }
  // Records the last call of the source's rest(); at_rest() is nullopt before the first call.
  void rest(bool at_rest) {
    const std::lock_guard lock(mutex_);
    at_rest_ = at_rest;
  }
  std::optional<bool> at_rest() const {
    const std::lock_guard lock(mutex_);
    return at_rest_;
  }
  // Sets the device's fault for later scans; empty: none.
  void set_fault(const std::string& id, const std::string& fault) {
    const std::lock_guard lock(mutex_);
    faults_[id] = fault;
  }

  Scan scan() {
    std::unique_lock lock(mutex_);
    const int number = ++scans_;
    changed_.wait(lock, [&] { return number < hangs_at_; });
    if (!why_.empty()) throw std::runtime_error(why_);
    Scan seen = scan_;
    for (Device& device : seen.devices) {
      const auto fault = faults_.find(device.id);
      if (fault == faults_.end()) continue;
      device.error = fault->second;
      device.lasting = !fault->second.empty();
    }
    return seen;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Scan scan_;
  std::string why_;
  static constexpr int kNever = std::numeric_limits<int>::max();
  int hangs_at_ = kNever;
  int scans_ = 0;
  std::optional<bool> at_rest_;
  std::map<std::string, std::string> faults_;
};

class Source final : public DeviceSource {
 public:
  explicit Source(std::shared_ptr<Machine> machine) : machine_(std::move(machine)) {}
  Scan scan(const HostRoot&) const override { return machine_->scan(); }
  void rest(bool at_rest) const override { machine_->rest(at_rest); }
  void set_fault(const Device& device, const std::string& fault) const override {
    machine_->set_fault(device.id, fault);
  }

 private:
  std::shared_ptr<Machine> machine_;
};

// Returns an entry that lists the machine's devices.
inline ResourceConfig entry_of(const std::shared_ptr<Machine>& machine, const char* name = "x.com/a") {
  AllocationSpec spec;
  spec.name = Template(name);
  ResourceConfig entry;
  entry.spec = std::make_shared<const AllocationSpec>(spec);
  entry.source = std::make_shared<const Source>(machine);
  entry.content = std::to_string(reinterpret_cast<std::uintptr_t>(machine.get()));
  return entry;
}

}  // namespace plughost::test
