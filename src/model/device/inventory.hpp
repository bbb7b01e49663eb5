#pragma once
// The devices of one resource at one moment. Immutable once made, and so thread-safe; copies share their
// content.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/device/device.hpp"

namespace plughost {

// The kubelet's limit for one message in bytes (the default of google.golang.org/grpc).
inline constexpr std::size_t kKubeletMessageLimit = 4u << 20;
// The limit for the devices of one list in wire_size() bytes, with room for the framing.
inline constexpr std::size_t kListLimit = kKubeletMessageLimit - 1024;

// Sorts by id; devices with equal ids keep their order.
void sort_by_id(std::vector<Device>& devices);

// Returns the device with that id, from devices sorted by id; nullptr if there is none. For a share's id see
// find_device().
const Device* device_of_id(std::span<const Device> devices, std::string_view id);
// Returns the device behind an id that was sent to the kubelet, from devices sorted by id; nullptr if there
// is none.
const Device* find_device(std::span<const Device> devices, std::string_view id);
// Returns the number of the share with that id, which must be an id of the device.
unsigned share_of(const Device& device, std::string_view id);

// Returns the id of a device's n-th replica; the device's id if it has just one.
std::string replica_id(const Device& device, unsigned n);

// The parts of "<id>::<n>", as views into the text.
struct ReplicaName {
  std::string_view id;
  unsigned n;
};
// Returns nullopt if the text does not have that form; n has no leading zeros.
std::optional<ReplicaName> parse_replica_id(std::string_view text);
// Returns the id of the device for a replica's id, and any other text unchanged.
std::string_view device_behind(std::string_view id);

// Calls visit(before, after) for each id of two lists sorted by id, in that order, with nullptr for the list
// that lacks the id.
template <typename Visit>
void for_each_pair(std::span<const Device> before, std::span<const Device> after, Visit visit) {
  const Device* const none = nullptr;
  auto old = before.begin();
  for (const Device& device : after) {
    int order = 1;
    while (old != before.end() && (order = old->id.compare(device.id)) < 0) visit(&*old++, none);
    const bool known = old != before.end() && order == 0;
    visit(known ? &*old++ : none, &device);
  }
  for (; old != before.end(); ++old) visit(&*old, none);
}

class Inventory {
 public:
  Inventory() = default;
  // Sorts by id. The first of several devices with the same id is kept.
  explicit Inventory(std::vector<Device> devices);

  std::span<const Device> devices() const {
    return devices_ ? std::span<const Device>(*devices_) : std::span<const Device>();
  }
  bool empty() const { return !devices_; }

  // Calls visit(id, device, healthy) for every id that is sent to the kubelet, in order; a device with
  // replicas has several.
  template <typename Visit>
  void for_each_share(Visit visit) const {
    for (const Device& device : devices()) {
      for (unsigned n = 0; n < device.replicas; ++n)
        visit(replica_id(device, n), device, device.healthy_share(n));
    }
  }
  template <typename Visit>
  void for_each_id(Visit visit) const {
    for_each_share([&](std::string id, const Device& device, bool) { visit(std::move(id), device); });
  }
  std::size_t id_count() const;
  // Returns the device behind an id that was sent to the kubelet; nullptr if there is none.
  const Device* find(std::string_view id) const { return find_device(devices(), id); }

  // Returns true if both lists are the same for the kubelet: ids, health and NUMA nodes.
  bool lists_same_as(const Inventory& other) const;
  bool operator==(const Inventory& other) const;

 private:
  std::shared_ptr<const std::vector<Device>> devices_;  // nullptr: no devices
};

// Returns an upper bound for the bytes of the device, with all replicas, in a ListAndWatch message.
std::size_t wire_size(const Device& device);

// Changes a list without a scan, so that a device can be taken out of service while its driver hangs. May
// only add reasons, and must add the same reasons until its owner reports a change. Not thread-safe.
class Overlay {
 public:
  Overlay() = default;
  virtual ~Overlay() = default;

  // Returns true if the overlay affects devices of the resource.
  virtual bool touches(const std::string& resource) const = 0;
  virtual void apply(const std::string& resource, std::vector<Device>& devices) const = 0;

  bool operator==(const Overlay&) const = default;

 protected:
  Overlay(const Overlay&) = default;
  Overlay(Overlay&&) = default;
  Overlay& operator=(const Overlay&) = default;
  Overlay& operator=(Overlay&&) = default;
};

// The overlays of a list, in the order in which they are applied. They must outlive the list's owner.
using Overlays = std::vector<const Overlay*>;

// Returns the text, or its first bytes and "...". UTF-8 characters are not cut.
inline std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0u) == 0x80u) --most;
  return std::string(text.substr(0, most)) + "...";
}

class FirstNames {
 public:
  static constexpr std::size_t kMost = 5;
  static constexpr std::size_t kLongest = 80;  // in bytes; our own ids are shorter

  void add(std::string_view name) {
    if (count_++ >= kMost) return;
    if (!names_.empty()) names_ += ", ";
    names_ += shortened(name, kLongest);
  }
  std::size_t count() const { return count_; }
  // Returns "a, b, c, d, e and 997 more".
  std::string text() const {
    return count_ > kMost ? names_ + " and " + std::to_string(count_ - kMost) + " more" : names_;
  }

 private:
  std::size_t count_ = 0;
  std::string names_;
};

// A change of a device between two lists. A value.
struct DeviceChange {
  enum class Kind : std::uint8_t {
    kAppeared,   // not listed or gone before
    kGone,       // present before; still listed for a while, or not listed
    kUnhealthy,  // present; was Healthy or absent before
    kHealthy,    // present; was Unhealthy before
    kForgotten,  // no longer listed
  };
  Kind kind{};
  std::string id;
  std::string why;  // why the device is Unhealthy; empty for kForgotten

  bool operator==(const DeviceChange&) const = default;
};

// Compares two lists; both, and the result, are sorted by id. A device may change twice: it appears and is
// Unhealthy, or goes and is forgotten.
std::vector<DeviceChange> device_changes(std::span<const Device> before, std::span<const Device> after);
// Returns the changes of a first list, whose devices do not count as appeared.
std::vector<DeviceChange> device_changes_of_first(std::span<const Device> list);

// Devices with the same kind of change. The texts are short, however many devices there are.
struct ChangedGroup {
  std::size_t count = 0;
  std::string names;  // "a, b, c and 997 more"
  std::string why;    // the first device's reason; with ", and others" if the reasons differ
};
ChangedGroup group_of(std::span<const DeviceChange> changes, DeviceChange::Kind kind);

}  // namespace plughost
