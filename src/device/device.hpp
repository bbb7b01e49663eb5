#pragma once
// One device, as a plain value. Thread-safe as values are.

#include <algorithm>
#include <compare>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/template.hpp"

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

// A path of the machine that is a link, and the node that it leads to.
struct NodeLink {
  std::string path;
  std::string node;

  auto operator<=>(const NodeLink&) const = default;
};

struct KindRecipe;

struct Device {
  std::string id;               // valid UTF-8, at most 63 characters, unique in its resource
  std::string trouble;          // why it is Unhealthy by itself, in words; empty: it is not
  bool lasting = false;         // its trouble does not end by itself: see DeviceSource::forgive()
  bool gone = false;            // it was there, and is listed for a while yet
  bool drained = false;         // somebody has taken it out of service, and its trouble begins with that
  std::vector<int> numa_nodes;  // real nodes only: the kubelet takes -1 for a node that never fits
  std::vector<DeviceNode> nodes;
  std::vector<NodeLink> links;  // among what its container gets by CDI, which takes nodes only
  std::vector<Mount> mounts;
  std::vector<Variable> env;
  std::vector<Attribute> attributes;
  std::vector<Bond> bonds;  // to the other devices of its kind; empty: nothing is known beside NUMA nodes
  unsigned replicas = 1;    // how many containers may hold it at once; above 1 its ids are <id>::<n>

  // Its shares that containers hold by ids with which it is not listed (see adopt()): by number, in order, 0
  // for a device without replicas. They are Unhealthy, and that is no trouble of the device's own.
  std::vector<unsigned> taken;
  std::string taken_by;  // who that is, in words; empty: none is taken

  // What its kind brings into a container beside nodes and mounts; devices of one container that share it get
  // it together. nullptr: nothing.
  std::shared_ptr<const KindRecipe> recipe;

  // Can any of its shares be had?
  bool healthy() const { return trouble.empty() && taken.size() < replicas; }
  bool healthy_share(unsigned n) const { return trouble.empty() && !std::ranges::binary_search(taken, n); }
  // Why it is Unhealthy, or some of its shares are; empty: all is well.
  std::string reason() const {
    if (trouble.empty() || taken_by.empty()) return trouble + taken_by;
    return trouble + "; and " + taken_by;
  }
  // An attribute; none if the value is empty.
  void add(std::string name, std::string value);
  // The attribute `numa`, too. nullopt: nobody knows it.
  void add_numa_node(std::optional<int> node);
  // A node that has the same path in the container.
  void add_node(const std::string& path, std::string permissions = "rw");
  // nullptr if the device has no such attribute. "id" is one.
  const std::string* attribute(std::string_view name) const;
  bool operator==(const Device&) const = default;
};

}  // namespace plughost
