#include "kinds/gpu/nvidia_gpus.hpp"

#include <algorithm>
#include <condition_variable>
#include <stdexcept>
#include <thread>
#include <utility>

namespace plughost {
namespace {

constexpr std::chrono::milliseconds kLastWait{500};

// Releases cards in threads, because a release may hang in the driver. The end of the process waits for these
// threads for a moment only.
class Releases {
 public:
  bool wait(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    return ended_.wait_for(lock, patience, [this] { return running_ == 0; });
  }

  void add(std::unique_ptr<NvmlCards> cards) {
    const std::lock_guard lock(mutex_);
    try {
      std::thread([this, cards = std::move(cards)]() mutable {
        cards.reset();
        const std::lock_guard end(mutex_);
        --running_;
        ended_.notify_all();
      }).detach();
      ++running_;
    } catch (const std::system_error&) {  // no thread could be started, so the cards were released here
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  unsigned running_ = 0;
};

Releases& releases() {
  static Releases& all = *new Releases;  // a thread may need it longer than the process waits
  static const struct LastWait {
    ~LastWait() { all.wait(kLastWait); }
  } last_wait;
  return all;
}

}  // namespace

NvidiaGpus::NvidiaGpus(Terms terms, std::string library)
    : terms_(std::move(terms)), library_(std::move(library)) {}

NvidiaGpus::~NvidiaGpus() {
  if (nvml_cards_) releases().add(std::move(nvml_cards_));
}

NvidiaGpus::Session NvidiaGpus::open_session() {
  looking_.lock();
  return {this, [](NvidiaGpus* gpus) {
            gpus->looking_.unlock();
            gpus->close_at_rest();
          }};
}

void NvidiaGpus::close_at_rest() {
  if (!at_rest_) return;
  const std::unique_lock alone(looking_, std::try_to_lock);
  if (alone && nvml_cards_) releases().add(std::move(nvml_cards_));
}

bool NvidiaGpus::all_let_go(std::chrono::milliseconds patience) { return releases().wait(patience); }

std::vector<NvidiaGpu> NvidiaGpus::find(const HostRoot& host, Scan& scan) {
  divided_.clear();
  if (const NvmlView* const view = host.nvml())
    return view->error.empty() ? of_nvml(view->cards)
                               : without_nvml(host, {view->error, view->refuses}, scan);
  if (rests()) {
    std::vector<NvidiaGpu> cards = told_;
    for (NvidiaGpu& card : cards)
      if (card.error.empty()) card.error = "NVML is closed while all of the cards are drained";
    return cards;
  }
  // NVML's handles hold back a card that is being unbound: release all.
  if (nvml_cards_ && nvml_cards_->some_card_left(host)) nvml_cards_.reset();
  if (!nvml_cards_) {
    if (const auto why = open(host)) {
      // No event reports that the driver's directory is mounted.
      if (!terms_.driver_root.empty()) scan.rescan_after = kInterval;
      return without_nvml(host, *why, scan);
    }
  }
  scan.rescan_after = kInterval;
  const auto looked = nvml_cards_->query(host, scan);
  if (const auto* const failure = std::get_if<NvmlFailure>(&looked)) {
    nvml_cards_.reset();
    health_.record_all_reset(LoopClock::now());
    return without_nvml(host, {.why = failure->what, .refuses = true}, scan);
  }
  const auto& cards = std::get<std::vector<NvmlView::Card>>(looked);
  take_faults(cards);
  told_ = of_nvml(cards);
  return told_;
}

// Returns the cards of /proc. If NVML exists and cannot be used, the cards are Unhealthy, because the cause
// affects programs as well.
std::vector<NvidiaGpu> NvidiaGpus::without_nvml(const HostRoot& host, const Nvml::Unusable& why,
                                                Scan& scan) const {
  std::vector<NvidiaGpu> cards = nvidia_gpus_without_nvml(host, why, scan);
  if (!why.refuses) return cards;
  // No event reports that NVML works again: the driver may be loaded but still refuse.
  scan.rescan_after = kInterval;
  if (cards.empty() || cards.front().uuid == tegra_gpu().uuid) return cards;
  std::vector<NvidiaGpu> told = told_;  // includes MIG devices, which /proc does not have
  std::erase_if(told, [&](const NvidiaGpu& one) {
    return std::ranges::find(cards, one.pci, &NvidiaGpu::pci) ==
           cards.end();  // the card has disappeared since
  });
  if (!told.empty()) cards = std::move(told);
  for (NvidiaGpu& card : cards) card.error = "NVML refuses: " + why.why;
  return cards;
}

void NvidiaGpus::set_fault(const std::string& uuid, const std::string& fault) {
  const std::lock_guard lock(mutex_);
  faults_[uuid] = fault;
}

void NvidiaGpus::take_faults(const std::vector<NvmlView::Card>& cards) {
  std::map<std::string, std::string> faults;
  {
    const std::lock_guard lock(mutex_);
    faults.swap(faults_);
  }
  for (const auto& [uuid, fault] : faults) {
    if (fault.empty())
      health_.forget(uuid);
    else
      health_.record_lasting(uuid, fault);
  }
  const auto is_forgiven = [&](const NvmlView::Part& part) {
    const auto its = faults.find(part.uuid);
    return its != faults.end() && its->second.empty();
  };
  for (const NvmlView::Card& card : cards) {
    if (std::ranges::any_of(card.parts, is_forgiven)) health_.forget(card.uuid);
  }
}

std::vector<NvidiaGpu> NvidiaGpus::of_nvml(const std::vector<NvmlView::Card>& cards) {
  // On newer systems on a chip, NVML lists the GPU without further data; its name identifies it.
  const auto on_chip = [](const NvmlView::Card& card) {
    return card.name.find("(nvgpu)") != std::string::npos;
  };
  if (!cards.empty() && std::ranges::all_of(cards, on_chip)) return {tegra_gpu()};
  return by_strategy(cards);
}

std::optional<Nvml::Unusable> NvidiaGpus::open(const HostRoot& host) {
  if (library_.empty()) return Nvml::Unusable{.why = "there is no library"};
  const std::string& root = terms_.driver_root;
  const std::string library = root.empty() ? library_ : library_below(host, root, library_);
  if (library.empty())
    return Nvml::Unusable{.why = "there is no " + std::string(Nvml::kLibrary) + " below " + root};
  auto opened = Nvml::open(library);
  if (auto* const why = std::get_if<Nvml::Unusable>(&opened)) return std::move(*why);
  nvml_cards_ = std::make_unique<NvmlCards>(std::get<std::unique_ptr<Nvml>>(std::move(opened)),
                                            NvmlCards::Terms{.parts = terms_.mig != MigStrategy::kNone,
                                                             .health_checks = terms_.health_checks,
                                                             .xids = terms_.xids},
                                            health_);
  return std::nullopt;
}

std::vector<NvidiaGpu> NvidiaGpus::by_strategy(const std::vector<NvmlView::Card>& cards) {
  const auto now = LoopClock::now();
  std::vector<NvidiaGpu> gpus;
  for (const NvmlView::Card& card : cards) {
    NvidiaHealth::Error error = health_.error(card.uuid, now);
    if (terms_.health_checks && error.why.empty() && !card.fabric_error.empty())
      error.why = "the fabric manager " + card.fabric_error +
                  "; a CUDA program would fail with error 802 (system not yet initialized): start "
                  "nvidia-fabricmanager in the version of the driver, or see its log";
    const auto add = [&](const NvmlView::Unit& unit, const NvidiaHealth::Error& its) {
      gpus.push_back({unit, its.why, its.lasts});
      divided_[unit.uuid] = card.mig_enabled;
    };
    if (terms_.mig == MigStrategy::kNone || !card.mig_enabled) {
      add(card, error);
      continue;
    }
    for (const NvmlView::Part& part : card.parts)
      add(part, error.why.empty() ? health_.error(part.uuid, now) : error);
  }
  return gpus;
}

void NvidiaGpus::check_mig(Scan& taken) const {
  std::optional<std::string> first;
  for (const Device& device : taken.devices) {
    const auto known = divided_.find(device.id);
    if (known == divided_.end() || terms_.mig == MigStrategy::kMixed) continue;
    if (terms_.mig == MigStrategy::kNone) {
      if (known->second)
        taken.remarks.push_back(device.id +
                                " has MIG on, and `mig` is none: programs in a container that gets the whole "
                                "card cannot compute on it");
      continue;
    }
    if (!known->second)
      throw std::runtime_error(
          "`mig: single` needs MIG on every card, and " + device.id +
          " has it off; leave it out with `except`, or take both sorts with `mig: mixed`");
    const std::string profile = device.value("profile").value_or("");
    if (!first) first = profile;
    if (*first != profile)
      throw std::runtime_error("`mig: single` needs parts of one profile, and there are " + *first + " and " +
                               profile + "; `mig: mixed` takes them all");
  }
}

}  // namespace plughost
