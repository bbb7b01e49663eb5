#pragma once
// NVIDIA's cards on a machine, by NVML where it can be loaded, else by what the driver shows in /proc.
// Internal to the kind `gpu`. Worker threads, never two at once.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "host/nvml.hpp"
#include "kinds/gpu/nvidia_health.hpp"
#include "kinds/kind.hpp"

namespace plughost {

enum class MigStrategy {
  kNone,    // cards, whether they are divided or not
  kSingle,  // every card is divided into the same parts: these are the devices
  kMixed,   // the parts of cards that are divided, and the other cards
};

// A card, or a MIG device of one.
struct NvidiaGpu {
  std::string uuid;
  std::string index;  // "0"; of a MIG device "0:1"
  std::string name;
  std::string pci;      // of the card; empty: unknown
  std::string profile;  // of a MIG device: "1g.5gb", with '.' for '+'; empty: a card
  std::optional<unsigned> minor;
  std::uint64_t memory = 0;        // bytes; 0: unknown
  std::vector<std::string> nodes;  // in /dev, without those that all cards share
  std::vector<Bond> bonds;         // to the other cards, and to the other parts of its own
  std::string trouble;
};

class NvidiaGpus {
 public:
  // What cannot be had by an event is asked for so often: NVML's events among it.
  static constexpr std::chrono::seconds kInterval{5};

  struct Terms {
    MigStrategy mig = MigStrategy::kNone;
    bool health_checks = true;
    XidPolicy xids;
  };
  using Now = std::function<NvidiaHealth::Clock::time_point()>;

  // library: as dlopen takes it; empty: there is none.
  NvidiaGpus(Terms terms, std::string library, Now now);
  // Waits for a moment for NVML to let its cards go; a driver that hangs in it is left to itself.
  ~NvidiaGpus();
  NvidiaGpus(const NvidiaGpus&) = delete;
  NvidiaGpus& operator=(const NvidiaGpus&) = delete;

  // Adds to scan what has to be followed, and remarks. Throws std::runtime_error where the cards do not allow
  // the MIG strategy.
  std::vector<NvidiaGpu> find(const HostRoot& host, Scan& scan);

 private:
  struct Card {
    NvmlDevice handle;
    NvidiaGpu facts;
    bool divided = false;
    struct Part {
      NvidiaGpu facts;
      unsigned gpu_instance = NvmlEvent::kWholeCard;
      unsigned compute_instance = NvmlEvent::kWholeCard;
    };
    std::vector<Part> parts;
  };

  bool some_card_left(const HostRoot& host);
  std::vector<Card> look(const HostRoot& host, Scan& scan);
  std::optional<Card> look_at(unsigned index, const HostRoot& host, Scan& scan);
  std::optional<NvmlFailure> read_card(Card& card) const;
  std::optional<NvmlFailure> read_parts(Card& card, const HostRoot& host) const;
  void measure(std::vector<Card>& cards);
  void follow(const Card& card, Scan& scan);
  void take_events(const std::vector<Card>& cards, Scan& scan);
  void take_event(const NvmlEvent& event, const std::vector<Card>& cards);
  std::vector<NvidiaGpu> chosen(const std::vector<Card>& cards, Scan& scan) const;

  Terms terms_;
  std::string library_;
  Now now_;
  std::unique_ptr<Nvml> nvml_;
  std::map<unsigned, Card> known_;  // by index, as they were when they last answered
  std::set<std::string> followed_;  // UUIDs, of this session
  std::set<std::string> bound_;     // PCI addresses of cards that have been seen bound to the driver
  // Who is near whom changes with the cards only.
  std::set<std::string> measured_;                  // UUIDs
  std::map<std::string, std::vector<Bond>> bonds_;  // by UUID
  NvidiaHealth health_;
};

}  // namespace plughost
