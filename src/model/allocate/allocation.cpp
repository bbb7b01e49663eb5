#include "model/allocate/allocation.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/text/text.hpp"
#include "model/allocate/cdi.hpp"
#include "model/allocate/one_container.hpp"
#include "model/allocate/placeholders.hpp"
#include "model/device/names.hpp"

namespace plughost {
namespace {

// Assigns {n} in the container paths of the devices' own nodes and mounts. {n} is the device's position or,
// if a device has several nodes of one pattern (a modem with four ports), the position among all these nodes.
class Numbering {
 public:
  explicit Numbering(const std::vector<const Device*>& devices) {
    for (const Device* const device : devices) {
      std::set<PositionText> seen;
      const auto note = [&](const auto& place) {
        if (place.container_path.has_position() && !seen.insert(place.container_path).second)
          next_[place.container_path] = 0;
      };
      std::ranges::for_each(device->nodes, note);
      std::ranges::for_each(device->mounts, note);
    }
  }

  // Returns {n} for the next node or mount of the pattern; nullopt if {n} is the device's position.
  std::optional<std::size_t> next(const PositionText& pattern) {
    const auto found = next_.find(pattern);
    return found == next_.end() ? std::nullopt : std::optional(found->second++);
  }

 private:
  std::map<PositionText, std::size_t> next_;
};

// Collects what the container gets. Keeps the first error; additions after an error are meaningless.
class AllocationDraft {
 public:
  // `spec` applies to devices whose Device::terms is nullptr.
  AllocationDraft(Placeholders placeholders, const AllocationSpec& spec)
      : expand_(std::move(placeholders)), spec_(spec) {
    for (const Device* device : expand_.devices()) {
      const AllocationSpec* const its = &terms_of(*device, spec_);
      if (std::ranges::find(terms_, its) == terms_.end()) terms_.push_back(its);
    }
    if (terms_.empty()) terms_.push_back(&spec_);
  }

  void add_devices() {
    Numbering numbering(expand_.devices());
    for (std::size_t n = 0; n < expand_.devices().size(); ++n) {
      for (const DeviceNode& node : expand_.devices()[n]->nodes) {
        add_node(expand_.checked(node.host_path, node.host_path),
                 expand_.position(node.container_path, n, numbering.next(node.container_path)),
                 node.permissions, by_cdi(n, node.container_path));
      }
      for (const Mount& mount : expand_.devices()[n]->mounts) {
        add_mount(expand_.checked(mount.host_path, mount.host_path),
                  expand_.position(mount.container_path, n, numbering.next(mount.container_path)),
                  mount.read_only, by_cdi(n, mount.container_path));
      }
      for (const Variable& variable : expand_.devices()[n]->env) {
        Text name = expand_.position(variable.name, n);
        if (name && by_cdi(n, variable.name)) env_by_cdi_.insert(*name);
        put_pair("environment variable", allocation_.env, std::move(name),
                 expand_.checked(variable.value, variable.name.pattern()));
      }
    }
  }

  // Adds the settings of the entries for their own devices.
  void add_terms() {
    for (const AllocationSpec* const terms : terms_) {
      with([&](const Device* device) { return &terms_of(*device, spec_) == terms; },
           [&] {
             for (const NodeSpec& node : terms->nodes) add(node);
             for (const MountSpec& mount : terms->mounts) add(mount);
           });
    }
    add_pairs("environment variable", allocation_.env, &AllocationSpec::env);
    for (const auto& [name, value] : allocation_.env) {
      if (name.empty() || name.find('=') != std::string::npos)
        expand_.refuse(in_quotes(name) + " cannot be an environment variable's name");
    }
    add_pairs("annotation", allocation_.annotations, &AllocationSpec::annotations);
  }

  // Adds each KindSpec of the devices once. The entries' settings, which were added before, take precedence.
  void add_kind_specs() {
    std::vector<const KindSpec*> done;
    for (const Device* device : std::vector(expand_.devices())) {
      const KindSpec* const spec = device->spec.get();
      const auto is_it = [&](const KindSpec* other) {
        return spec == other || (spec && other && *spec == *other);
      };
      if (!spec || std::ranges::any_of(done, is_it)) continue;
      done.push_back(spec);
      with([&](const Device* each) { return is_it(each->spec.get()); }, [&] { add(*spec); });
    }
  }

