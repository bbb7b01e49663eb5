#pragma once
// NVIDIA's management library, loaded when it is wanted: nothing of it is needed to build. Every call can
// block for as long as the driver likes: worker threads only, and one at a time. Source: nvml.h of the CUDA
// toolkit. And what it says of a machine's cards, for a look at it later or elsewhere: a value.

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/device/device.hpp"

namespace plughost {

struct NvmlView {
  // A card, or a part that it is divided into (a MIG device).
  struct Unit {
    std::string uuid;
    std::string name;
    std::string index;               // "0"; of a part "0:1"
    std::string pci;                 // of the card; empty: unknown
    std::string profile;             // of a part: "1g.5gb", with '.' for '+'; empty: a card
    std::optional<unsigned> minor;   // of the card's node
    std::uint64_t memory = 0;        // bytes; 0: unknown
    std::vector<std::string> nodes;  // in /dev, without those that all cards share
    std::vector<Bond> bonds;         // to the other cards, and of a part to those of its own card

    bool operator==(const Unit&) const = default;
  };
  struct Card : Unit {
    bool mig_enabled = false;
    std::string fabric_error = {};  // see Nvml::fabric_error()
    std::vector<Unit> parts;

    bool operator==(const Card&) const = default;
  };
  std::vector<Card> cards;
  std::string error;     // why the library cannot be used; empty: it can
  bool refuses = false;  // it is there, and cannot be used all the same

  bool operator==(const NvmlView&) const = default;
};

// A call that did not succeed. Errors are values here: one lost card must not cost the others.
struct NvmlFailure {
  int code = 0;      // nvmlReturn_t
  std::string what;  // "nvmlDeviceGetUUID: GPU is lost (15)"

  bool not_supported() const;  // by this card, or by this driver's library
  bool not_found() const;
  bool lost() const;  // the card does not answer, or has to be reset
  bool timed_out() const;
};

template <typename T>
using NvmlResult = std::variant<T, NvmlFailure>;

// A card or a MIG device; valid while its Nvml lives.
struct NvmlDevice {
  void* handle = nullptr;
};

// On one card, how near two of them are to each other: nvmlGpuTopologyLevel_t.
enum class NvmlLevel : unsigned {
  kSameBoard = 0,
  kOneSwitch = 10,
  kSeveralSwitches = 20,
  kHostBridge = 30,
  kSameCpu = 40,
  kCrossCpu = 50,
};

struct NvmlEvent {
  static constexpr std::uint64_t kDoubleBitError = 2;
  static constexpr std::uint64_t kXid = 8;
  static constexpr std::uint64_t kMigChanged = 0x100;
  static constexpr std::uint64_t kUnavailable = 0x4000;
  static constexpr std::uint64_t kRecoveryAction = 0x8000;
  static constexpr std::uint32_t kWholeCard = 0xFFFFFFFF;

  void* handle = nullptr;  // of the card
  std::uint64_t type = 0;
  std::uint64_t code = 0;  // of an XID: its number
  std::uint32_t gpu_instance = kWholeCard;
  std::uint32_t compute_instance = kWholeCard;
};

class Nvml {
 public:
  static constexpr const char* kLibrary = "libnvidia-ml.so.1";
  static constexpr unsigned kMostLinks = 18;

  struct Unusable {
    std::string why;
    bool refuses = false;  // false: there is no such library, which says nothing about the cards
  };
  // Loads the library and initialises it. While it lives, the driver keeps its cards: none of them can be
  // unbound.
  static std::variant<std::unique_ptr<Nvml>, Unusable> open(const std::string& library = kLibrary);
  // Releases every handle.
  ~Nvml();
  Nvml& operator=(Nvml&&) = delete;

  NvmlResult<unsigned> count() const;
  NvmlResult<NvmlDevice> device(unsigned index) const;

  NvmlResult<std::string> uuid(NvmlDevice device) const;
  NvmlResult<std::string> name(NvmlDevice device) const;
  NvmlResult<unsigned> minor_number(NvmlDevice device) const;          // of /dev/nvidia<minor>
  NvmlResult<std::string> pci_address(NvmlDevice device) const;        // "0000:3b:00.0", as in /sys
  NvmlResult<std::uint64_t> memory(NvmlDevice device) const;           // in bytes, all of it
  NvmlResult<std::uint64_t> recovery_action(NvmlDevice device) const;  // 0: none is needed
  // Returns why a program cannot use the card yet, as the end of a sentence about the fabric manager, which
  // connects cards by NVSwitches: "has not finished: In Progress". Empty: it can, or there is no fabric.
  std::string fabric_error(NvmlDevice card) const;

  NvmlResult<bool> mig_enabled(NvmlDevice card) const;
  // The MIG devices of a card, without the places that are empty.
  NvmlResult<std::vector<NvmlDevice>> mig_devices(NvmlDevice card) const;
  NvmlResult<unsigned> gpu_instance(NvmlDevice mig) const;
  NvmlResult<unsigned> compute_instance(NvmlDevice mig) const;

  NvmlResult<NvmlLevel> common_ancestor(NvmlDevice one, NvmlDevice other) const;
  // The PCI address at the other end of each active NVLink.
  std::vector<std::string> link_peers(NvmlDevice card) const;

  // Where the library was loaded from, as a path of the process.
  const std::string& file() const { return file_; }

  // Lets the card report those of the events that it supports. nullopt: it does from now on.
  std::optional<NvmlFailure> follow(NvmlDevice card, std::uint64_t events);
  // The next event of the cards that are followed. timed_out(): there was none.
  NvmlResult<NvmlEvent> next_event(std::chrono::milliseconds wait) const;

 private:
  struct Functions;
  explicit Nvml(std::unique_ptr<const Functions> functions);

  std::string file_;
  std::unique_ptr<const Functions> functions_;
  void* events_ = nullptr;
};

}  // namespace plughost
