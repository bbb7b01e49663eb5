#pragma once
// NVIDIA's management library, loaded at run time: plughost builds without it. Every call can block for as
// long as the driver does: worker threads only, one at a time. Source: nvml.h of the CUDA toolkit. NvmlView
// is a value with NVML's results, for recorded machines.

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
  static constexpr std::uint32_t kWholeCard = 0xFFFFFFFF;

  // A card, or a part of a divided card (a MIG device).
  struct Unit {
    std::string uuid;
    std::string name;
    std::string index;               // "0"; "0:1" for a part
    std::string pci;                 // of the card; empty: unknown
    std::string profile;             // of a part: "1g.5gb", with '.' for '+'; empty: a card
    std::optional<unsigned> minor;   // of the card's node
    std::uint64_t memory = 0;        // in bytes; 0: unknown
    std::vector<std::string> nodes;  // in /dev, without those that all cards share
    std::vector<Bond> bonds;         // to other cards; a part has the bonds of its card

    bool operator==(const Unit&) const = default;
  };
  // The instances are those of NVML's events. A recorded machine does not have them, so they do not count for
  // equality.
  struct Part : Unit {
    unsigned gpu_instance = kWholeCard;
    unsigned compute_instance = kWholeCard;
  };
  struct Card : Unit {
    bool mig_enabled = false;
    std::string fabric_error = {};  // see Nvml::fabric_error()
    std::vector<Part> parts;

    bool operator==(const Card&) const = default;
  };
  std::vector<Card> cards;
  std::string error;     // why the library cannot be used; empty if it can be used
  bool refuses = false;  // the library exists but cannot be used

  bool operator==(const NvmlView&) const = default;
};

// A failed call. Errors are values: one lost card must not affect the others.
struct NvmlFailure {
  int code = 0;      // nvmlReturn_t
  std::string what;  // "nvmlDeviceGetUUID: GPU is lost (15)"

  bool not_supported() const;  // by this card, or by this driver's library
  bool not_found() const;
  bool lost() const;  // the card does not respond, or needs a reset
  bool timed_out() const;
};

template <typename T>
using NvmlResult = std::variant<T, NvmlFailure>;

// A card or a MIG device. Valid during the lifetime of its Nvml.
struct NvmlDevice {
  void* handle = nullptr;
};

// The distance of two devices: nvmlGpuTopologyLevel_t.
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

  void* handle = nullptr;  // of the card
  std::uint64_t type = 0;
  std::uint64_t code = 0;  // the number of an XID
  std::uint32_t gpu_instance = NvmlView::kWholeCard;
  std::uint32_t compute_instance = NvmlView::kWholeCard;
};

class Nvml {
 public:
  static constexpr const char* kLibrary = "libnvidia-ml.so.1";
  static constexpr unsigned kMostLinks = 18;

  struct Unusable {
    std::string why;
    bool refuses = false;  // false: the library is missing, which is no evidence about cards
  };
  // Loads and initialises the library. The driver cannot unbind its cards during the lifetime of the object.
  static std::variant<std::unique_ptr<Nvml>, Unusable> open(const std::string& library = kLibrary);
  // Releases all handles.
  ~Nvml();
  Nvml& operator=(Nvml&&) = delete;

  NvmlResult<unsigned> count() const;
  NvmlResult<NvmlDevice> device(unsigned index) const;

  NvmlResult<std::string> uuid(NvmlDevice device) const;
  NvmlResult<std::string> name(NvmlDevice device) const;
  NvmlResult<unsigned> minor_number(NvmlDevice device) const;          // of /dev/nvidia<minor>
  NvmlResult<std::string> pci_address(NvmlDevice device) const;        // "0000:3b:00.0", as in /sys
  NvmlResult<std::uint64_t> memory(NvmlDevice device) const;           // the total, in bytes
  NvmlResult<std::uint64_t> recovery_action(NvmlDevice device) const;  // 0: none is needed
  // Returns why programs cannot use the card yet, as the end of a sentence about the fabric manager (for
  // NVSwitches): "has not finished: In Progress". Empty if programs can use it, or if there is no fabric.
  std::string fabric_error(NvmlDevice card) const;

  NvmlResult<bool> mig_enabled(NvmlDevice card) const;
  // The MIG devices of a card, without empty slots.
  NvmlResult<std::vector<NvmlDevice>> mig_devices(NvmlDevice card) const;
  NvmlResult<unsigned> gpu_instance(NvmlDevice mig) const;
  NvmlResult<unsigned> compute_instance(NvmlDevice mig) const;

  NvmlResult<NvmlLevel> common_ancestor(NvmlDevice one, NvmlDevice other) const;
  // Returns the PCI address at the other end of each active NVLink.
  std::vector<std::string> link_peers(NvmlDevice card) const;

  // The path from which the library was loaded.
  const std::string& file() const { return file_; }

  // Makes the card report those of `events` that the card supports. Returns nullopt on success.
  std::optional<NvmlFailure> follow(NvmlDevice card, std::uint64_t events);
  // Returns the next event of the cards that report events. The failure is timed_out() if no event came.
  NvmlResult<NvmlEvent> next_event(std::chrono::milliseconds wait) const;

 private:
  struct Functions;
  explicit Nvml(std::unique_ptr<const Functions> functions);

  std::string file_;
  std::unique_ptr<const Functions> functions_;
  void* events_ = nullptr;
};

}  // namespace plughost
