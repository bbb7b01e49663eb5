#include "kinds/gpu/nvidia_gpus.hpp"

#include <algorithm>
#include <fstream>
#include <future>
#include <stdexcept>
#include <thread>
#include <utility>

#include "host/pci_function.hpp"
#include "host/sysfs.hpp"

namespace plughost {
namespace {

constexpr std::chrono::milliseconds kLastWait{500};
constexpr unsigned kMostCards = 256;
constexpr unsigned kMostEvents = 1000;  // of one look: an event set that never ends must not hold it
constexpr std::uint64_t kEvents = NvmlEvent::kDoubleBitError | NvmlEvent::kXid | NvmlEvent::kMigChanged |
                                  NvmlEvent::kUnavailable | NvmlEvent::kRecoveryAction;

// "GPU-" or "MIG-", and a UUID in lower-case or upper-case digits.
bool is_uuid(std::string_view text) {
  constexpr std::string_view kForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  if (!text.starts_with("GPU-") || text.size() != kForm.size() + 4) return false;
  text.remove_prefix(4);
  return std::ranges::equal(text, kForm, [](char c, char form) {
    return form == '-' ? c == '-'
                       : std::string_view("0123456789abcdefABCDEF").find(c) != std::string_view::npos;
  });
}

std::string trimmed(const std::string& text) {
  const std::size_t from = text.find_first_not_of(" \t");
  return from == std::string::npos ? "" : text.substr(from, text.find_last_not_of(" \t\r") + 1 - from);
}

// The lines "key: value" of a file that the driver shows.
std::map<std::string, std::string> facts_in(const std::filesystem::path& file) {
  std::map<std::string, std::string> facts;
  std::ifstream text(file);
  for (std::string line; std::getline(text, line);) {
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos) facts[trimmed(line.substr(0, colon))] = trimmed(line.substr(colon + 1));
  }
  return facts;
}

std::optional<unsigned> number_in(const std::string& text) {
  if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  return static_cast<unsigned>(std::stoul(text));
}

std::string card_node(unsigned minor) {
  return "/dev/nvidia" + std::to_string(minor);
}

// "NVIDIA A100-SXM4-40GB MIG 1g.5gb+me" → "1g.5gb.me"; a resource's name cannot have a '+'.
std::string profile_in(const std::string& name) {
  const std::size_t mig = name.rfind("MIG ");
  std::string profile = mig == std::string::npos ? "" : name.substr(mig + 4);
  std::ranges::replace(profile, '+', '.');
  return profile;
}

// "gpu0/gi1/ci0/access" → the number N of /dev/nvidia-caps/nvidia-capN.
std::map<std::string, std::string> capabilities(const HostRoot& host) {
  std::map<std::string, std::string> minors;
  std::ifstream text(host.at("/proc/driver/nvidia-caps/mig-minors"));
  for (std::string name, minor; text >> name >> minor;) minors[name] = minor;
  return minors;
}

// What the driver shows of its cards without NVML.
std::vector<NvidiaGpu> cards_in_proc(const HostRoot& host, Scan& scan) {
  std::vector<NvidiaGpu> cards;
  for (const std::string& path : host.glob("/proc/driver/nvidia/gpus/*/information").paths) {
    const auto facts = facts_in(host.at(path));
    const auto value = [&](const char* key) {
      const auto fact = facts.find(key);
      return fact == facts.end() ? std::string() : fact->second;
    };
    NvidiaGpu card;
    card.uuid = value("GPU UUID");
    card.pci = value("Bus Location");
    card.name = value("Model");
    card.minor = number_in(value("Device Minor"));
    card.index = std::to_string(cards.size());
    if (!is_uuid(card.uuid)) {
      scan.remarks.push_back(path + " has no well-formed UUID of a GPU: the card is left out");
      continue;
    }
    if (card.minor) card.nodes = {card_node(*card.minor)};
    cards.push_back(std::move(card));
  }
  return cards;
}

// NVIDIA's systems on a chip have no NVML, or one that knows next to nothing. Source: go-nvlib's
// pkg/nvlib/info.
bool is_tegra(const HostRoot& host) {
  std::error_code failed;
  if (std::filesystem::exists(host.at("/etc/nv_tegra_release"), failed)) return true;
  std::ifstream file(host.at("/sys/devices/soc0/family"));
  std::string family;
  std::getline(file, family);
  std::ranges::transform(family, family.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return family.find("tegra") != std::string::npos;
}

// The one device that NVIDIA's plugin has there: what its container runtime makes of it is in files of its
// own.
NvidiaGpu tegra() {
  NvidiaGpu gpu;
  gpu.uuid = "tegra";
  gpu.index = "0";
  gpu.name = "Tegra";
  return gpu;
}

// Cards that are there, and no driver that could show them.
void remark_on_driverless(const HostRoot& host, const std::string& why, Scan& scan) {
  for (const SysDevice& device : devices_of(host, "pci")) {
    const PciFunction function = pci_function(device);
    const bool display = function.class_code.starts_with("0300") || function.class_code.starts_with("0302");
    const bool idle = function.driver.empty() || function.driver == "nouveau" || function.driver == "nvidia";
    if (function.vendor != "10de" || !display || !idle) continue;
    scan.remarks.push_back(
        function.address + " is a card of NVIDIA's that cannot be offered: " +
        (function.driver.empty() ? "no driver is bound to it" : "its driver is " + function.driver) +
        ", and NVML cannot be used (" + why + "); install NVIDIA's driver, or load it with modprobe nvidia");
  }
}

// As NVIDIA's plugin scores them.
constexpr unsigned kScoreOfALink = 100;
unsigned score_of(NvmlLevel level) {
  switch (level) {
    case NvmlLevel::kCrossCpu:
      return 10;
    case NvmlLevel::kSameCpu:
      return 20;
    case NvmlLevel::kHostBridge:
      return 30;
    case NvmlLevel::kSeveralSwitches:
      return 40;
    case NvmlLevel::kOneSwitch:
      return 50;
    case NvmlLevel::kSameBoard:
      return 60;
  }
  return 0;
}

// Keeps what a call gave. The failure otherwise.
template <typename T, typename Place>
std::optional<NvmlFailure> keep(NvmlResult<T> result, Place& place) {
  if (auto* failure = std::get_if<NvmlFailure>(&result)) return std::move(*failure);
  place = std::get<T>(std::move(result));
  return std::nullopt;
}

}  // namespace

NvidiaGpus::NvidiaGpus(Terms terms, std::string library, Now now)
    : terms_(std::move(terms)), library_(std::move(library)), now_(std::move(now)) {}

NvidiaGpus::~NvidiaGpus() {
  if (!nvml_) return;
  std::promise<void> done;
  std::future<void> released = done.get_future();
  std::thread([nvml = std::move(nvml_), done = std::move(done)]() mutable {
    nvml.reset();
    done.set_value();
  }).detach();
  released.wait_for(kLastWait);
}

bool NvidiaGpus::some_card_left(const HostRoot& host) {
  bool left = false;
  for (const auto& [index, card] : known_) {
    const std::string& pci = card.facts.pci;
    const auto device = SysDevice::at(host, "/sys/bus/pci/devices/" + pci);
    if (device && device->driver() == "nvidia")
      bound_.insert(pci);
    else
      left = bound_.erase(pci) > 0 || left;
  }
  return left;
}

std::vector<NvidiaGpu> NvidiaGpus::find(const HostRoot& host, Scan& scan) {
  // A card that was unbound is held back by the handles that NVML has of it: let go of all.
  if (nvml_ && some_card_left(host)) {
    nvml_.reset();
    known_.clear();
    followed_.clear();
  }
  std::string why = "there is no library";
  if (!nvml_ && !library_.empty()) {
    auto opened = Nvml::open(library_);
    if (auto* nvml = std::get_if<std::unique_ptr<Nvml>>(&opened))
      nvml_ = std::move(*nvml);
    else
      why = std::get<std::string>(opened);
  }
  if (!nvml_) {
    std::vector<NvidiaGpu> cards = cards_in_proc(host, scan);
    if (cards.empty() && is_tegra(host)) return {tegra()};
    if (cards.empty()) remark_on_driverless(host, why, scan);
    if (!cards.empty())
      scan.remarks.push_back("NVML cannot be used (" + why +
                             "): the cards are those that /proc/driver/nvidia shows, without MIG and health");
    return cards;
  }
  scan.look_again = kInterval;
  std::vector<Card> cards = look(host, scan);
  if (!nvml_) return {};
  // Newer systems on a chip have a library that lists their GPU, by a name that says so, and tells no more.
  const auto on_chip = [](const Card& card) { return card.facts.name.find("(nvgpu)") != std::string::npos; };
  if (!cards.empty() && std::ranges::all_of(cards, on_chip)) return {tegra()};
  measure(cards);
  if (terms_.health_checks) take_events(cards, scan);
  some_card_left(host);
  return chosen(cards, scan);
}

std::vector<NvidiaGpus::Card> NvidiaGpus::look(const HostRoot& host, Scan& scan) {
  unsigned count = 0;
  if (const auto failure = keep(nvml_->count(), count)) {
    // The driver was unloaded, or another version of it was loaded: begin anew with the next look.
    scan.remarks.push_back("NVML does not tell its cards: " + failure->what);
    nvml_.reset();
    known_.clear();
    followed_.clear();
    return {};
  }
  std::erase_if(known_, [count](const auto& item) { return item.first >= count; });
  std::vector<Card> cards;
  for (unsigned index = 0; index < std::min(count, kMostCards); ++index) {
    if (auto card = look_at(index, host, scan)) cards.push_back(std::move(*card));
  }
  return cards;
}

std::optional<NvidiaGpus::Card> NvidiaGpus::look_at(unsigned index, const HostRoot& host, Scan& scan) {
  Card card;
  auto failure = keep(nvml_->device(index), card.handle);
  if (!failure) failure = read_card(card);
  card.facts.index = std::to_string(index);
  if (!failure) failure = read_parts(card, host);
  auto known = known_.find(index);
  // When a card has left the bus, those behind it move up: what was known of this place is another's now.
  if (failure && known != known_.end() && std::ranges::any_of(known_, [&](const auto& item) {
        return item.first != index && item.second.facts.uuid == known->second.facts.uuid;
      })) {
    known_.erase(known);
    known = known_.end();
  }
  if (failure && known == known_.end()) {
    scan.remarks.push_back("GPU " + std::to_string(index) + " is left out: " + failure->what);
    return std::nullopt;
  }
  const auto now = now_();
  if (failure) {
    // What it was is known from before: it is listed as Unhealthy, and the others are not concerned.
    card = known->second;
    health_.note(card.facts.uuid, failure->what, now);
    return card;
  }
  known_[index] = card;
  if (!terms_.health_checks) return card;
  follow(card, scan);
  std::uint64_t action = 0;
  const auto untold = keep(nvml_->recovery_action(card.handle), action);
  if (untold && untold->lost()) health_.note(card.facts.uuid, untold->what, now);
  if (!untold && action != 0)
    health_.note(card.facts.uuid,
                 "the driver asks for a recovery action (" + std::to_string(action) + "), such as a reset",
                 now);
  return card;
}

std::optional<NvmlFailure> NvidiaGpus::read_card(Card& card) const {
  const NvmlDevice handle = card.handle;
  NvidiaGpu& facts = card.facts;
  if (auto failure = keep(nvml_->uuid(handle), facts.uuid)) return failure;
  // What is missing here costs no more than itself.
  for (const auto& failure :
       {keep(nvml_->name(handle), facts.name), keep(nvml_->pci_address(handle), facts.pci),
        keep(nvml_->minor_number(handle), facts.minor), keep(nvml_->memory(handle), facts.memory)}) {
    if (failure && failure->lost()) return failure;
  }
  if (facts.minor) facts.nodes = {card_node(*facts.minor)};
  const auto failure = keep(nvml_->mig_enabled(handle), card.divided);
  return failure && failure->lost() ? failure : std::nullopt;
}

std::optional<NvmlFailure> NvidiaGpus::read_parts(Card& card, const HostRoot& host) const {
  if (!card.divided || terms_.mig == MigStrategy::kNone) return std::nullopt;
  std::vector<NvmlDevice> handles;
  if (auto failure = keep(nvml_->mig_devices(card.handle), handles)) return failure;
  const auto minors = capabilities(host);
  for (const NvmlDevice handle : handles) {
    Card::Part part;
    if (auto failure = keep(nvml_->uuid(handle), part.facts.uuid)) return failure;
    if (auto failure = keep(nvml_->name(handle), part.facts.name)) return failure;
    if (auto failure = keep(nvml_->gpu_instance(handle), part.gpu_instance)) return failure;
    if (auto failure = keep(nvml_->compute_instance(handle), part.compute_instance)) return failure;
    keep(nvml_->memory(handle), part.facts.memory);
    part.facts.pci = card.facts.pci;
    part.facts.minor = card.facts.minor;
    part.facts.index = card.facts.index + ':' + std::to_string(card.parts.size());
    part.facts.profile = profile_in(part.facts.name);
    part.facts.nodes = card.facts.nodes;
    const std::string instance = "gpu" + std::to_string(card.facts.minor.value_or(0)) + "/gi" +
                                 std::to_string(part.gpu_instance) + '/';
    for (const std::string& name :
         {instance + "access", instance + "ci" + std::to_string(part.compute_instance) + "/access"}) {
      if (const auto minor = minors.find(name); minor != minors.end())
        part.facts.nodes.push_back("/dev/nvidia-caps/nvidia-cap" + minor->second);
    }
    card.parts.push_back(std::move(part));
  }
  return std::nullopt;
}

void NvidiaGpus::measure(std::vector<Card>& cards) {
  std::set<std::string> present;
  for (const Card& card : cards) present.insert(card.facts.uuid);
  if (present != measured_) {
    bonds_.clear();
    for (const Card& one : cards) {
      const std::vector<std::string> peers = nvml_->link_peers(one.handle);
      for (const Card& other : cards) {
        if (&one == &other || other.facts.pci.empty()) continue;
        const auto level = nvml_->common_ancestor(one.handle, other.handle);
        const auto* const known = std::get_if<NvmlLevel>(&level);
        const auto links = static_cast<unsigned>(std::ranges::count(peers, other.facts.pci));
        bonds_[one.facts.uuid].push_back(
            {.pci = other.facts.pci, .score = (known ? score_of(*known) : 0) + links * kScoreOfALink});
      }
    }
    measured_ = std::move(present);
  }
  for (Card& card : cards) {
    const auto known = bonds_.find(card.facts.uuid);
    if (known != bonds_.end()) card.facts.bonds = known->second;
    for (Card::Part& part : card.parts) {
      part.facts.bonds = card.facts.bonds;
      part.facts.bonds.push_back({.pci = card.facts.pci, .score = score_of(NvmlLevel::kSameBoard)});
    }
  }
}

void NvidiaGpus::follow(const Card& card, Scan& scan) {
  if (followed_.contains(card.facts.uuid)) return;
  const auto failure = nvml_->follow(card.handle, kEvents);
  if (failure && !failure->not_supported())
    scan.remarks.push_back("the errors of " + card.facts.uuid + " cannot be followed: " + failure->what);
  else
    followed_.insert(card.facts.uuid);
}

void NvidiaGpus::take_events(const std::vector<Card>& cards, Scan& scan) {
  for (unsigned i = 0; i < kMostEvents; ++i) {
    NvmlEvent event;
    if (const auto failure = keep(nvml_->next_event(std::chrono::milliseconds(0)), event)) {
      if (!failure->timed_out() && !failure->not_supported() && !failure->lost())
        scan.remarks.push_back("NVML does not tell its events: " + failure->what);
      return;
    }
    take_event(event, cards);
  }
}

void NvidiaGpus::take_event(const NvmlEvent& event, const std::vector<Card>& cards) {
  std::string why;
  if (event.type == NvmlEvent::kXid && !terms_.xids.ignores(event.code)) why = xid_words(event.code);
  if (event.type == NvmlEvent::kDoubleBitError) why = "an uncorrectable (double-bit) memory error";
  if (event.type == NvmlEvent::kUnavailable) why = "the driver says that the GPU is not available";
  const auto card =
      std::ranges::find_if(cards, [&](const Card& each) { return each.handle.handle == event.handle; });
  if (why.empty() || card == cards.end()) return;
  const bool whole = event.gpu_instance == NvmlEvent::kWholeCard;
  if (whole || card->parts.empty()) return health_.note(card->facts.uuid, why, now_());
  for (const Card::Part& part : card->parts) {
    const bool hit =
        part.gpu_instance == event.gpu_instance &&
        (event.compute_instance == NvmlEvent::kWholeCard || part.compute_instance == event.compute_instance);
    if (hit) health_.note(part.facts.uuid, why, now_());
  }
}

std::vector<NvidiaGpu> NvidiaGpus::chosen(const std::vector<Card>& cards, Scan& scan) const {
  const auto now = now_();
  std::vector<NvidiaGpu> gpus;
  for (const Card& card : cards) {
    const std::string trouble = health_.trouble(card.facts.uuid, now);
    if (terms_.mig == MigStrategy::kSingle && !card.divided)
      throw std::runtime_error("`mig: single` needs MIG on every card, and " + card.facts.uuid +
                               " has it off; `mig: mixed` takes cards of both sorts");
    if (terms_.mig == MigStrategy::kNone || !card.divided) {
      gpus.push_back(card.facts);
      gpus.back().trouble = trouble;
      if (card.divided)
        scan.remarks.push_back(
            card.facts.uuid +
            " has MIG on, and `mig` is none: programs in a container that gets the whole card "
            "cannot compute on it");
      continue;
    }
    for (const Card::Part& part : card.parts) {
      gpus.push_back(part.facts);
      gpus.back().trouble = trouble.empty() ? health_.trouble(part.facts.uuid, now) : trouble;
    }
  }
  if (terms_.mig != MigStrategy::kSingle) return gpus;
  const auto other =
      std::ranges::find_if(gpus, [&](const NvidiaGpu& gpu) { return gpu.profile != gpus.front().profile; });
  if (other != gpus.end())
    throw std::runtime_error("`mig: single` needs parts of one profile, and there are " +
                             gpus.front().profile + " and " + other->profile +
                             "; `mig: mixed` takes them all");
  return gpus;
}

}  // namespace plughost
