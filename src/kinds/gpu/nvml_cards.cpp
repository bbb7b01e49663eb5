#include "kinds/gpu/nvml_cards.hpp"

#include <algorithm>
#include <chrono>
#include <sstream>
#include <utility>
#include <variant>

#include "host/hardware/sysfs.hpp"
#include "kinds/gpu/nvidia_gpu.hpp"

namespace plughost {
namespace {

constexpr unsigned kMostCards = 256;
constexpr std::size_t kMostCapabilities = 4u << 20;  // a line for each possible part
constexpr unsigned kMostEvents = 1000;               // per scan: an endless event set must not block it
constexpr std::uint64_t kEvents = NvmlEvent::kDoubleBitError | NvmlEvent::kXid | NvmlEvent::kMigChanged |
                                  NvmlEvent::kUnavailable | NvmlEvent::kRecoveryAction;

// "NVIDIA A100-SXM4-40GB MIG 1g.5gb+me" → "1g.5gb.me": a resource's name cannot contain '+'.
std::string profile_in(const std::string& name) {
  const std::size_t mig = name.rfind("MIG ");
  std::string profile = mig == std::string::npos ? "" : name.substr(mig + 4);
  std::ranges::replace(profile, '+', '.');
  return profile;
}

// "gpu0/gi1/ci0/access" → the number N of /dev/nvidia-caps/nvidia-capN.
std::map<std::string, std::string> capabilities(const HostRoot& host) {
  std::map<std::string, std::string> minors;
  std::istringstream text(host.text("/proc/driver/nvidia-caps/mig-minors", kMostCapabilities).value_or(""));
  for (std::string name, minor; text >> name >> minor;) minors[name] = minor;
  return minors;
}

// Scores as in NVIDIA's plugin: 60 on one board, 10 less for each further level.
constexpr unsigned kScoreOfALink = 100;
unsigned score_of(NvmlLevel level) {
  return level > NvmlLevel::kCrossCpu ? 0 : 60 - static_cast<unsigned>(level);
}

// Stores the value of a successful call in `place`; returns the failure of any other call.
template <typename T, typename Place>
std::optional<NvmlFailure> keep(NvmlResult<T> result, Place& place) {
  if (auto* failure = std::get_if<NvmlFailure>(&result)) return std::move(*failure);
  place = std::get<T>(std::move(result));
  return std::nullopt;
}

}  // namespace

NvmlCards::NvmlCards(std::unique_ptr<Nvml> nvml, Terms terms, NvidiaHealth& health)
    : nvml_(std::move(nvml)), terms_(std::move(terms)), health_(health) {}

bool NvmlCards::some_card_left(const HostRoot& host) {
  bool left = false;
  for (const auto& [index, card] : known_) {
    const std::string& pci = card.pci;
    const auto device = SysDevice::at(host, "/sys/bus/pci/devices/" + pci);
    if (device && device->driver() == "nvidia")
      bound_.insert(pci);
    else if (bound_.erase(pci) > 0) {
      record_reset(card);
      left = true;
    }
  }
  return left;
}

void NvmlCards::record_reset(const NvmlCard& card) {
  health_.record_reset(card.uuid, LoopClock::now());
  for (const NvmlView::Part& part : card.parts) health_.record_reset(part.uuid, LoopClock::now());
}

NvmlResult<std::vector<NvmlView::Card>> NvmlCards::query(const HostRoot& host, Scan& scan) {
  unsigned count = 0;
  // Fails if the driver was unloaded or replaced.
  if (auto failure = keep(nvml_->count(), count)) return std::move(*failure);
  std::erase_if(known_, [count](const auto& item) { return item.first >= count; });
  std::vector<NvmlCard> cards;
  for (unsigned index = 0; index < std::min(count, kMostCards); ++index)
    if (auto card = query_card(index, host, scan)) cards.push_back(std::move(*card));
  measure(cards);
  if (terms_.health_checks) read_events(cards);
  some_card_left(host);
  return std::vector<NvmlView::Card>(cards.begin(), cards.end());
}

std::optional<NvmlCard> NvmlCards::query_card(unsigned index, const HostRoot& host, Scan& scan) {
  NvmlCard card;
  auto failure = keep(nvml_->device(index), card.handle);
  if (!failure) failure = read_card(card);
  card.index = std::to_string(index);
  if (!failure) failure = read_parts(card, host);
  auto known = known_.find(index);
  // When a card has left the bus, the indexes of later cards change: the data of this index belongs to
  // another card.
  if (failure && known != known_.end() && std::ranges::any_of(known_, [&](const auto& item) {
        return item.first != index && item.second.uuid == known->second.uuid;
      })) {
    known_.erase(known);
    known = known_.end();
  }
  if (failure && known == known_.end()) {
    scan.remarks.push_back("GPU " + std::to_string(index) + " is left out: " + failure->what);
    return std::nullopt;
  }
  const auto now = LoopClock::now();
  if (failure) {
    // The card's former data is known: the card is listed as Unhealthy, and other cards are not affected.
    card = known->second;
    if (failure->lost()) ask_for_reset_.insert(card.uuid);
    health_.record(card.uuid, failure->what, now);
    return card;
  }
  known_[index] = card;
  card.fabric_error = nvml_->fabric_error(card.handle);
  if (!terms_.health_checks) return card;
  follow(card);
  std::uint64_t action = 0;
  const auto untold = keep(nvml_->recovery_action(card.handle), action);
  const bool lost = untold && untold->lost();
  if (lost) health_.record(card.uuid, untold->what, now);
  if (!untold && action != 0)
    health_.record(card.uuid,
                   "the driver requests a recovery action (" + std::to_string(action) + "), such as a reset",
                   now);
  // A card that is no longer lost, or no longer needs a reset, has been reset.
  if (lost || action != 0)
    ask_for_reset_.insert(card.uuid);
  else if (ask_for_reset_.erase(card.uuid) > 0)
    record_reset(card);
  return card;
}

std::optional<NvmlFailure> NvmlCards::read_card(NvmlCard& card) const {
  const NvmlDevice handle = card.handle;
  if (auto failure = keep(nvml_->uuid(handle), card.uuid)) return failure;
  // A failure here loses only the value itself, unless the card is lost.
  for (const auto& failure :
       {keep(nvml_->name(handle), card.name), keep(nvml_->pci_address(handle), card.pci),
        keep(nvml_->minor_number(handle), card.minor), keep(nvml_->memory(handle), card.memory)}) {
    if (failure && failure->lost()) return failure;
  }
  if (card.minor) card.nodes = {nvidia_node(*card.minor)};
  const auto failure = keep(nvml_->mig_enabled(handle), card.mig_enabled);
  return failure && failure->lost() ? failure : std::nullopt;
}

std::optional<NvmlFailure> NvmlCards::read_parts(NvmlCard& card, const HostRoot& host) const {
  if (!card.mig_enabled || !terms_.parts) return std::nullopt;
  std::vector<NvmlDevice> handles;
  if (auto failure = keep(nvml_->mig_devices(card.handle), handles)) return failure;
  const auto minors = capabilities(host);
  for (const NvmlDevice handle : handles) {
    NvmlView::Part part;
    if (auto failure = keep(nvml_->uuid(handle), part.uuid)) return failure;
    if (auto failure = keep(nvml_->name(handle), part.name)) return failure;
    if (auto failure = keep(nvml_->gpu_instance(handle), part.gpu_instance)) return failure;
    if (auto failure = keep(nvml_->compute_instance(handle), part.compute_instance)) return failure;
    keep(nvml_->memory(handle), part.memory);
    part.pci = card.pci;
    part.minor = card.minor;
    part.index = card.index + ':' + std::to_string(card.parts.size());
    part.profile = profile_in(part.name);
    part.nodes = card.nodes;
    const std::string instance =
        "gpu" + std::to_string(card.minor.value_or(0)) + "/gi" + std::to_string(part.gpu_instance) + '/';
    for (const std::string& name :
         {instance + "access", instance + "ci" + std::to_string(part.compute_instance) + "/access"}) {
      if (const auto minor = minors.find(name); minor != minors.end())
        part.nodes.push_back("/dev/nvidia-caps/nvidia-cap" + minor->second);
    }
    card.parts.push_back(std::move(part));
  }
  return std::nullopt;
}

void NvmlCards::measure(std::vector<NvmlCard>& cards) {
  std::set<std::string> present;
  for (const NvmlCard& card : cards) present.insert(card.uuid);
  if (present != measured_) {
    bonds_.clear();
    for (const NvmlCard& one : cards) {
      const std::vector<std::string> peers = nvml_->link_peers(one.handle);
      for (const NvmlCard& other : cards) {
        if (&one == &other || other.pci.empty()) continue;
        const auto level = nvml_->common_ancestor(one.handle, other.handle);
        const auto* const known = std::get_if<NvmlLevel>(&level);
        const auto links = static_cast<unsigned>(std::ranges::count(peers, other.pci));
        bonds_[one.uuid].push_back(
            {.pci = other.pci, .score = (known ? score_of(*known) : 0) + links * kScoreOfALink});
      }
    }
    measured_ = std::move(present);
  }
  for (NvmlCard& card : cards) {
    const auto known = bonds_.find(card.uuid);
    if (known != bonds_.end()) card.bonds = known->second;
    for (NvmlView::Part& part : card.parts) {
      part.bonds = card.bonds;
      part.bonds.push_back({.pci = card.pci, .score = score_of(NvmlLevel::kSameBoard)});
    }
  }
}

void NvmlCards::follow(const NvmlCard& card) {
  if (followed_.contains(card.uuid)) return;
  const auto failure = nvml_->follow(card.handle, kEvents);
  if (!failure || failure->not_supported())
    followed_.insert(card.uuid);
  else
    health_.record(card.uuid, "its errors cannot be followed: " + failure->what, LoopClock::now());
}

void NvmlCards::read_events(const std::vector<NvmlCard>& cards) {
  for (unsigned i = 0; i < kMostEvents; ++i) {
    NvmlEvent event;
    if (const auto failure = keep(nvml_->next_event(std::chrono::milliseconds(0)), event)) {
      if (failure->timed_out() || failure->not_supported() || failure->lost()) return;
      for (const NvmlCard& card : cards)
        health_.record(card.uuid, "its errors cannot be followed: " + failure->what, LoopClock::now());
      return;
    }
    record_event(event, cards);
  }
}

void NvmlCards::record_event(const NvmlEvent& event, const std::vector<NvmlCard>& cards) {
  std::string why;
  bool lasts = false;
  if (event.type == NvmlEvent::kXid && !terms_.xids.ignores(event.code)) {
    why = xid_words(event.code);
    lasts = xid_lasts(event.code);
  }
  if (event.type == NvmlEvent::kDoubleBitError) {
    why = "an uncorrectable (double-bit) memory error";
    lasts = true;
  }
  if (event.type == NvmlEvent::kUnavailable) why = "the driver reports the GPU as unavailable";
  const auto card =
      std::ranges::find_if(cards, [&](const NvmlCard& each) { return each.handle.handle == event.handle; });
  if (why.empty() || card == cards.end()) return;
  const auto note = [&](const std::string& uuid) {
    if (lasts)
      health_.record_lasting(uuid, why + ": until the GPU has been reset");
    else
      health_.record(uuid, why, LoopClock::now());
  };
  const bool whole = event.gpu_instance == NvmlView::kWholeCard;
  if (whole || card->parts.empty()) return note(card->uuid);
  for (const NvmlView::Part& part : card->parts) {
    const bool hit =
        part.gpu_instance == event.gpu_instance &&
        (event.compute_instance == NvmlView::kWholeCard || part.compute_instance == event.compute_instance);
    if (hit) note(part.uuid);
  }
}

NvmlView query_nvml(const HostRoot& host, const std::string& library) {
  NvmlView view;
  auto opened = Nvml::open(library);
  if (auto* const why = std::get_if<Nvml::Unusable>(&opened)) {
    view.error = std::move(why->why);
    view.refuses = why->refuses;
    return view;
  }
  NvidiaHealth health;
  NvmlCards cards(std::get<std::unique_ptr<Nvml>>(std::move(opened)), {.parts = true, .health_checks = false},
                  health);
  Scan scan;
  if (auto failure = keep(cards.query(host, scan), view.cards)) {
    view.error = std::move(failure->what);
    view.refuses = true;
  }
  return view;
}

}  // namespace plughost