  // Adds the CDI names of the devices that our specification describes. Call it last.
  void add_names() {
    for (const CdiNames way : {CdiNames::kCri, CdiNames::kAnnotations}) {
      const auto has_one = [&](const Device* device) {
        return named_.contains(device) && terms_of(*device, spec_).cdi == way;
      };
      if (std::ranges::none_of(expand_.devices(), has_one)) continue;
      with(has_one, [&] {
        if (const std::string error = cdi_kind_error(expand_.resource()); !error.empty())
          expand_.refuse(error);
        KindSpec names;
        add_cdi_names(names, way, "plughost", "{cdiName}");
        add(names);
      });
    }
    for (const std::string& name : env_by_cdi_) allocation_.by_cdi.env.insert(allocation_.env.extract(name));
  }

  // Adds the output of the `allocate` program, or the variables of `assume`. `whose` names the source in
  // errors.
  void add_more(const Allocation& more, std::string_view whose) {
    whose_ = whose;
    for (const ContainerNode& node : more.nodes)
      add_node(node.host_path, node.container_path, node.permissions, false);
    for (const ContainerMount& mount : more.mounts)
      add_mount(mount.host_path, mount.container_path, mount.read_only, false);
    for (const auto& [name, value] : more.env) put_pair("environment variable", allocation_.env, name, value);
    for (const auto& [key, value] : more.annotations)
      put_pair("annotation", allocation_.annotations, key, value);
    for (const std::string& name : more.cdi) add_cdi(name);
    whose_ = {};
  }

  std::variant<Allocation, Refusal> finish() && {
    if (expand_.error().empty()) return std::move(allocation_);
    return Refusal{.reason = Refusal::Reason::kConflict, .text = expand_.error()};
  }

 private:
  using Text = Placeholders::Text;

  // Runs `what` while the expansion is restricted to the devices that `which` selects.
  template <typename Which, typename Do>
  void with(Which which, Do what) {
    std::vector<const Device*> all = expand_.devices();
    std::vector<const Device*> those;
    std::ranges::copy_if(all, std::back_inserter(those), which);
    expand_.use(std::move(those));
    what();
    expand_.use(std::move(all));
  }

  // Adds the pairs of all entries. A pair that several entries have is added once, for all of their devices.
  void add_pairs(std::string_view what, std::map<std::string, std::string>& pairs,
                 AllocationSpec::Pairs AllocationSpec::*which) {
    for (const AllocationSpec* const terms : terms_) {
      for (const auto& pair : terms->*which) {
        std::vector<const AllocationSpec*> those;  // the entries with this pair
        std::ranges::copy_if(terms_, std::back_inserter(those), [&](const AllocationSpec* other) {
          return std::ranges::find(other->*which, pair) != (other->*which).end();
        });
        if (those.front() != terms) continue;
        const auto is_theirs = [&](const Device* device) {
          return std::ranges::find(those, &terms_of(*device, spec_)) != those.end();
        };
        with(is_theirs, [&] { add_pair(what, pairs, pair.first, pair.second); });
      }
    }
  }

  void add(const NodeSpec& node) {
    for_each_place(node.host_path, node.container_path, [&](Text host, Text container, bool named) {
      add_node(std::move(host), std::move(container), node.permissions, named);
    });
  }

  void add(const MountSpec& mount) {
    for_each_place(mount.host_path, mount.container_path, [&](Text host, Text container, bool named) {
      add_mount(std::move(host), std::move(container), mount.read_only, named);
    });
  }

  void add(const KindSpec& spec) {
    for (const NodeSpec& node : spec.nodes) add(node);
    for (const MountSpec& mount : spec.mounts) add(mount);
    for (const auto& [name, value] : spec.env) add_if_new(allocation_.env, name, value);
    for (const auto& [key, value] : spec.annotations) add_if_new(allocation_.annotations, key, value);
    for (const Template& name : spec.cdi) {
      if (!expand_.belongs_to_a_device(name)) {
        add_cdi(expand_.all(name));
        continue;
      }
      for (std::size_t n = 0; n < expand_.devices().size(); ++n) add_cdi(expand_.one(name, n));
    }
  }

  void add_cdi(Text name) {
    if (name && std::ranges::find(allocation_.cdi, *name) == allocation_.cdi.end())
      allocation_.cdi.push_back(std::move(*name));
  }

