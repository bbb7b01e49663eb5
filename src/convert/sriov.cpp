// sriov-network-device-plugin: `resourceList`.

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "convert/converter.hpp"
#include "convert/lenient_fields.hpp"

namespace plughost {
namespace {

using Texts = std::vector<std::string>;

// Drivers that give a card a device node.
constexpr std::array<std::string_view, 3> kNodeDrivers = {"vfio-pci", "uio_pci_generic", "igb_uio"};
// Selectors that plughost has no word for: without them more cards would be taken.
constexpr std::array<const char*, 8> kNarrowing = {
    "pfNames", "rootDevices", "pciAddresses", "ddpProfiles", "acpiIndexes", "vdpaType", "pKeys", "auxTypes"};

struct Selector {
  std::map<std::string, Texts> lists;  // by theirs' word: vendors, devices, drivers, linkTypes
  Texts without_words;                 // keys of kNarrowing that it has
  bool rdma = false;
  bool vhost_net = false;
  Texts notes;
};

Selector read_selector(const Node& node, const std::string& path, Diagnostics& diagnostics) {
  LenientFields theirs(node, path, diagnostics);
  Selector selector;
  for (const char* key : {"vendors", "devices"}) {
    if (const Node* const at = theirs.node(key))
      selector.lists[key] = hardware_ids(theirs.texts(key), *at, theirs.path_of(key), diagnostics);
  }
  for (const char* key : {"drivers", "linkTypes"}) {
    if (Texts texts = theirs.texts(key); !texts.empty()) selector.lists[key] = std::move(texts);
  }
  for (const char* key : kNarrowing) {
    if (theirs.node(key)) selector.without_words.emplace_back(key);
  }
  selector.rdma = theirs.flag("isRdma").value_or(false);
  selector.vhost_net = theirs.flag("needVhostNet").value_or(false);
  selector.notes = theirs.notes();
  return selector;
}

// The selector that takes what either takes, if there is one: they differ in one list at most.
std::optional<Selector> united(const Selector& a, const Selector& b) {
  if (a.rdma != b.rdma || a.vhost_net != b.vhost_net || a.lists.size() != b.lists.size()) return std::nullopt;
  Selector both = a;
  unsigned differing = 0;
  for (auto& [key, texts] : both.lists) {
    const auto other = b.lists.find(key);
    if (other == b.lists.end()) return std::nullopt;
    if (other->second == texts) continue;
    ++differing;
    for (const std::string& text : other->second) {
      if (std::ranges::find(texts, text) == texts.end()) texts.push_back(text);
    }
  }
  std::ranges::copy(b.without_words, std::back_inserter(both.without_words));
  std::ranges::copy(b.notes, std::back_inserter(both.notes));
  return differing > 1 ? std::nullopt : std::optional(both);
}

class Resource {
 public:
  Resource(const Node& node, std::string path, std::string_view prefix, Diagnostics& diagnostics)
      : theirs_(node, std::move(path), diagnostics), diagnostics_(diagnostics) {
    const std::string name = theirs_.require_text("resourceName");
    name_ = literal_name(theirs_.text("resourcePrefix").value_or(std::string(prefix)), name);
    type_ = theirs_.text("deviceType").value_or("netDevice");
  }

  YamlDraft draft() {
    entry_.add("name", YamlDraft::text(name_));
    const Selector selector = read_selectors();
    if (theirs_.node("additionalInfo"))
      entry_.notes.emplace_back(
          "`additionalInfo` is left out: the variable ..._INFO has what the machine shows.");
    if (theirs_.flag("excludeTopology").value_or(false))
      entry_.notes.emplace_back("`excludeTopology` is left out: the kubelet is told the card's NUMA node.");
    add_notes(entry_.notes, theirs_.notes());
    add_notes(entry_.notes, selector.notes);
    for (const std::string& key : selector.without_words)
      refuse('`' + key + "` has no counterpart: more cards than were meant would be taken.");
    add_kind(selector);
    add_env();
    if (selector.vhost_net) add_vhost_net();
    if (entry_.disabled) entry_.notes.emplace_back("This is what is left of it:");
    return std::move(entry_);
  }

 private:
  // Written as a comment: served as it is, it would not be what was meant.
  void refuse(const std::string& why) {
    if (!std::exchange(entry_.disabled, true)) entry_.notes.push_back(name_ + " cannot be kept.");
    entry_.notes.push_back(why);
  }

  Selector read_selectors() {
    const Node* const node = theirs_.node("selectors");
    const std::string path = theirs_.path_of("selectors");
    Selector all;
    if (node && node->kind == Node::Kind::kSequence) {
      for (std::size_t i = 0; i < node->items.size(); ++i) {
        Selector one = read_selector(node->items[i], path + '[' + std::to_string(i) + ']', diagnostics_);
        const auto both = i == 0 ? std::optional(std::move(one)) : united(all, one);
        if (both)
          all = *both;
        else
          refuse("Its selectors [0] and [" + std::to_string(i) +
                 "] cannot be written as one; an entry has one. Make entries of other names, or list all in "
                 "one.");
      }
    } else if (node) {
      all = read_selector(*node, path, diagnostics_);
    }
    // Older versions have it beside the selectors.
    all.rdma = all.rdma || theirs_.flag("isRdma").value_or(false);
    return all;
  }

