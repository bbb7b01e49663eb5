// sriov-network-device-plugin: `resourceList`.

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "base/text/text.hpp"
#include "tools/convert/converters/sriov.hpp"

namespace plughost {
namespace {

using Texts = std::vector<std::string>;

// Drivers that create a device node for a card.
constexpr std::array<std::string_view, 3> kNodeDrivers = {"vfio-pci", "uio_pci_generic", "igb_uio"};
// Selectors without a counterpart. Ignoring them would select more cards.
constexpr std::array<const char*, 5> kNarrowing = {"ddpProfiles", "acpiIndexes", "vdpaType", "pKeys",
                                                   "auxTypes"};
constexpr const char* kPfNames = "pfNames";
constexpr const char* kRootDevices = "rootDevices";
constexpr const char* kAddress = "pci";  // name of the attribute
// Largest number of a virtual function. PCI Express has 16 bits for it, which no card uses in full.
constexpr unsigned kLastNumber = 1023;

// The keys of a selector's list in the other plugin's configuration and in plughost's kind `rdma`.
struct ListWords {
  const char* theirs;
  const char* rdma;
};
constexpr ListWords kSelectors[] = {
    {"vendors", "vendors"}, {"devices", "deviceIDs"}, {"drivers", "drivers"}, {"linkTypes", "linkTypes"}};

// A physical function of `pfNames` or `rootDevices`, with the numbers of its virtual functions; empty: all.
struct Root {
  std::string name;
  Texts numbers;
  bool operator==(const Root&) const = default;
};

struct Selector {
  std::map<std::string, Texts> lists;              // by the other plugin's key
  std::map<std::string, std::vector<Root>> roots;  // by the other plugin's key
  Texts without_words;                             // why the selector cannot be kept
  bool rdma = false;
  bool vhost_net = false;
  Notes notes;
  // Returns the list of that key, or an empty list if there is none.
  Texts said(const std::string& word) const { return lists.contains(word) ? lists.at(word) : Texts{}; }
};

// Parses "0-3,5". Returns nullopt for any other text.
std::optional<Texts> numbers_of(std::string_view text) {
  Texts numbers;
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    const std::string_view range = text.substr(0, comma);
    const std::size_t dash = range.find('-');
    const auto first = number_in<unsigned>(range.substr(0, dash), kLastNumber);
    const auto last =
        dash == std::string_view::npos ? first : number_in<unsigned>(range.substr(dash + 1), kLastNumber);
    if (!first || !last || *last < *first) return std::nullopt;
    for (unsigned n = *first; n <= *last; ++n) numbers.push_back(std::to_string(n));
    more = comma != std::string_view::npos;
    text.remove_prefix(more ? comma + 1 : 0);
  }
  return numbers;
}

// Parses "ens1f0#0-3".
std::vector<Root> roots_of(LenientFields& theirs, const char* key) {
  std::vector<Root> roots;
  for (const std::string& text : theirs.texts(key)) {
    const std::size_t mark = text.find('#');
    Root root{.name = text.substr(0, mark)};
    if (mark != std::string::npos) {
      if (auto numbers = numbers_of(std::string_view(text).substr(mark + 1)))
        root.numbers = *std::move(numbers);
      else
        theirs.error(*theirs.node(key), key,
                     quote(text) +
                         " does not end in numbers of virtual functions, as in ens1f0#0-3,5; the last "
                         "number there can be is " +
                         std::to_string(kLastNumber));
    }
    roots.push_back(std::move(root));
  }
  return roots;
}

Selector read_selector(const Node& node, const std::string& path, Reading& diagnostics) {
  LenientFields theirs(node, path, diagnostics);
  Selector selector;
  for (const char* key : {"vendors", "devices"}) {
    if (const Node* const at = theirs.node(key))
      selector.lists[key] = hardware_ids(theirs.texts(key), *at, theirs.path_of(key), diagnostics);
  }
  for (const char* key : {"drivers", "linkTypes", "pciAddresses"}) {
    if (Texts texts = theirs.texts(key); !texts.empty()) selector.lists[key] = std::move(texts);
  }
  for (const char* key : {kPfNames, kRootDevices}) {
    if (std::vector<Root> roots = roots_of(theirs, key); !roots.empty())
      selector.roots[key] = std::move(roots);
  }
  for (const char* key : kNarrowing) {
    if (!theirs.texts(key).empty())
      selector.without_words.push_back('`' + std::string(key) +
                                       "` has no counterpart: more cards than were meant would be taken.");
  }
  selector.rdma = theirs.flag("isRdma").value_or(false);
  selector.vhost_net = theirs.flag("needVhostNet").value_or(false);
  selector.notes = theirs.notes();
  return selector;
}

// One map of `only`: attributes and their allowed values.
using Pattern = std::map<std::string, Texts>;

YamlDraft pattern_draft(const Pattern& pattern) {
  YamlDraft draft = YamlDraft::flow_map();
  for (const auto& [attribute, values] : pattern) draft.add(attribute, values);
  return draft;
}

// Returns the patterns restricted to the roots. `attribute` identifies the physical function of a card.
std::vector<Pattern> with_roots(const std::vector<Pattern>& patterns, const std::vector<Root>& roots,
                                const char* attribute) {
  std::vector<Pattern> all;
  for (const Pattern& pattern : patterns) {
    Texts whole;
    for (const Root& root : roots) {
      if (root.numbers.empty()) {
        whole.push_back(root.name);
        continue;
      }
      Pattern part = pattern;
      part[attribute] = {root.name};
      const auto [numbers, is_new] = part.try_emplace("vf", root.numbers);
      const auto is_other = [&](const std::string& n) {
        return std::ranges::find(root.numbers, n) == root.numbers.end();
      };
      if (!is_new) std::erase_if(numbers->second, is_other);
      if (!numbers->second.empty()) all.push_back(std::move(part));
    }
    if (whole.empty()) continue;
    Pattern part = pattern;
    part[attribute] = whole;
    all.push_back(std::move(part));
    // The root may be a card without virtual functions: it has no `physfn`, and matches by its own address.
    if (attribute != std::string_view("physfn") || pattern.contains("vf") || pattern.contains(kAddress))
      continue;
    part = pattern;
    part[kAddress] = std::move(whole);
    all.push_back(std::move(part));
  }
  return all;
}

std::vector<Pattern> patterns_of(const Selector& selector) {
  std::vector<Pattern> patterns(1);
  if (selector.lists.contains("pciAddresses")) patterns.front()[kAddress] = selector.said("pciAddresses");
  for (const auto& [key, roots] : selector.roots)
    patterns = with_roots(patterns, roots, key == kPfNames ? "pfName" : "physfn");
  return patterns;
}

class Resource {
 public:
  // `errors` has reasons why the resource cannot be kept, in addition to those found here.
  Resource(const Node& node, std::string path, std::string_view prefix, Reading& diagnostics,
           Texts errors = {})
      : theirs_(node, std::move(path), diagnostics), diagnostics_(diagnostics), errors_(std::move(errors)) {
    const std::string name = theirs_.require_text("resourceName");
    name_ = literal_name(theirs_.text("resourcePrefix").value_or(std::string(prefix)), name);
    type_ = theirs_.text("deviceType").value_or("netDevice");
  }