  void add_if_new(std::map<std::string, std::string>& pairs, const Template& key,
                  const Template& value_pattern) {
    Text name = expand_.all(key);
    if (!name || pairs.contains(*name)) return;
    if (Text text = expand_.all(value_pattern)) pairs.emplace(std::move(*name), std::move(*text));
  }

  // Adds one node or mount for all devices, or one per device if a path depends on the device.
  template <typename Add>
  void for_each_place(const Template& host, const Template& container, Add add_place) {
    expand_.check_path(host);
    expand_.check_path(container);
    bool named = false;
    for (std::size_t n = 0; n < expand_.devices().size(); ++n) named = by_cdi(n, host, container);
    if (!expand_.belongs_to_a_device(host) && !expand_.belongs_to_a_device(container)) {
      return add_place(expand_.all(host), expand_.all(container), named);
    }
    for (std::size_t n = 0; n < expand_.devices().size(); ++n)
      add_place(expand_.one(host, n), expand_.one(container, n), named);
  }

  // Returns true if our CDI specification, which is written before any allocation, contains the expansion of
  // these templates for the device at position n. The device then has a CDI name.
  bool by_cdi(std::size_t n, const Template& one, const Template& other) {
    if (terms_of(*expand_.devices()[n], spec_).cdi == CdiNames::kNone ||
        expand_.depends_on_the_allocation(one) || expand_.depends_on_the_allocation(other))
      return false;
    named_.insert(expand_.devices()[n]);
    return true;
  }
  bool by_cdi(std::size_t n, const PositionText& text) { return !text.has_position() && by_cdi(n, {}, {}); }

  void add_node(Text host, Text container, const std::string& permissions, bool named) {
    if (!host || !container || !is_new(*container, "device " + *host + " (" + permissions + ")")) return;
    (named ? allocation_.by_cdi.nodes : allocation_.nodes)
        .push_back({.host_path = std::move(*host),
                    .container_path = std::move(*container),
                    .permissions = permissions});
  }

  void add_mount(Text host, Text container, bool read_only, bool named) {
    const auto what = [&] { return "mount " + *host + (read_only ? " (read-only)" : " (read-write)"); };
    if (!host || !container || !is_new(*container, what())) return;
    (named ? allocation_.by_cdi.mounts : allocation_.mounts)
        .push_back(
            {.host_path = std::move(*host), .container_path = std::move(*container), .read_only = read_only});
  }

  // Returns how to resolve a conflict: the end of an error message.
  std::string advice(const std::string& where) const {
    return !whose_.empty() ? std::string(whose_) + " contradicts the rest of the response"
                           : "put {n} into " + where + ", so that each has its own";
  }

  // Returns false if the path is taken already, and refuses if it is taken by a different node or mount.
  bool is_new(const std::string& container_path, const std::string& what) {
    const auto [place, added] = places_.try_emplace(container_path, what);
    if (!added && place->second != what) {
      expand_.refuse(container_path + " in the container would be both " + place->second + " and " + what +
                     "; " + advice("the container path"));
    }
    return added;
  }

  void put_pair(std::string_view what, std::map<std::string, std::string>& pairs, Text name, Text text) {
    if (!name || !text) return;
    const auto [pair, added] = pairs.try_emplace(std::move(*name), *text);
    if (!added && pair->second != *text) {
      expand_.refuse("the " + std::string(what) + ' ' + pair->first + " would be both " +
                     in_quotes(pair->second) + " and " + in_quotes(*text) + "; " + advice("its name"));
    }
  }

  void add_pair(std::string_view what, std::map<std::string, std::string>& pairs, const Template& key,
                const Template& value_pattern) {
    if (!expand_.belongs_to_a_device(key))
      return put_pair(what, pairs, expand_.all(key), expand_.all(value_pattern));
    for (std::size_t n = 0; n < expand_.devices().size(); ++n) {
      Text name = expand_.one(key, n);
      if (name && &pairs == &allocation_.env && by_cdi(n, key, value_pattern)) env_by_cdi_.insert(*name);
      put_pair(what, pairs, std::move(name), expand_.one(value_pattern, n));
    }
  }

