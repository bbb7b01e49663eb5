#include "config/read_entry.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/text/text.hpp"
#include "base/text/words.hpp"
#include "model/allocate/cdi.hpp"
#include "model/device/label.hpp"
#include "model/device/names.hpp"

namespace plughost {
namespace {

constexpr Word<AllocationPolicy> kPolicies[] = {{"none", AllocationPolicy::kNone},
                                                {"packed", AllocationPolicy::kPacked},
                                                {"distributed", AllocationPolicy::kDistributed},
                                                {"spread", AllocationPolicy::kSpread},
                                                {"aligned", AllocationPolicy::kAligned},
                                                {"oneCard", AllocationPolicy::kOneCard}};
constexpr Word<SharesOf> kShares[] = {{"any", SharesOf::kAny},
                                      {"oneDevice", SharesOf::kOneDevice},
                                      {"differentDevices", SharesOf::kDifferentDevices}};
constexpr Word<CdiNames> kCdiNames[] = {{"false", CdiNames::kNone},
                                        {"cri", CdiNames::kCri},
                                        {"annotations", CdiNames::kAnnotations},
                                        {"true", CdiNames::kCri}};
constexpr Word<bool> kAccess[] = {{"group", true}};
constexpr Word<CardCount> kCounts[] = {{"{cards}", CardCount::kCards}, {"{cores}", CardCount::kCores}};
constexpr std::chrono::seconds kShortestForgetAfter{0};
constexpr std::chrono::seconds kLongestForgetAfter = std::chrono::days(30);
// Available with `assume`.
constexpr std::string_view kPodNames[] = {"podUnits", "pod", "namespace"};

// Returns the union without repetitions.
Words both(Words names, std::span<const std::string_view> more) {
  for (const std::string_view name : more) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

std::string kind_names() {
  Words keys;
  for (const Kind& kind : kinds()) keys.push_back(kind.key);
  return joined(keys, ", ");
}

// Returns the kinds whose keys the entry has. Reports an error unless there is exactly one.
std::vector<const Kind*> find_kinds(Fields& entry, const std::string& path) {
  std::vector<const Kind*> found;
  for (const Kind& kind : kinds()) {
    if (entry.has(kind.key)) found.push_back(&kind);
  }
  if (found.empty()) {
    entry.diagnostics().error(
        {.mark = entry.mark(),
         .path = path,
         .what = "the entry does not define its devices; it needs one of " + kind_names(),
         .mistake = Diagnostic::Mistake::kNoKind});
  }
  const auto has = [&](std::string_view key) {
    return std::ranges::find(found, key, &Kind::key) != found.end();
  };
  if (found.size() > 1 && has("count")) {
    entry.error(
        "count",
        has("groups")
            ? "`count` beside `groups` makes devices without hardware; to let several containers have "
              "each device write it in the group, as in groups: [{count: 20, paths: [{path: /dev/kvm}]}]"
            : "`count` makes devices without hardware; to let several containers share each device "
              "write `replicas: 4` in its place");
    return found;
  }
  for (std::size_t i = 1; i < found.size(); ++i) {
    entry.error(
        found[i]->key,
        "the entry has '" + std::string(found[0]->key) + "' already, and its devices come from one of " +
            kind_names() +
            "; to take some of its devices only, write `only` in place of this, as in only: {device: "
            "\"20b5\"} (`plughost explain resources.only`); for other devices, make an entry of their own; "
            "for what every container gets beside its device, write nodes: [{hostPath: /dev/fuse}] or "
            "`mounts`");
  }
  return found;
}

// Returns an empty template if there is no usable name.
Template read_name(Fields& entry, std::string_view domain, const Words& known) {
  if (entry.require_text("name").empty()) return {};
  Template written = entry.pattern("name", "", known);
  if (written.empty()) return {};
  const bool has_domain = written.text().find('/') != std::string::npos;
  if (!has_domain && domain.empty()) {
    entry.error("name", "the name has no domain; write it as vendor.example/" + written.text() +
                            ", or set `domain` at the top of the file");
    return {};
  }
  Template name = has_domain ? std::move(written) : Template(Template::escape(domain) + '/' + written.text());
  const std::string error = resource_name_error(sample(name));
  if (error.empty()) return name;
  entry.error("name", quote(name.text()) + " is not a valid name. " + error);
  return {};
}

Template read_id(Fields& entry, std::string_view fallback, const Words& known) {
  if (!entry.has("id")) return Template(fallback);
  Template id = entry.pattern("id", "", known);
  if (id.empty()) entry.error("id", "the id is empty; leave the key out for the kind's own ids");
  return id;
}

// Reads the name of another entry, in full form. check_entries() checks that this entry exists.
std::string read_near(Fields& entry, std::string_view domain) {
  const std::string near = entry.text("near", "");
  if (near.empty() || domain.empty() || near.find('/') != std::string::npos) return near;
  return Template::escape(domain) + '/' + near;
}

bool has_shares(const AllocationSpec& spec) {
  return spec.replicas > 1 ||
         std::ranges::any_of(spec.replicas_of, [](const ReplicaRule& rule) { return rule.replicas > 1; });
}

// For ids that are parts of cards, the kind determines `shares`.
SharesOf read_shares(Fields& entry, const AllocationSpec& spec) {
  if (!entry.has("shares")) return spec.shares;
  if (const Node& given = *entry.node("shares"); number_in<unsigned>(given.scalar)) {
    entry.error("shares", "the number of shares is in `replicas`, as in replicas: " + given.scalar);
    return spec.shares;
  }
  const SharesOf shares = entry.choice("shares", kShares, SharesOf::kAny);
  if (spec.units)
    entry.error("shares", "the units of a container are one card's, unless `gpu` has `spanCards`");
  else if (!has_shares(spec))
    entry.error("shares", "no device has shares; set their number in `replicas`");
  else if (spec.one_share_only)
    entry.error("shares", "with `failRequestsGreaterThanOne` a container has one share, and no choice");
  return shares;
}

AllocationPolicy read_policy(Fields& entry, const AllocationSpec& spec) {
  AllocationPolicy usual = has_shares(spec) ? AllocationPolicy::kSpread : AllocationPolicy::kNone;
  if (spec.units || spec.shares == SharesOf::kOneDevice) usual = AllocationPolicy::kOneCard;
  const AllocationPolicy policy = entry.choice("allocationPolicy", kPolicies, usual);
  if (spec.shares == SharesOf::kAny || policy != AllocationPolicy::kNone) return policy;
  entry.error("allocationPolicy",
              spec.units
                  ? "the kubelet would take units of several cards, and a container is refused these; leave "
                    "the key out, or set `spanCards: true` in `gpu`"
                  : "the kubelet would take shares that `shares` rules out, and a container is refused "
                    "these; leave the key out");
  return policy;
}

// Does not check the entry that `near` names; check_entries() does.
bool read_same_card(Fields& entry, const std::string& near, std::string_view kind) {
  const bool same_card = entry.flag("sameCard", false);
  if (same_card && near.empty()) entry.error("sameCard", "`sameCard` needs the other entry's name in `near`");
  if (same_card && kind != "gpu")
    entry.error("sameCard", "only entries of the kind `gpu` know the cards of their devices");
  return same_card;
}

// Reports a choice among devices that differ only by their number.
void refuse_choice_of_alike(Fields& entry, const Kind& kind) {
  if (!kind.attributes.empty() || kind.declared) return;
  for (const std::string_view key : {"only", "except"}) {
    if (entry.has(key))
      entry.error(key,
                  "the devices of `" + std::string(kind.key) + "` are all alike; set their number there");
  }
}

void read_sharing(Fields& entry, const Words& attributes, AllocationSpec& spec) {
  read_replicas(entry, attributes, spec);
  spec.one_share_only = entry.flag("failRequestsGreaterThanOne", false);
  spec.rename_shared = entry.flag("renameByDefault", false);
  if (!spec.rename_shared || spec.name.empty()) return;
  if (const std::string error = resource_name_error(sample(spec.name) + ".shared"); !error.empty())
    entry.error("renameByDefault", quote(spec.name.text() + ".shared") + " is not a valid name. " + error);
}

bool names_position(const std::string& text) {
  try {
    return Template(text).names("n");
  } catch (const TemplateError&) {
    return false;  // reported elsewhere
  }
}

// Reports paths in the container with {n}, because a CDI specification is written before any allocation.
void refuse_positions(const Node& node, const std::string& path, Diagnostics& diagnostics) {
  for (const auto& [key, value] : node.members) {
    const std::string below = path + '.' + key.scalar;
    const bool is_path = key.scalar == "containerPath" || key.scalar == "mountPath";
    if (is_path && names_position(value.scalar))
      diagnostics.error(
          value.mark, below,
          "with `cdi` a device has the same path in every container, because its specification is "
          "written before a container gets it; replace {n} by a value of the "
          "device, such as {name}");
    refuse_positions(value, below, diagnostics);
  }
  for (std::size_t i = 0; i < node.items.size(); ++i)
    refuse_positions(node.items[i], path + '[' + std::to_string(i) + ']', diagnostics);
}

CdiNames read_cdi(Fields& entry, const Node& node, const std::string& path, const Template& name) {
  const CdiNames names = entry.choice("cdi", kCdiNames, CdiNames::kNone);
  if (names == CdiNames::kNone) return names;
  refuse_positions(node, path, entry.diagnostics());
  const std::string error = name.empty() ? "" : cdi_kind_error(sample(name));
  if (!error.empty()) entry.error("cdi", error);
  return names;
}

bool read_access(Fields& entry, CdiNames cdi) {
  const bool group = entry.choice("access", kAccess, false);
  if (group && cdi == CdiNames::kNone)
    entry.error(
        "access",
        "only a CDI specification can make a container's processes members of a group: set `cdi: true`");
  return group;
}

// Completes `assume`, as the kind has read it, by the entry's settings, and reports contradictions.
std::optional<AssumeTerms> assume_of(Fields& entry, const DeviceSource* source, const AllocationSpec& spec) {
  std::optional<AssumeTerms> terms = source ? source->assume() : std::nullopt;
  if (!terms) return terms;
  const bool by_cdi = spec.cdi != CdiNames::kNone;
  if (!terms->identify) terms->identify = by_cdi ? Identify::kLate : Identify::kGuess;
  if (terms->late() && !by_cdi)
    entry.error("assume",
                "`identify: late` responds with a name whose meaning is decided when the container starts: "
                "set `cdi: true` or `identify: guess`");
  if (terms->late() && entry.has("annotations"))
    entry.error(
        "annotations",
        "with `identify: late` the answer is a name in a CDI specification, and that has no annotations; "
        "leave them out, or set `identify: guess`");
  const auto brings_names = [](const std::shared_ptr<const KindSpec>& brought) {
    return !brought->cdi.empty() || !brought->annotations.empty();
  };
  if (terms->late() && std::ranges::any_of(source->specs(), brings_names))
    entry.error("assume",
                "with `identify: late` a card cannot bring other CDI devices or annotations: leave the cdi "
                "strategies of deviceListStrategy out, or set `identify: guess`");
  for (const std::string_view key : {"allocate", "preStart", "near"}) {
    if (entry.has(key))
      entry.error(key,
                  "with `assume` the card is not that of the kubelet's ids, which are passed here; leave one "
                  "of them out");
  }
  return terms;
}

// Returns one item per member of the map, in the order of the document, even after an error.
std::vector<LabelSpec> read_labels(Fields& entry, const Words& known) {
  const std::vector<Node::Member>& members = entry.members("labels", "values");
  if (members.size() > kMostLabels)
    entry.error("labels", "these are " + std::to_string(members.size()) + " labels; at most " +
                              std::to_string(kMostLabels) + " fit into a feature file");
  Diagnostics& diagnostics = entry.diagnostics();
  std::vector<LabelSpec> labels;
  for (const auto& [key, value] : members) {
    const std::string path = entry.path_of("labels") + '.' + key.scalar;
    if (std::string error = label_key_error(key.scalar); !error.empty())
      diagnostics.error(key.mark, path, quote(key.scalar) + " is not a valid label. " + error);
    LabelSpec& label = labels.emplace_back(LabelSpec{.key = key.scalar});
    refuse_what_is_no_text(value, path, diagnostics);
    if (value.kind != Node::Kind::kScalar) continue;
    label.value = read_template(value.scalar, known, value.mark, path, diagnostics);
    if (std::string error = label_value_error(sample(label.value)); !error.empty())
      diagnostics.error(value.mark, path, quote(value.scalar) + " is not a valid value. " + error);
  }
  return labels;
}

// Returns one item per member of the map, in the order of the document, even after an error.
std::vector<NodeResourceSpec> read_node_resources(Fields& entry) {
  const std::vector<Node::Member>& members = entry.members("nodeResources", "counts");
  const bool is_map = or_nothing(entry.node("nodeResources")).kind == Node::Kind::kMap;
  if (is_map && !or_nothing(entry.node("gpu")).find("unit"))
    entry.error(
        "nodeResources",
        "cards are counted for an entry that divides them; give it `gpu: {unit: {memory: 1MiB}}`, or leave "
        "this out: the kubelet counts whole cards itself");
  Diagnostics& diagnostics = entry.diagnostics();
  std::vector<NodeResourceSpec> specs;
  for (const auto& [key, value] : members) {
    const std::string path = entry.path_of("nodeResources") + '.' + key.scalar;
    if (const std::string error = node_resource_error(key.scalar); !error.empty())
      diagnostics.error(key.mark, path, quote(key.scalar) + " cannot be a resource of the node's. " + error);
    const auto count = value.kind == Node::Kind::kScalar ? value_of(kCounts, value.scalar) : std::nullopt;
    if (!count)
      diagnostics.error(value.mark, path,
                        "must be a count: \"{cards}\" for the healthy cards, or \"{cores}\" for " +
                            std::to_string(kCoresOfACard) + " of each");
    specs.push_back({.key = key.scalar, .count = count.value_or(CardCount::kCards)});
  }
  return specs;
}

}  // namespace

EntryDraft read_entry(const Node& node, const std::string& path, std::string_view domain,
                      Diagnostics& diagnostics) {
  EntryDraft draft;
  draft.document = &node;
  draft.config.content = content_of(node, "when");
  draft.config.where = node.mark.text();
  draft.path = path;
  const auto spec = std::make_shared<AllocationSpec>();
  draft.config.spec = spec;

  const std::size_t errors = diagnostics.error_count();
  if (node.members.size() == 1 && !node.find("name")) {
    diagnostics.error(
        node.mark, path,
        "an entry begins with its name, as in - name: fuse, and its other keys stand below `name`");
    return draft;
  }
  {
    Fields entry(node, path, diagnostics);
    if (diagnostics.error_count() > errors) return draft;  // not a map

    // An entry without a kind may use every kind's attributes, so that one error suffices.
    const std::vector<const Kind*> found = find_kinds(entry, path);
    Words attributes;
    Words of_allocation;
    for (const Kind& kind : kinds()) {
      const bool used = found.empty() || std::ranges::find(found, &kind) != found.end();
      if (!used) continue;
      attributes = both(attributes, kind.attributes);
      const Node* const value = entry.node(kind.key);
      if (value && kind.declared) attributes = both(attributes, kind.declared(*value));
      if (value && kind.of_allocation) of_allocation = both(of_allocation, kind.of_allocation(*value));
    }
    if (node.find("assume")) of_allocation = both(of_allocation, kPodNames);
    const Words known =
        both(both({std::begin(kCommonNames), std::end(kCommonNames)}, of_allocation), attributes);
    const Words of_kind = both({"id"}, attributes);

    spec->name = read_name(entry, domain, of_kind);
    for (const Kind* kind : found) {
      draft.kind = kind->key;
      draft.config.source = kind->read(entry);
      const std::optional<SharesOf> units = draft.config.source->units();
      spec->units = units.has_value();
      spec->shares = units.value_or(SharesOf::kAny);
    }
    spec->id = read_id(entry, found.size() == 1 ? found[0]->default_id : "",
                       both({"resource", "n", "id"}, attributes));
    spec->choice = read_choice(entry, of_kind);
    for (const Kind* kind : found) refuse_choice_of_alike(entry, *kind);
    read_sharing(entry, of_kind, *spec);
    spec->shares = read_shares(entry, *spec);
    spec->policy = read_policy(entry, *spec);
    spec->near = read_near(entry, domain);
    spec->same_card = read_same_card(entry, spec->near, draft.kind);
    spec->empty_at_stop = entry.flag("emptyAtStop", false);
    spec->required = entry.flag("required", false);
    spec->forget_after =
        entry.seconds("forgetAfter", spec->forget_after, kShortestForgetAfter, kLongestForgetAfter);
    const Words of_device = both({"resource", "id"}, attributes);
    read_programs(entry, of_device, *spec);
    read_container(entry, known, *spec);
    spec->cdi = read_cdi(entry, node, path, spec->name);
    spec->group_access = read_access(entry, spec->cdi);
    spec->assume = assume_of(entry, draft.config.source.get(), *spec);
    draft.config.node_resources = read_node_resources(entry);
    draft.config.labels = read_labels(entry, both({"count", "id"}, attributes));
    if (const Node* const when = entry.node("when"))
      draft.config.when.push_back(
          std::make_shared<const Condition>(Condition::read(*when, entry.path_of("when"), diagnostics)));
  }
  draft.sound = diagnostics.error_count() == errors;
  return draft;
}

}  // namespace plughost
