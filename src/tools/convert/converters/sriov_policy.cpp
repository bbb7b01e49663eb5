// SriovNetworkNodePolicy: an object from which the SR-IOV network operator writes the plugin's file.

#include <optional>
#include <utility>

#include "base/text/ascii.hpp"
#include "base/text/words.hpp"
#include "tools/convert/converters/converter.hpp"
#include "tools/convert/converters/sriov.hpp"

namespace plughost {
namespace {

using Texts = std::vector<std::string>;

// Device ids of a physical function and its virtual functions, from the operator's ConfigMap
// supported-nic-ids.
constexpr Word<std::string_view> kFunctionsOf[] = {
    {"158a", "154c"}, {"158b", "154c"}, {"1572", "154c"}, {"0d58", "154c"}, {"1583", "154c"},
    {"1592", "1889"}, {"1593", "1889"}, {"159b", "1889"}, {"1599", "1889"}, {"1591", "1889"},
    {"188a", "1889"}, {"124d", "1889"}, {"124c", "1889"}, {"579c", "1889"}, {"579d", "1889"},
    {"579e", "1889"}, {"12d2", "1889"}, {"12d3", "1889"}, {"1249", "1889"}, {"124a", "1889"},
    {"1013", "1014"}, {"1015", "1016"}, {"1017", "1018"}, {"1019", "101a"}, {"101b", "101c"},
    {"101d", "101e"}, {"101f", "101e"}, {"1021", "101e"}, {"1023", "101e"}, {"a2d6", "101e"},
    {"a2dc", "101e"}, {"16d7", "16dc"}, {"1750", "1806"}, {"1654", "1664"}, {"1000", "1000"},
    {"1041", "1041"}, {"b200", "b203"}, {"b100", "b103"}, {"b600", "b603"}, {"b900", "b903"},
    {"ba00", "ba03"}, {"ec20", "ec20"}};

Node text_node(const Mark& mark, std::string text) {
  return {.kind = Node::Kind::kScalar, .mark = mark, .scalar = std::move(text)};
}

void add(Node& map, const char* key, const Node& value) {
  if (value.kind != Node::Kind::kNull) map.members.push_back({text_node(value.mark, key), value});
}

// Returns the item of `resourceList` that the operator writes for a policy. Adds to `errors` why the item
// cannot be kept.
Node resource_of(const Node& spec, Texts& errors, Notes& notes) {
  const Node& nic = at(spec, "nicSelector");
  Node selectors{.kind = Node::Kind::kMap, .mark = nic.mark};
  add(selectors, "vendors", at(nic, "vendor"));
  if (const Node& device = at(nic, "deviceID"); !device.scalar.empty()) {
    const bool whole = at(spec, "numVfs").scalar == "0";
    const auto id = whole ? std::optional<std::string_view>(device.scalar)
                          : value_of(kFunctionsOf, hardware_id(device.scalar));
    if (id)
      add(selectors, "devices", text_node(device.mark, std::string(*id)));
    else
      notes.push_back(
          doubt("What the virtual functions of the device " + quote(device.scalar) +
                " are the operator does not know, either: it takes those of the other selectors."));
  }
  for (const char* key : {"pfNames", "rootDevices"}) add(selectors, key, at(nic, key));
  if (!at(nic, "netFilter").scalar.empty()) errors.emplace_back("`netFilter` has no counterpart.");
  for (const char* key : {"isRdma", "needVhostNet", "vdpaType"}) add(selectors, key, at(spec, key));
  const Node& link = at(spec, "linkType");
  if (const Node& type = at(spec, "deviceType"); type.scalar == "vfio-pci")
    add(selectors, "drivers", type);
  else if (!link.scalar.empty())
    add(selectors, "linkTypes", text_node(link.mark, to_lower(link.scalar) == "ib" ? "infiniband" : "ether"));
  Node resource{.kind = Node::Kind::kMap, .mark = spec.mark};
  for (const char* key : {"resourceName", "excludeTopology"}) add(resource, key, at(spec, key));
  add(resource, "selectors", selectors);
  return resource;
}

}  // namespace

void add_sriov_policy(const Node& root, std::string_view prefix, ConfigDraft& draft, Reading& diagnostics) {
  draft.joins_others = true;
  const Node& spec = at(root, "spec");
  Texts errors;
  const Node node = resource_of(spec, errors, draft.notes);
  for (YamlDraft& entry : sriov_entries(node, "spec", prefix, diagnostics, errors))
    draft.resources.add(std::move(entry));
  draft.notes.emplace_back(
      "The operator goes on making the virtual functions (`numVfs`, `mtu` …), and must not run its own "
      "plugin "
      "on these nodes. Of policies for one card it takes that of the smallest `priority`; here each counts.");
}

}  // namespace plughost
