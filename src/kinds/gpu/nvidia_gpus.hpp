#pragma once
// NVIDIA's cards, from NVML if it can be loaded, and from /proc otherwise. Internal to the kind `gpu`. Worker
// threads, unless a function says otherwise.

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "kinds/gpu/nvidia_gpu.hpp"
#include "kinds/gpu/nvidia_health.hpp"
#include "kinds/gpu/nvml_cards.hpp"
#include "kinds/kind.hpp"

namespace plughost {

enum class MigStrategy {
  kNone,    // whole cards, divided or not
  kSingle,  // all cards are divided into equal parts, which are the devices
  kMixed,   // the parts of divided cards, and the undivided cards
};

class NvidiaGpus {
 public:
  // The interval for polling state that causes no events, and for reading NVML's events.
  static constexpr std::chrono::seconds kInterval{5};

  struct Terms {
    MigStrategy mig = MigStrategy::kNone;
    bool health_checks = true;
    XidPolicy xids;
    std::string driver_root;  // empty: the host's root
  };

  // `library` is as for dlopen; empty if there is none.
  NvidiaGpus(Terms terms, std::string library);
  // Does not wait until NVML has released its cards. When the process ends, it waits for that for a moment.
  ~NvidiaGpus();
  // Returns true if NVML has released everything within `patience`. Thread-safe.
  static bool all_let_go(std::chrono::milliseconds patience);
  NvidiaGpus& operator=(NvidiaGpus&&) = delete;

  // Exclusive use: other sessions wait, because a former scan of an entry that is configured again may still
  // be blocked in the driver.
  using Session = std::unique_ptr<NvidiaGpus, void (*)(NvidiaGpus* gpus)>;
  Session open_session();
  // While at rest, NVML is closed (asynchronously, at the latest after the present scan), and its last cards
  // are reported as Unhealthy. Thread-safe.
  void rest(bool at_rest) {
    at_rest_ = at_rest;
    close_at_rest();
  }

  // Returns the cards. Adds what must be watched, and remarks, to `scan`. Needs a Session.
  std::vector<NvidiaGpu> find(const HostRoot& host, Scan& scan);
  // Adds remarks about those of the last found cards that are in `taken`, which may contain devices of other
  // vendors. Throws std::runtime_error if these cards contradict the MIG strategy.
  void check_mig(Scan& taken) const;
  // Returns NVML's library as a path of this process; "" if not loaded, nullopt at rest. Needs a Session.
  std::optional<std::string> library() const {
    if (nvml_cards_) return nvml_cards_->library();
    return rests() ? std::nullopt : std::optional<std::string>("");
  }
  // Sets a lasting fault of the card or part. Empty: treats it, and a part's card, as healthy. Thread-safe.
  void set_fault(const std::string& uuid, const std::string& fault);

 private:
  void close_at_rest();
  bool rests() const { return at_rest_ && !told_.empty(); }
  void take_faults(const std::vector<NvmlView::Card>& cards);
  // Loads NVML. Returns why it cannot be used; nullopt if it can.
  std::optional<Nvml::Unusable> open(const HostRoot& host);
  std::vector<NvidiaGpu> without_nvml(const HostRoot& host, const Nvml::Unusable& why, Scan& scan) const;
  std::vector<NvidiaGpu> of_nvml(const std::vector<NvmlView::Card>& cards);
  std::vector<NvidiaGpu> by_strategy(const std::vector<NvmlView::Card>& cards);

  Terms terms_;
  std::string library_;
  NvidiaHealth health_;
  std::atomic<bool> at_rest_ = false;
  std::mutex looking_;
  std::mutex mutex_;
  std::map<std::string, std::string> faults_;  // see set_fault(), by UUID; since the last scan
  std::unique_ptr<NvmlCards> nvml_cards_;      // nullptr: NVML cannot be used, or is not loaded yet
  std::vector<NvidiaGpu> told_;                // the devices of NVML's last successful query
  std::map<std::string, bool> divided_;        // by UUID: whether the card has MIG enabled; filled by find()
};

}  // namespace plughost