  // Returns one entry per selector.
  std::vector<YamlDraft> drafts() {
    const std::vector<Selector> selectors = read_selectors();
    Notes notes;
    if (theirs_.node("additionalInfo"))
      notes.push_back(
          loss("`additionalInfo` is left out: the variable ..._INFO has what the machine shows."));
    if (theirs_.flag("excludeTopology").value_or(false))
      notes.push_back(loss("`excludeTopology` is left out: the kubelet is told the card's NUMA node."));
    add_notes(notes, theirs_.notes());
    std::vector<YamlDraft> all;
    for (const Selector& selector : selectors) all.push_back(draft_of(selector, std::exchange(notes, {})));
    return all;
  }

 private:
  // Turns the entry into a comment, because it would not select the devices that the other plugin selects.
  void refuse(const std::string& why) {
    if (!std::exchange(entry_.disabled, true)) entry_.notes.push_back(name_ + " cannot be kept.");
    entry_.notes.push_back(loss(why));
  }

  // Older versions of the other plugin have one selector instead of a list, and set `isRdma` in the resource
  // instead of in the selector.
  std::vector<Selector> read_selectors() {
    const Node* const node = theirs_.node("selectors");
    const std::string path = theirs_.path_of("selectors");
    std::vector<Selector> all;
    if (node && node->kind == Node::Kind::kSequence) {
      for (std::size_t i = 0; i < node->items.size(); ++i)
        all.push_back(read_selector(node->items[i], path + '[' + std::to_string(i) + ']', diagnostics_));
    } else if (node) {
      all.push_back(read_selector(*node, path, diagnostics_));
    }
    if (all.empty()) all.emplace_back();
    const bool rdma = theirs_.flag("isRdma").value_or(false);
    for (Selector& each : all) each.rdma = each.rdma || rdma;
    if (rdma && node)
      all.front().notes.push_back(
          doubt("`isRdma` stands beside `selectors`, where old versions look for it; new ones look for it in "
                "`selectors`, and give these cards without their RDMA nodes."));
    return all;
  }

