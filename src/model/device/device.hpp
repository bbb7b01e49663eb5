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

// A device node that is passed into the container.
struct DeviceNode {
  std::string host_path;
  PositionText container_path;
  std::string permissions = "rw";  // letters of "rwm", never empty: the runtime uses the text as it is

  auto operator<=>(const DeviceNode&) const = default;
};

// A file or directory that is bind-mounted into the container.
struct Mount {
  std::string host_path;
  PositionText container_path;
  bool read_only = false;

  auto operator<=>(const Mount&) const = default;
};

// An environment variable of the container.
struct Variable {
  PositionText name;
  std::string value;

  auto operator<=>(const Variable&) const = default;
};

// A value that templates can use, besides the id.
struct Attribute {
  std::string name;
  std::string value;

  auto operator<=>(const Attribute&) const = default;
};

// The affinity to the device at another PCI address: larger is nearer.
struct Bond {
  std::string pci;
  unsigned score = 0;

  auto operator<=>(const Bond&) const = default;
};

// A device node that a container gets by CDI, with its target and its group.
struct CdiNode {
  std::string path;  // on the host
  std::string node;  // the target of its symbolic links
  std::uint32_t group =
      0;  // the group whose members may open it; 0: not requested by the entry, or root's group

  auto operator<=>(const CdiNode&) const = default;
};

// A value that few devices have. Copies share the value until one of them is modified.
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
  std::shared_ptr<T> value_;  // nullptr: a default-constructed T
};

// The prefix of an IOMMU group's number in Hardware::units.
inline constexpr std::string_view kIommuGroup = "iommu_groups/";

// The device's hardware, as far as its kind knows it.
struct Hardware {
  // The two ids of a device that can be identified in two ways.
  struct Ids {
    std::string by_name;   // by the identity that a device keeps at another port; equal for duplicates
    std::string by_place;  // by the port or slot that it is plugged into

    bool operator==(const Ids&) const = default;
  };

  // Set by the kind; for a listed device, expanded by the entry's `id`. Empty if the device has only one id.
  Ids ids;
  // Attributes that replace the attributes of the same names if the device is listed by its place.
  std::vector<Attribute> at_place;
  // Paths in the kernel's device tree, "/sys/devices/…", whose subtrees belong to the device, and other
  // exclusive hardware such as an IOMMU group. Empty if unknown, or if the entry lets containers share it.
  std::vector<std::string> units;
  // Directories of the device whose content the kernel shows in one network namespace only:
  // "/sys/devices/…/0000:03:00.0/net".
  std::vector<std::string> in_namespace;
  std::vector<Bond> bonds;  // to other devices of its kind; empty: only NUMA nodes are known

  bool operator==(const Hardware&) const = default;
};

struct KindSpec;
struct AllocationSpec;

// A reason besides the device's own error why the device, or some of its shares, cannot be allocated.
struct Reason {
  enum class Who { kDrain, kHolder };

  Who who = Who::kDrain;
  std::string text;              // never empty: "drained: the fan"
  std::vector<unsigned> shares;  // the numbers of the shares that become Unhealthy, ascending; 0 for a
                                 // device without replicas; empty: the whole device

  static Reason drain(std::string text) {
    return {.who = Who::kDrain, .text = std::move(text), .shares = {}};
  }
  static Reason holder(std::string text, std::vector<unsigned> shares) {
    return {.who = Who::kHolder, .text = std::move(text), .shares = std::move(shares)};
  }
  auto operator<=>(const Reason&) const = default;
};

struct Device {
  std::string id;         // valid UTF-8, at most 63 characters, unique in its resource
  std::string error;      // why the device itself is Unhealthy; empty if it is not
  bool lasting = false;   // the error does not end by itself, see DeviceSource::set_fault()
  bool gone = false;      // the device has left the machine, and is still listed for a while
  bool away = false;      // the device is present, but only visible in another network namespace
  bool if_named = false;  // other devices are attached: the entry must select it explicitly, see choose()
  std::vector<int> numa_nodes;  // real nodes only: the kubelet would read -1 as a node that never fits
  std::vector<DeviceNode> nodes;
  std::vector<CdiNode> cdi_nodes;
  std::vector<Mount> mounts;
  std::vector<Variable> env;
  std::vector<Attribute> attributes;
  Rare<Hardware> hardware;
  unsigned replicas = 1;  // how many containers may hold it at once; above 1 its ids are <id>::<n>

  // Added by overlays (see Overlay), in their order.
  std::vector<Reason> reasons;

  // The kind's additions to a container besides nodes and mounts. Devices that share this object contribute
  // it once. nullptr if there are none.
  std::shared_ptr<const KindSpec> spec;

  // The settings of the device's entry if several entries form the resource, else nullptr: see terms_of().
  std::shared_ptr<const AllocationSpec> terms;

  // Returns how many of its shares can be allocated.
  unsigned healthy_shares() const;
  bool healthy() const { return error.empty() && (reasons.empty() || healthy_shares() > 0); }
  bool healthy_share(unsigned n) const;
  // Returns true if all of its shares could be allocated if no pod held them.
  bool in_service() const {
    return error.empty() &&
           std::ranges::none_of(reasons, [](const Reason& reason) { return reason.shares.empty(); });
  }
  bool drained() const {
    return std::ranges::find(reasons, Reason::Who::kDrain, &Reason::who) != reasons.end();
  }
  // Returns why the device, or some of its shares, are Unhealthy; empty if they are not.
  std::string reason() const;
  // Adds an attribute unless the value is empty.
  void add(std::string name, std::string value);
  // Also adds the attribute `numa`. nullopt: unknown.
  void add_numa_node(std::optional<int> node);
  // Adds a node with the same path in the container.
  void add_node(const std::string& path, std::string permissions = "rw");
  // Returns the value of the attribute, or the id for "id"; nullptr if there is no such attribute.
  const std::string* attribute(std::string_view name) const;
  // Returns a copy of attribute(); nullopt if there is no such attribute.
  std::optional<std::string> value(std::string_view name) const;
  // Returns the value that the attribute has if the device is listed by its place; nullptr if the device has
  // only one id.
  const std::string* attribute_at_place(std::string_view name) const;
  // Lists the device by its place. The device must have two ids.
  void go_by_place();
  // Returns why the placeholder's value cannot be part of a path, as a sentence; empty if it can, or if there
  // is no value. The value must be a single name: not "." or "..", no '/', no unsafe characters. The values
  // of `link`, `target`, names that end in "path", and the end of `path` below a directory are paths and may
  // contain '/'. Thus no serial number leads out of the configured directory.
  std::string path_error(std::string_view placeholder) const;
  bool operator==(const Device&) const = default;
};

}  // namespace plughost
