#pragma once
// The devices of one resource at one moment. Immutable once made, and so thread-safe; copies share what is in
// it.

#include <algorithm>
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

// The kubelet's limit for one message, in bytes (google.golang.org/grpc's default, which it does not raise).
inline constexpr std::size_t kKubeletMessageLimit = 4u << 20;
// What the devices of one list may take of it, by wire_size(): some room is left for the framing.
inline constexpr std::size_t kListLimit = kKubeletMessageLimit - 1024;

// By id; those with the same id stay in their order.
void sort_by_id(std::vector<Device>& devices);

// The device of that id, of devices that are sorted by id; nullptr if there is none. What has shares is
// listed by others: see find_device.
const Device* device_of_id(std::span<const Device> devices, std::string_view id);
// The device behind an id that the kubelet was told, of devices that are sorted by id; nullptr if there is
// none.
const Device* find_device(std::span<const Device> devices, std::string_view id);
// Which of the device's shares the id stands for: an id of its own.
unsigned share_of(const Device& device, std::string_view id);

// The id of a device's n-th replica; the id itself if it has just one.
std::string replica_id(const Device& device, unsigned n);

// What "<id>::<n>" says. Views into the text.
struct ReplicaName {
  std::string_view id;
  unsigned n;
};
// nullopt if the text is not of that form; n has no leading zeros.
std::optional<ReplicaName> parse_replica_id(std::string_view text);
// The id of the device for whose share the text stands; the text itself if it is not of that form.
std::string_view device_behind(std::string_view id);

// Calls visit(before, after) for each id of two lists that are sorted by id, in that order: nullptr where one
// of them does not have it.
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
  // Sorts by id. Of devices with the same id the first stays.
  explicit Inventory(std::vector<Device> devices);

  std::span<const Device> devices() const {
    return devices_ ? std::span<const Device>(*devices_) : std::span<const Device>();
  }
  bool empty() const { return !devices_; }

  // Calls visit(id, device, healthy) for every id that the kubelet is told, in order, with its health: a
  // device with replicas has several.
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
  // The device behind an id that the kubelet was told; nullptr if there is none.
  const Device* find(std::string_view id) const { return find_device(devices(), id); }

  // Would the kubelet be told the same: ids, health and NUMA nodes?
  bool lists_same_as(const Inventory& other) const;
  bool operator==(const Inventory& other) const;

 private:
  std::shared_ptr<const std::vector<Device>> devices_;  // nullptr: there are none
};

// Upper bound, in bytes, of what the device takes in a ListAndWatch message, all its replicas counted.
std::size_t wire_size(const Device& device);

// Changes the list of the devices that are there without a scan: a driver that hangs
// keeps nobody from taking a device out of service. Adds reasons to devices, and nothing else; the same ones
// until whoever has it says that it is another. Not thread-safe.
class Overlay {
 public:
  Overlay() = default;
  virtual ~Overlay() = default;

  // Does it say anything of the resource's devices?
  virtual bool touches(const std::string& resource) const = 0;
  virtual void apply(const std::string& resource, std::vector<Device>& devices) const = 0;

  bool operator==(const Overlay&) const = default;

 protected:
  Overlay(const Overlay&) = default;
  Overlay(Overlay&&) = default;
  Overlay& operator=(const Overlay&) = default;
  Overlay& operator=(Overlay&&) = default;
};

// In the order in which they are laid, and told of. They outlive whoever has the list.
using Overlays = std::vector<const Overlay*>;

// As it is, or its first bytes and "...". Of UTF-8 no character is cut.
inline std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0u) == 0x80u) --most;
  return std::string(text.substr(0, most)) + "...";
}

class FirstNames {
 public:
  static constexpr std::size_t kMost = 5;
  static constexpr std::size_t kLongest = 80;  // bytes; an id of ours is shorter

  void add(std::string_view name) {
    if (count_++ >= kMost) return;
    if (!names_.empty()) names_ += ", ";
    names_ += shortened(name, kLongest);
  }
  std::size_t count() const { return count_; }
  // "a, b, c, d, e and 997 more"
  std::string text() const {
    return count_ > kMost ? names_ + " and " + std::to_string(count_ - kMost) + " more" : names_;
  }

 private:
  std::size_t count_ = 0;
  std::string names_;
};

// What has become of a device from one list to the next. A value.
struct DeviceChange {
  enum class Kind : std::uint8_t {
    kAppeared,   // it was not listed, or was gone
    kGone,       // it was there: it is listed for a while yet, or it is not
    kUnhealthy,  // it is there: it was Healthy, or was not there
    kHealthy,    // again: it was there, and Unhealthy
    kForgotten,  // it is not listed any more
  };
  Kind kind{};
  std::string id;
  std::string why;  // of what is listed as Unhealthy; of kForgotten nothing

  bool operator==(const DeviceChange&) const = default;
};

// By id, both the lists and the changes. A device may have two: it appears and is Unhealthy, or goes and is
// forgotten.
std::vector<DeviceChange> device_changes(std::span<const Device> before, std::span<const Device> after);
// Of a first list: its devices have not appeared.
std::vector<DeviceChange> device_changes_of_first(std::span<const Device> list);

// Devices that fared alike. However many they are, its texts are short.
struct ChangedGroup {
  std::size_t count = 0;
  std::string names;  // "a, b, c and 997 more"
  std::string why;    // the first device's; "..., and others" where they differ
};
ChangedGroup group_of(std::span<const DeviceChange> changes, DeviceChange::Kind kind);

}  // namespace plughost