  YamlDraft draft_of(const Selector& selector, Notes notes) {
    entry_ = YamlDraft::map({{"name", name_}});
    entry_.notes = std::move(notes);
    entry_.origins = {theirs_.origin()};
    add_notes(entry_.notes, selector.notes);
    for (const Texts& all : {errors_, selector.without_words})
      for (const std::string& why : all) refuse(why);
    if (type_ == "auxNetDevice")
      refuse("Auxiliary devices (subfunctions) have no counterpart.");
    else if (type_ != "netDevice" && type_ != "accelerator")
      refuse("Its `deviceType` is " + quote(type_) +
             ", which theirs refuses: there are netDevice, accelerator and auxNetDevice.");
    selector.rdma ? add_rdma(selector) : add_pci(selector);
    add_only(selector);
    // The other plugin ignores cards that have virtual functions.
    entry_.add("except", YamlDraft::flow_map({{"vfs", "*"}}));
    entry_.add("env", YamlDraft::map({{"PCIDEVICE_{resourceEnv}", "{pci}"},
                                      {"PCIDEVICE_{resourceEnv}_INFO", "{{{pciInfo}}}"}}));
    if (selector.vhost_net)
      entry_.add("nodes", YamlDraft::list({YamlDraft::flow_map({{"hostPath", "/dev/vhost-net"}}),
                                           YamlDraft::flow_map({{"hostPath", "/dev/net/tun"}})}));
    if (entry_.disabled) entry_.notes.emplace_back("This is what is left of it:");
    return std::move(entry_);
  }

  void add_rdma(const Selector& selector) {
    YamlDraft selectors = YamlDraft::map();
    for (const ListWords& word : kSelectors) {
      if (selector.lists.contains(word.theirs)) selectors.add(word.rdma, selector.said(word.theirs));
    }
    YamlDraft& rdma = entry_.add("rdma", YamlDraft::map());
    rdma.notes.push_back(once(
        "The container gets the RDMA nodes. The network interface is a CNI plugin's affair, as before."));
    if (!selectors.empty()) rdma.add("selectors", std::move(selectors));
    rdma.add("portState", "ignore");
  }

  // Adds `only` for the conditions that the selector lists of `rdma` cannot express.
  void add_only(const Selector& selector) {
    const std::vector<Pattern> patterns = patterns_of(selector);
    if (patterns.empty()) refuse("No card fits both its `rootDevices` and its `pfNames`: theirs took none.");
    YamlDraft only = YamlDraft::list();
    for (const Pattern& pattern : patterns) {
      if (!pattern.empty()) only.add(pattern_draft(pattern));
    }
    if (!only.empty()) entry_.add("only", std::move(only));
  }