  Placeholders expand_;
  const AllocationSpec& spec_;
  std::vector<const AllocationSpec*> terms_;  // the entries of the devices, each once
  std::unordered_set<const Device*> named_;   // devices that our CDI specification describes
  std::set<std::string> env_by_cdi_;
  Allocation allocation_;
  std::unordered_map<std::string, std::string> places_;  // the node or mount at each container path
  std::string_view whose_;  // the source of what is being added; empty: the configuration
};

std::variant<Allocation, Refusal> expand(std::string_view resource, const AllocationSpec& spec,
                                         std::vector<const Device*> devices, const UnitCounts& units,
                                         const Allocation& more) {
  AllocationDraft draft({resource, std::move(devices), spec.units ? std::optional(units) : std::nullopt,
                         spec.assume.has_value()},
                        spec);
  draft.add_devices();
  draft.add_terms();
  draft.add_more(more, spec.assume ? "what the dialect of assume sets" : "the program of allocate");
  draft.add_kind_specs();
  draft.add_names();
  return std::move(draft).finish();
}

// Returns the entry's rule for the shares of a container, and what the user can do: parts of a message.
std::pair<std::string_view, std::string_view> promise(const AllocationSpec& spec) {
  if (spec.units)
    return {"the units of a container are one card's",
            "request no more than one card has free, or set `spanCards: true` in the entry's `gpu` if a "
            "container may have several cards"};
  if (spec.shares == SharesOf::kOneDevice)
    return {"the shares of a container are one device's (`shares: oneDevice`)",
            "request no more than one device has free"};
  return {"the shares of a container are of different devices (`shares: differentDevices`)",
          "request no more than there are devices with a free share"};
}

// `devices` are in the kubelet's order. `shares` has the number of ids of each device.
Refusal of_other_devices(std::string_view resource, const AllocationSpec& spec,
                         const std::vector<const Device*>& devices,
                         const std::unordered_map<const Device*, std::size_t>& shares) {
  std::string cards;
  for (const Device* const device : devices) {
    const CardName card = card_of(*device);
    cards += (cards.empty() ? "" : ", ") + std::to_string(shares.at(device)) + " of " + names_of({&card, 1});
  }
  const auto [rule, advice] = promise(spec);
  return {.reason = Refusal::Reason::kOtherShares,
          .text = std::string(rule) + ", and of " + std::string(resource) + " it would get " + cards + "; " +
                  std::string(advice)};
}

}  // namespace

std::variant<Allocation, Refusal> allocate(std::string_view resource, const AllocationSpec& spec,
                                           const Inventory& inventory, std::span<const std::string> ids,
                                           const Allocation& more) {
  std::vector<const Device*> devices;
  std::unordered_map<const Device*, std::size_t> shares;
  for (const std::string& id : ids) {
    const Device* device = inventory.find(id);
    if (!device) {
      const std::size_t count = inventory.id_count();
      return Refusal{.reason = Refusal::Reason::kUnknownDevice,
                     .text = "resource " + std::string(resource) + " has no device " + in_quotes(id) +
                             "; it lists " + counted(count, "device") + " now"};
    }
    if (!device->healthy_share(share_of(*device, id))) {
      return Refusal{.reason = Refusal::Reason::kUnhealthyDevice,
                     .text = "device " + in_quotes(id) + " of " + std::string(resource) +
                             " is Unhealthy: " + device->reason()};
    }
    if (spec.one_share_only && device->replicas > 1 && ids.size() > 1) {
      return Refusal{.reason = Refusal::Reason::kTooMany,
                     .text = "a container may have one share of " + std::string(resource) +
                             ", and this one asks for " + std::to_string(ids.size())};
    }
    if (++shares[device] == 1) devices.push_back(device);
  }
  if (!fulfils(spec.shares, devices.size(), ids.size()))
    return of_other_devices(resource, spec, devices, shares);
  return expand(resource, spec, std::move(devices),
                {.of_container = ids.size(), .total = inventory.id_count()}, more);
}

std::variant<Allocation, Refusal> allocate_device(std::string_view resource, const AllocationSpec& spec,
                                                  const Device& device, const UnitCounts& units,
                                                  const Allocation& more) {
  return expand(resource, spec, {&device}, units, more);
}

CdiEdits cdi_edits(std::string_view resource, const AllocationSpec& spec, const Device& device) {
  auto expanded = expand(resource, spec, {&device}, {.pod = UnitsPod{}}, {});
  auto* const allocation = std::get_if<Allocation>(&expanded);
  return allocation ? std::move(allocation->by_cdi) : CdiEdits{};
}

}  // namespace plughost
