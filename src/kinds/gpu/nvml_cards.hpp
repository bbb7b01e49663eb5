#pragma once
// NVIDIA's cards according to NVML, from loading the library to releasing the cards. Worker threads, never
// concurrently.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/hardware/host_root.hpp"
#include "host/hardware/nvml.hpp"
#include "kinds/gpu/nvidia_health.hpp"
#include "kinds/kind.hpp"

namespace plughost {

struct NvmlCard : NvmlView::Card {
  NvmlDevice handle;
};

class NvmlCards {
 public:
  struct Terms {
    bool parts = false;  // the parts of divided cards are needed
    bool health_checks = true;
    XidPolicy xids;
  };

  // Reports errors to `health`, by the UUID of the card or part. `health` must outlive this object.
  NvmlCards(std::unique_ptr<Nvml> nvml, Terms terms, NvidiaHealth& health);

  // Returns true if a card was unbound from its driver since the last scan. NVML's handles hold the card back
  // until this object is destroyed; the driver resets a card before it is bound again.
  bool some_card_left(const HostRoot& host);
  // Returns all cards by index, with the former data of a failing card; reads and processes the cards'
  // events. Adds remarks to `scan`. A failure means that NVML does not even return the number of cards, and
  // must be reloaded.
  NvmlResult<std::vector<NvmlView::Card>> query(const HostRoot& host, Scan& scan);
  // See Nvml::file().
  const std::string& library() const { return nvml_->file(); }

 private:
  std::optional<NvmlCard> query_card(unsigned index, const HostRoot& host, Scan& scan);
  std::optional<NvmlFailure> read_card(NvmlCard& card) const;
  std::optional<NvmlFailure> read_parts(NvmlCard& card, const HostRoot& host) const;
  void measure(std::vector<NvmlCard>& cards);
  void follow(const NvmlCard& card);
  // Records that the card and its parts were reset.
  void record_reset(const NvmlCard& card);
  void read_events(const std::vector<NvmlCard>& cards);
  void record_event(const NvmlEvent& event, const std::vector<NvmlCard>& cards);

  std::unique_ptr<Nvml> nvml_;
  Terms terms_;
  NvidiaHealth& health_;
  std::map<unsigned, NvmlCard> known_;   // by index: the last complete data
  std::set<std::string> followed_;       // UUIDs of cards that report events
  std::set<std::string> ask_for_reset_;  // UUIDs of cards that are lost, or whose driver requests a reset
  std::set<std::string> bound_;          // PCI addresses of cards that have been bound to the driver
  // The distances of the cards, which are queried again only when the set of cards has changed.
  std::set<std::string> measured_;                  // UUIDs
  std::map<std::string, std::vector<Bond>> bonds_;  // by UUID
};

// Returns NVML's results on this machine. `library` is as for dlopen.
NvmlView query_nvml(const HostRoot& host, const std::string& library = Nvml::kLibrary);

}  // namespace plughost