  void add_pci(const Selector& selector) {
    const bool accelerator = type_ == "accelerator";
    Texts drivers = selector.said("drivers");
    if (!accelerator) {
      if (drivers.empty() && selector.lists.contains("pciAddresses")) {
        drivers = {"vfio-pci"};
        entry_.notes.push_back(doubt(
            "It names no driver: vfio-pci is one whose cards have a device node to give. Cards that are "
            "network interfaces are a CNI plugin's affair."));
      }
      const auto left_out = std::erase_if(drivers, [](const std::string& driver) {
        return std::ranges::find(kNodeDrivers, driver) == kNodeDrivers.end();
      });
      if (drivers.empty())
        refuse(
            "It is for network interfaces, which a CNI plugin moves into the pod: there is no device node to "
            "give, and plughost does not offer it.");
      else if (left_out > 0)
        entry_.notes.push_back(loss(
            "Cards with the other drivers are network interfaces, which a CNI plugin moves; they are left "
            "out."));
      if (selector.lists.contains("linkTypes"))
        refuse("It has `linkTypes`, and theirs finds no such card: those with these drivers show no link.");
    } else {
      entry_.notes.emplace_back(
          "The container gets the nodes that the driver made; theirs gave those of vfio and uio only.");
    }
    YamlDraft& pci = entry_.add("pci", YamlDraft::map());
    for (const char* key : {"vendors", "devices"})
      if (selector.lists.contains(key)) pci.add(key, selector.said(key));
    pci.add("classes", Texts{accelerator ? "12" : "02"});
    if (!drivers.empty()) pci.add("drivers", drivers);
  }

  LenientFields theirs_;
  Reading& diagnostics_;
  Texts errors_;
  std::string name_;
  std::string type_;
  YamlDraft entry_ = YamlDraft::map();  // under construction
};

}  // namespace

std::vector<YamlDraft> sriov_entries(const Node& resource, const std::string& path, std::string_view prefix,
                                     Reading& diagnostics, const Texts& errors) {
  return Resource(resource, path, prefix, diagnostics, errors).drafts();
}

void convert_sriov(const Node& root, Arguments& arguments, ConfigDraft& draft, Reading& diagnostics) {
  draft.names_join = true;
  static const Node kNoFile{.kind = Node::Kind::kMap};
  const bool policy = root.find("spec") != nullptr;
  PeerSettings settings(OtherPlugin::kSriov, policy ? kNoFile : root, arguments, diagnostics);
  const auto prefix = settings.text("resource-prefix");
  if (policy) {
    add_sriov_policy(root, prefix.value_or("openshift.io"), draft, diagnostics);
  } else {
    for (std::size_t i = 0; const Node& node : settings.map("").items("resourceList")) {
      const std::string path = "resourceList[" + std::to_string(i++) + ']';
      for (YamlDraft& entry : sriov_entries(node, path, prefix.value_or("intel.com"), diagnostics, {}))
        draft.resources.add(std::move(entry));
    }
  }
  settings.finish(draft.notes);
  const auto is_rdma = [](const YamlDraft& entry) { return entry.find("rdma") != nullptr; };
  if (std::ranges::any_of(draft.resources.items, is_rdma))
    draft.notes.emplace_back(
        "Theirs looks at no port of an RDMA card (`portState: ignore`). It leaves out the card with the "
        "default "
        "route: name its interface, as in `except: [{vfs: \"*\"}, {netdevs: eno1}]`, if a selector of RDMA "
        "cards "
        "fits it.");
  const auto without_prefix = [](const Node& item) { return text_at(item, "resourcePrefix").empty(); };
  const bool by_default = policy || std::ranges::any_of(at(root, "resourceList").items, without_prefix);
  if (by_default && !prefix && !arguments.complete())
    draft.notes.push_back(doubt(
        std::string("Names without a `resourcePrefix` have ") +
        (policy ? "openshift.io, the operator's default" : "intel.com, the default of --resource-prefix") +
        "; give other ones with --args."));
}

}  // namespace plughost
