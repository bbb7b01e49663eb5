#pragma once
// NVIDIA's cards on a machine, by NVML where it can be loaded, else by what the driver shows in /proc.
// Internal to the kind `gpu`. Worker threads, unless a function says otherwise.

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kinds/gpu/nvidia_gpu.hpp"
#include "kinds/gpu/nvidia_health.hpp"
#include "kinds/gpu/nvml_cards.hpp"
#include "kinds/kind.hpp"

namespace plughost {

enum class MigStrategy {
  kNone,    // cards, whether they are divided or not
  kSingle,  // every card is divided into the same parts: these are the devices
  kMixed,   // the parts of cards that are divided, and the other cards
};

class NvidiaGpus {
 public:
  // What cannot be had by an event is asked for so often: NVML's events among it.
  static constexpr std::chrono::seconds kInterval{5};

  struct Terms {
    MigStrategy mig = MigStrategy::kNone;
    bool health_checks = true;
    XidPolicy xids;
    std::string driver_root;  // empty: the machine's own
  };
  using Now = NvidiaHealth::Now;

  // library: as dlopen takes it; empty: there is none.
  NvidiaGpus(Terms terms, std::string library, Now now);
  // Does not wait until NVML has let its cards go; the end of the process does, for a moment.
  ~NvidiaGpus();
  // Within patience, NVML has let go what had to be. Thread-safe.
  static bool all_let_go(std::chrono::milliseconds patience);
  NvidiaGpus& operator=(NvidiaGpus&&) = delete;

  // While one lives, others wait: an entry that comes back may find the scan of its former life in a driver
  // that hangs.
  using Session = std::unique_ptr<NvidiaGpus, void (*)(NvidiaGpus* gpus)>;
  Session open_session();
  // At rest NVML is closed, without waiting for it, at the latest when the scan that is under way has ended;
  // its cards are those that it told last, and Unhealthy. Thread-safe.
  void rest(bool at_rest) {
    at_rest_ = at_rest;
    close_at_rest();
  }

  // In a Session. Adds to scan what has to be followed, and remarks.
  std::vector<NvidiaGpu> find(const HostRoot& host, Scan& scan);
  // Adds remarks on those of the cards found last that are left in `taken`. Throws std::runtime_error if
  // these do not allow the MIG strategy. Devices of other sources may be among them.
  void check_mig(Scan& taken) const;
  // In a Session. The file of NVML's library, as a path of the process; empty: it is not loaded; nullopt: it
  // is at rest.
  std::optional<std::string> library() const {
    if (nvml_cards_) return nvml_cards_->library();
    return rests() ? std::nullopt : std::optional<std::string>("");
  }
  // The card or part is taken to be well, and so is the card of a part. Thread-safe.
  void forgive(const std::string& uuid);

 private:
  void close_at_rest();
  bool rests() const { return at_rest_ && !told_.empty(); }
  void forget_forgiven(const std::vector<NvmlCard>& cards);
  // Loads NVML. Why not; nullopt: it is there.
  std::optional<Nvml::Unusable> open(const HostRoot& host);
  std::vector<NvidiaGpu> without_nvml(const HostRoot& host, const Nvml::Unusable& why, Scan& scan) const;
  std::vector<NvidiaGpu> of_nvml(const std::vector<NvmlCard>& cards);
  std::vector<NvidiaGpu> by_strategy(const std::vector<NvmlCard>& cards);

  Terms terms_;
  std::string library_;
  Now now_;
  NvidiaHealth health_;
  std::atomic<bool> at_rest_ = false;
  std::mutex looking_;
  std::mutex mutex_;
  std::set<std::string> forgiven_;         // since the last scan
  std::unique_ptr<NvmlCards> nvml_cards_;  // nullptr: NVML cannot be used, or is not loaded yet
  std::vector<NvidiaGpu> told_;            // by NVML, the last time that it told
  std::map<std::string, bool> divided_;    // by UUID, whether its card has MIG on; filled by find()
};

}  // namespace plughost