  void add_kind(const Selector& selector) {
    if (type_ == "auxNetDevice") refuse("Auxiliary devices (subfunctions) have no counterpart.");
    if (selector.rdma)
      add_rdma(selector);
    else
      add_pci(selector);
  }

  static void add_list(const Selector& selector, const char* theirs, const char* ours, YamlDraft& to) {
    const auto found = selector.lists.find(theirs);
    if (found != selector.lists.end()) to.add(ours, YamlDraft::texts(found->second));
  }

  void add_rdma(const Selector& selector) {
    YamlDraft selectors = YamlDraft::map();
    add_list(selector, "vendors", "vendors", selectors);
    add_list(selector, "devices", "deviceIDs", selectors);
    add_list(selector, "drivers", "drivers", selectors);
    add_list(selector, "linkTypes", "linkTypes", selectors);
    YamlDraft rdma = YamlDraft::map();
    rdma.notes.emplace_back(
        "The container gets the RDMA nodes. The network interface is a CNI plugin's affair, as before.");
    if (!selectors.empty()) rdma.add("selectors", std::move(selectors));
    rdma.add("portState", YamlDraft::text("ignore"));
    entry_.add("rdma", std::move(rdma));
  }

  void add_pci(const Selector& selector) {
    const bool accelerator = type_ == "accelerator";
    const auto found = selector.lists.find("drivers");
    Texts drivers = found == selector.lists.end() ? Texts{} : found->second;
    if (!accelerator) {
      const auto has_no_node = [](const std::string& driver) {
        return std::ranges::find(kNodeDrivers, driver) == kNodeDrivers.end();
      };
      const std::size_t all = drivers.size();
      std::erase_if(drivers, has_no_node);
      if (drivers.empty())
        refuse(
            "It is for network interfaces, which a CNI plugin moves into the pod: there is no device node "
            "to give, and plughost does not offer it.");
      else if (drivers.size() < all)
        entry_.notes.emplace_back(
            "Cards with the other drivers are network interfaces, which a CNI plugin moves; they are left "
            "out.");
      if (selector.lists.contains("linkTypes"))
        entry_.notes.emplace_back("`linkTypes` is left out: these cards have no link that shows one.");
    } else {
      entry_.notes.emplace_back(
          "The container gets the nodes that the driver made; theirs gave those of "
          "vfio and uio only.");
    }
    YamlDraft pci = YamlDraft::map();
    add_list(selector, "vendors", "vendors", pci);
    add_list(selector, "devices", "devices", pci);
    pci.add("classes", YamlDraft::texts({accelerator ? "12" : "02"}));
    if (!drivers.empty()) pci.add("drivers", YamlDraft::texts(drivers));
    pci.add("permissions", YamlDraft::text("mrw"));
    entry_.add("pci", std::move(pci));
  }

  void add_env() {
    YamlDraft env = YamlDraft::map();
    env.add("PCIDEVICE_{resourceEnv}", YamlDraft::text("{pci}"));
    env.add("PCIDEVICE_{resourceEnv}_INFO", YamlDraft::text("{{{pciInfo}}}"));
    entry_.add("env", std::move(env));
  }

  void add_vhost_net() {
    YamlDraft nodes = YamlDraft::list();
    for (const char* path : {"/dev/vhost-net", "/dev/net/tun"}) {
      YamlDraft node = YamlDraft::map();
      node.flow = true;
      node.add("hostPath", YamlDraft::text(path));
      nodes.add(std::move(node));
    }
    entry_.add("nodes", std::move(nodes));
  }

  LenientFields theirs_;
  Diagnostics& diagnostics_;
  std::string name_;
  std::string type_;
  YamlDraft entry_ = YamlDraft::map();
};

void convert_sriov(const Node& root, Arguments& arguments, ConfigDraft& draft, Diagnostics& diagnostics) {
  for (const char* flag :
       {"config-file", "v", "logtostderr", "alsologtostderr", "log_dir", "stderrthreshold"})
    arguments.value(flag);
  if (arguments.truth("use-cdi").value_or(false))
    draft.notes.emplace_back("--use-cdi: the nodes are given directly here, not by a CDI name.");
  const auto prefix = arguments.value("resource-prefix");
  LenientFields top(root, "", diagnostics);
  const std::vector<Node>& resources = top.items("resourceList");
  for (std::size_t i = 0; i < resources.size(); ++i) {
    draft.resources.add(Resource(resources[i], "resourceList[" + std::to_string(i) + ']',
                                 prefix.value_or("intel.com"), diagnostics)
                            .draft());
  }
  for (std::string& note : top.notes()) draft.notes.push_back(std::move(note));
  draft.notes.emplace_back(
      "`permissions: mrw` is what theirs gave; `rw` is enough. `portState: ignore`, because theirs looks at "
      "no "
      "port of an RDMA card.");
  if (!prefix && !arguments.complete())
    draft.notes.emplace_back(
        "Names without a `resourcePrefix` have intel.com, the default of --resource-prefix; give other ones "
        "with --args.");
}

}  // namespace

Converter sriov_converter() {
  return {.plugin = OtherPlugin::kSriov, .looked_for = "a list `resourceList`", .convert = convert_sriov};
}

}  // namespace plughost
