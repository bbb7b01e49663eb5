#pragma once
// One device, as a plain value. Thread-safe as values are.

#include <algorithm>
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text/template.hpp"

namespace plughost {

// A device node that comes with a device.
struct DeviceNode {
  std::string host_path;
  PositionText container_path;
  std::string permissions = "rw";  // of r, w and m; never empty: the runtime takes it as it is

  auto operator<=>(const DeviceNode&) const = default;
};

// A file or directory that is bind-mounted into the device's container.
struct Mount {
  std::string host_path;
  PositionText container_path;
  bool read_only = false;

  auto operator<=>(const Mount&) const = default;
};

// An environment variable of the device's container.
struct Variable {
  PositionText name;
  std::string value;

  auto operator<=>(const Variable&) const = default;
};

// What a template can name beside the id.
struct Attribute {
  std::string name;
  std::string value;

  auto operator<=>(const Attribute&) const = default;
};

// How near a device is to those at another PCI address: the larger, the nearer.
struct Bond {
  std::string pci;
  unsigned score = 0;

  auto operator<=>(const Bond&) const = default;
};

// A node that a container gets by CDI, where its path is not all that matters.
struct CdiNode {
  std::string path;         // of the machine
  std::string node;         // where its links lead
  std::uint32_t group = 0;  // whose members may open it; 0: the entry does not want it, or it is root's

  auto operator<=>(const CdiNode&) const = default;
};

// A value that few devices have: copies share it until one of them is changed.
template <typename T>
class Rare {
 public:
  const T& operator*() const {
    static const T kNone;
    return value_ ? *value_ : kNone;
  }
  const T* operator->() const { return &**this; }
  T& edit() {
    if (value_.use_count() != 1) value_ = std::make_shared<T>(**this);
    return *value_;
  }
  bool operator==(const Rare& other) const { return value_ == other.value_ || **this == *other; }

 private:
  std::shared_ptr<T> value_;  // nullptr: as T is made
};

// Before the number of an IOMMU group in Hardware::units.
inline constexpr std::string_view kIommuGroup = "iommu_groups/";

// Which hardware a device is, as far as its kind knows.
struct Hardware {
  // A device's ids where it has two.
  struct Ids {
    std::string
        by_name;  // by what it says that it is: it goes along to another port, and a duplicate has the same
    std::string by_place;  // by where it is plugged in

    bool operator==(const Ids&) const = default;
  };

  // As the kind makes them; of a listed device, as the entry does. Empty: it has one.
  Ids ids;
  // Take the place of those of the same names, where the device goes by its place.
  std::vector<Attribute> at_place;
  // Places in the kernel's tree of devices, "/sys/devices/…", of which what is below belongs to the device;
  // and what else one container can use at a time, an IOMMU group. Empty: nothing is known, or containers
  // share it, because the entry says so.
  std::vector<std::string> units;
  // Directories of its own whose content the kernel shows in one network namespace only:
  // "/sys/devices/…/0000:03:00.0/net".
  std::vector<std::string> in_namespace;
  std::vector<Bond> bonds;  // to the other devices of its kind; empty: nothing is known beside NUMA nodes

  bool operator==(const Hardware&) const = default;
};

struct KindSpec;
struct AllocationSpec;

// Why a device, or some of its shares, is not to be had, whatever it is by itself: who says so, and in words.
struct Reason {
  enum class Who { kDrain, kHolder };

  Who who = Who::kDrain;
  std::string text;              // never empty: "drained: the fan"
  std::vector<unsigned> shares;  // those that are Unhealthy for it, by number, in order, 0 for a device
                                 // without replicas; empty: the device is out of service, whole

  static Reason drain(std::string text) {
    return {.who = Who::kDrain, .text = std::move(text), .shares = {}};
  }
  static Reason holder(std::string text, std::vector<unsigned> shares) {
    return {.who = Who::kHolder, .text = std::move(text), .shares = std::move(shares)};
  }
  auto operator<=>(const Reason&) const = default;
};

struct Device {
  std::string id;               // valid UTF-8, at most 63 characters, unique in its resource
  std::string error;            // why it is Unhealthy by itself, in words; empty: it is not
  bool lasting = false;         // its error does not end by itself: see DeviceSource::forgive()
  bool gone = false;            // it was there, and is listed for a while yet
  bool away = false;            // it is there, and is shown in another network namespace
  bool if_named = false;        // other devices hang from it: whoever means a vendor does not mean it
  std::vector<int> numa_nodes;  // real nodes only: the kubelet takes -1 for a node that never fits
  std::vector<DeviceNode> nodes;
  std::vector<CdiNode> cdi_nodes;
  std::vector<Mount> mounts;
  std::vector<Variable> env;
  std::vector<Attribute> attributes;
  Rare<Hardware> hardware;
  unsigned replicas = 1;  // how many containers may hold it at once; above 1 its ids are <id>::<n>

  // What is laid over it (see Overlay), in that order.
  std::vector<Reason> reasons;

  // What its kind brings into a container beside nodes and mounts; devices of one container that share it get
  // it together. nullptr: nothing.
  std::shared_ptr<const KindSpec> spec;

  // What its entry says, where several entries are one resource: see terms_of(). nullptr: the resource has
  // one.
  std::shared_ptr<const AllocationSpec> terms;

  // How many of its shares can be had?
  unsigned healthy_shares() const;
  bool healthy() const { return error.empty() && (reasons.empty() || healthy_shares() > 0); }
  bool healthy_share(unsigned n) const;
  // Could all of its shares be had, if nobody held them?
  bool in_service() const {
    return error.empty() &&
           std::ranges::none_of(reasons, [](const Reason& reason) { return reason.shares.empty(); });
  }
  bool drained() const {
    return std::ranges::find(reasons, Reason::Who::kDrain, &Reason::who) != reasons.end();
  }
  // Why it is Unhealthy, or some of its shares are; empty: all is well.
  std::string reason() const;
  // An attribute; none if the value is empty.
  void add(std::string name, std::string value);
  // The attribute `numa`, too. nullopt: nobody knows it.
  void add_numa_node(std::optional<int> node);
  // A node that has the same path in the container.
  void add_node(const std::string& path, std::string permissions = "rw");
  // nullptr if the device has no such attribute. "id" is one.
  const std::string* attribute(std::string_view name) const;
  // The same, were it to go by its place; nullptr if it has one id.
  const std::string* attribute_at_place(std::string_view name) const;
  void go_by_place();
  // Why the value of the placeholder cannot be in a path, as a sentence. Empty: it can be, or there is none.
  // It has to be one name: neither "." nor "..", without '/' and unsafe characters. The values of `link`,
  // `target`, of what ends in "path", and of what is an end of `path` (a name below a directory) are paths by
  // definition: they may have '/'. So no serial number leads out of the directory that the configuration
  // names.
  std::string path_error(std::string_view placeholder) const;
  bool operator==(const Device&) const = default;
};

}  // namespace plughost
