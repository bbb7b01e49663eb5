#pragma once
// NVIDIA's cards as NVML tells them, from the loading of its library until it lets the cards go; and as a
// value that a recorded machine has. Worker threads, never two at once.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/hardware/host_root.hpp"
#include "host/hardware/nvml.hpp"
#include "kinds/gpu/nvidia_gpu.hpp"
#include "kinds/gpu/nvidia_health.hpp"
#include "kinds/kind.hpp"

namespace plughost {

struct NvmlCard {
  NvmlDevice handle;
  NvidiaGpu facts;
  bool divided = false;
  std::string fabric_error;  // see Nvml
  struct Part {
    NvidiaGpu facts;
    unsigned gpu_instance = NvmlEvent::kWholeCard;
    unsigned compute_instance = NvmlEvent::kWholeCard;
  };
  std::vector<Part> parts;
};

class NvmlCards {
 public:
  struct Terms {
    bool parts = false;  // are those of divided cards wanted?
    bool health_checks = true;
    XidPolicy xids;
  };

  // health, which outlives it, is told of what goes wrong with a card or a part, by UUID.
  NvmlCards(std::unique_ptr<Nvml> nvml, Terms terms, NvidiaHealth& health, NvidiaHealth::Now now);

  // True: a card was unbound from its driver since the last scan. The handles that NVML has of it hold it
  // back until this is destroyed; its driver resets it before it is bound again.
  bool some_card_left(const HostRoot& host);
  // Every card by its index, one that fails now as it was before; its events are taken out and noted. Adds
  // remarks to scan. A failure: NVML does not even tell how many there are, and has to be loaded anew.
  NvmlResult<std::vector<NvmlCard>> query(const HostRoot& host, Scan& scan);
  // See Nvml::file().
  const std::string& library() const { return nvml_->file(); }

 private:
  std::optional<NvmlCard> query_card(unsigned index, const HostRoot& host, Scan& scan);
  std::optional<NvmlFailure> read_card(NvmlCard& card) const;
  std::optional<NvmlFailure> read_parts(NvmlCard& card, const HostRoot& host) const;
  void measure(std::vector<NvmlCard>& cards);
  void follow(const NvmlCard& card);
  // The card and its parts were reset.
  void record_reset(const NvmlCard& card);
  void read_events(const std::vector<NvmlCard>& cards);
  void record_event(const NvmlEvent& event, const std::vector<NvmlCard>& cards);

  std::unique_ptr<Nvml> nvml_;
  Terms terms_;
  NvidiaHealth& health_;
  NvidiaHealth::Now now_;
  std::map<unsigned, NvmlCard> known_;   // by index, as they were when they last answered
  std::set<std::string> followed_;       // UUIDs
  std::set<std::string> ask_for_reset_;  // UUIDs of cards that are lost, or whose driver asks for it
  std::set<std::string> bound_;          // PCI addresses of cards that have been seen bound to the driver
  // Who is near whom changes with the cards only.
  std::set<std::string> measured_;                  // UUIDs
  std::map<std::string, std::vector<Bond>> bonds_;  // by UUID
};

// library: as dlopen takes it.
NvmlView query_nvml(const HostRoot& host, const std::string& library = Nvml::kLibrary);

std::vector<NvmlCard> cards_in(const NvmlView& view);

}  // namespace plughost
