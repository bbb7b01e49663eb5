#include "device/allocation.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/ascii.hpp"
#include "device/cdi.hpp"
#include "device/names.hpp"
#include "device/one_container.hpp"

namespace plughost {
namespace {

// A UUID (version 4 in form) that is the same for the same text, by FNV-1a with two starts.
std::string uuid_of(std::string_view text) {
  const std::uint64_t high = (fnv1a(text) & ~0xf000ull) | 0x4000u;
  const std::uint64_t low = (fnv1a(text, kOtherFnvStart) & ~(3ull << 62)) | (2ull << 62);
  std::string uuid = hex_digits(high) + hex_digits(low);
  for (const std::size_t at : {20u, 16u, 12u, 8u}) uuid.insert(at, 1, '-');
  return uuid;
}

// Collects what the container gets. The first problem is kept; what is added after it does not matter.
class AllocationDraft {
 public:
  // Refers to the resource's name, and the devices, which outlive it.
  AllocationDraft(std::string_view resource, std::vector<const Device*> devices, CdiNames cdi,
                  std::optional<UnitCounts> units, bool knows_pod)
      : resource_(resource),
        devices_(std::move(devices)),
        cdi_(cdi),
        units_(std::move(units)),
        knows_pod_(knows_pod) {}

  void add_devices() {
    for (std::size_t n = 0; n < devices_.size(); ++n) {
      for (const DeviceNode& node : devices_[n]->nodes) {
        add_node(checked(node.host_path, node.host_path), expand_position(node.container_path, n),
                 node.permissions, by_cdi(n, node.container_path));
      }
      for (const Mount& mount : devices_[n]->mounts) {
        add_mount(checked(mount.host_path, mount.host_path), expand_position(mount.container_path, n),
                  mount.read_only, by_cdi(n, mount.container_path));
      }
      for (const Variable& variable : devices_[n]->env) {
        Text name = expand_position(variable.name, n);
        if (name && by_cdi(n, variable.name)) env_by_cdi_.insert(*name);
        put_pair("environment variable", allocation_.env, std::move(name),
                 checked(variable.value, variable.name.pattern()));
      }
    }
  }

  void add(const NodeRecipe& node) {
    for_each_place(node.host_path, node.container_path, [&](Text host, Text container, bool named) {
      add_node(std::move(host), std::move(container), node.permissions, named);
    });
  }

  void add(const MountRecipe& mount) {
    for_each_place(mount.host_path, mount.container_path, [&](Text host, Text container, bool named) {
      add_mount(std::move(host), std::move(container), mount.read_only, named);
    });
  }

  void add_env(const Recipe::Pairs& env) {
    for (const auto& [name, value] : env) add_pair("environment variable", allocation_.env, name, value);
    for (const auto& [name, value] : allocation_.env) {
      if (name.empty() || name.find('=') != std::string::npos)
        refuse(in_quotes(name) + " cannot be an environment variable's name");
    }
  }

  // Once for all devices that share one. After what the entry says: that wins.
  void add_kind_recipes() {
    const std::vector<const Device*> all = devices_;
    std::vector<const KindRecipe*> done;
    for (const Device* device : all) {
      const KindRecipe* const recipe = device->recipe.get();
      if (!recipe || std::ranges::find(done, recipe) != done.end()) continue;
      done.push_back(recipe);
      devices_.clear();
      std::ranges::copy_if(all, std::back_inserter(devices_),
                           [recipe](const Device* each) { return each->recipe.get() == recipe; });
      add(*recipe);
    }
    devices_ = all;
  }

  void add_annotations(const Recipe::Pairs& annotations) {
    for (const auto& [key, value] : annotations) add_pair("annotation", allocation_.annotations, key, value);
  }

  // The names of the devices of which our specification says something. Last of all.
  void add_names() {
    std::erase_if(devices_, [this](const Device* device) { return !named_.contains(device); });
    if (devices_.empty()) return;
    if (const std::string trouble = cdi_kind_trouble(resource_); !trouble.empty()) refuse(trouble);
    KindRecipe names;
    add_cdi_names(names, cdi_, "plughost", "{cdiName}");
    add(names);
    for (const std::string& name : env_by_cdi_) allocation_.by_cdi.env.insert(allocation_.env.extract(name));
  }

  // What somebody says who does not know what the configuration does.
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
    if (trouble_.empty()) return std::move(allocation_);
    return Refusal{.reason = Refusal::Reason::kConflict, .text = std::move(trouble_)};
  }

 private:
  using Text = std::optional<std::string>;  // nullopt: refused already

  void refuse(const std::string& why) {
    if (trouble_.empty()) trouble_ = "resource " + std::string(resource_) + ": " + why;
  }

  void add(const KindRecipe& recipe) {
    for (const NodeRecipe& node : recipe.nodes) add(node);
    for (const MountRecipe& mount : recipe.mounts) add(mount);
    for (const auto& [name, value] : recipe.env) add_if_new(allocation_.env, name, value);
    for (const auto& [key, value] : recipe.annotations) add_if_new(allocation_.annotations, key, value);
    for (const Template& name : recipe.cdi) {
      if (!belongs_to_a_device(name)) {
        add_cdi(expand_all(name));
        continue;
      }
      for (std::size_t n = 0; n < devices_.size(); ++n) add_cdi(expand_one(name, n));
    }
  }

  void add_cdi(Text name) {
    if (name && std::ranges::find(allocation_.cdi, *name) == allocation_.cdi.end())
      allocation_.cdi.push_back(std::move(*name));
  }

  void add_if_new(std::map<std::string, std::string>& pairs, const Template& key,
                  const Template& value_pattern) {
    Text name = expand_all(key);
    if (!name || pairs.contains(*name)) return;
    if (Text text = expand_all(value_pattern)) pairs.emplace(std::move(*name), std::move(*text));
  }

  Text checked(std::string text, std::string_view origin) {
    if (valid_utf8(text)) return text;
    refuse(valid_utf8(origin) ? in_quotes(origin) + " gives text that is not UTF-8"
                              : "a path of a device is not UTF-8 text");
    return std::nullopt;
  }

  // Does the template name more than the scalars?
  bool belongs_to_a_device(const Template& pattern) const {
    return std::ranges::any_of(pattern.placeholders(), [this](std::string_view name) {
      return name != "resource" && name != "resourceEnv" && name != "count" && name != "allocation" &&
             !counts_units(name) && !tells_pod(name);
    });
  }

  // Does the template name what only an allocation has?
  bool depends_on_the_allocation(const Template& pattern) const {
    return pattern.names("n") || pattern.names("count") || pattern.names("allocation") ||
           std::ranges::any_of(pattern.placeholders(), [this](std::string_view name) {
             return counts_units(name) || tells_pod(name);
           });
  }

  // Elsewhere a kind may have attributes of these names.
  bool counts_units(std::string_view name) const {
    return units_ && (name == "units" || name == "totalUnits");
  }
  bool tells_pod(std::string_view name) const {
    return knows_pod_ && (name == "podUnits" || name == "pod" || name == "namespace");
  }

  Text scalar(std::string_view placeholder) const {
    if (placeholder == "resource") return std::string(resource_);
    if (placeholder == "resourceEnv") return resource_variable(resource_);
    if (placeholder == "allocation") {
      std::string text(resource_);
      for (const Device* device : devices_) text += '\n' + device->id;
      return uuid_of(text);
    }
    if (placeholder == "count") return std::to_string(devices_.size());
    if (counts_units(placeholder))
      return std::to_string(placeholder == "units" ? units_->of_container : units_->total);
    if (tells_pod(placeholder) && units_ && units_->pod) {
      if (placeholder == "podUnits") return std::to_string(units_->pod->units);
      return placeholder == "pod" ? units_->pod->name : units_->pod->name_space;
    }
    return std::nullopt;
  }

  // What the placeholder stands for at position n of the allocation.
  Text value(std::string_view placeholder, std::size_t n) {
    if (placeholder == "n") return std::to_string(n);
    if (placeholder == "cardUnits" && units_) return std::to_string(devices_[n]->replicas);
    if (tells_pod(placeholder)) {
      refuse("nobody knows which pod asks, and this resource's configuration needs its {" +
             std::string(placeholder) + '}');
      return std::nullopt;
    }
    if (placeholder == "cdiName") return cdi_qualified_name(resource_, devices_[n]->id);
    if (const std::string* attribute = devices_[n]->attribute(placeholder)) return *attribute;
    refuse("device " + in_quotes(devices_[n]->id) + " has no {" + std::string(placeholder) +
           "}, which this resource's configuration needs");
    return std::nullopt;
  }

  Text expand_position(const PositionText& text, std::size_t n) {
    if (text.valid()) return checked(text.at(n), text.pattern());
    refuse("the container path " + in_quotes(text.pattern()) + " of device " + in_quotes(devices_[n]->id) +
           " has a brace without a meaning: {n} is the only name there");
    return std::nullopt;
  }

  Text expand_one(const Template& pattern, std::size_t n) {
    Text text = pattern.expand([&](std::string_view placeholder) {
      Text found = scalar(placeholder);
      return found ? found : value(placeholder, n);
    });
    return text ? checked(std::move(*text), pattern.text()) : std::nullopt;
  }

  Text expand_all(const Template& pattern) {
    Text text = pattern.expand([&](std::string_view placeholder) {
      if (const Text one = scalar(placeholder)) return one;
      std::string joined;
      for (std::size_t n = 0; n < devices_.size(); ++n) {
        const Text one = value(placeholder, n);
        if (!one) return Text();
        if (n > 0) joined += ',';
        joined += *one;
      }
      return Text(std::move(joined));
    });
    return text ? checked(std::move(*text), pattern.text()) : std::nullopt;
  }

  // One place for all devices, or one for each, if the paths tell them apart.
  template <typename Add>
  void for_each_place(const Template& host, const Template& container, Add add_place) {
    bool named = false;
    for (std::size_t n = 0; n < devices_.size(); ++n) named = by_cdi(n, host, container);
    if (!belongs_to_a_device(host) && !belongs_to_a_device(container)) {
      return add_place(expand_all(host), expand_all(container), named);
    }
    for (std::size_t n = 0; n < devices_.size(); ++n)
      add_place(expand_one(host, n), expand_one(container, n), named);
  }

  // Is what these say of the device at position n a matter of our CDI specification? Then the device has a
  // name there. It is written before there is an allocation.
  bool by_cdi(std::size_t n, const Template& one, const Template& other) {
    if (cdi_ == CdiNames::kNone || depends_on_the_allocation(one) || depends_on_the_allocation(other))
      return false;
    named_.insert(devices_[n]);
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

  // Where two things want one place.
  std::string advice(const std::string& where) const {
    return !whose_.empty() ? std::string(whose_) + " contradicts what is there without it"
                           : "put {n} into " + where + ", so that each device has its own";
  }

  // false: the same thing stands at that path already. Refuses if another does.
  bool is_new(const std::string& container_path, const std::string& what) {
    const auto [place, added] = places_.try_emplace(container_path, what);
    if (!added && place->second != what) {
      refuse(container_path + " in the container would be both " + place->second + " and " + what + "; " +
             advice("the container path"));
    }
    return added;
  }

  void put_pair(std::string_view what, std::map<std::string, std::string>& pairs, Text name, Text text) {
    if (!name || !text) return;
    const auto [pair, added] = pairs.try_emplace(std::move(*name), *text);
    if (!added && pair->second != *text) {
      refuse("the " + std::string(what) + ' ' + pair->first + " would be both " + in_quotes(pair->second) +
             " and " + in_quotes(*text) + "; " + advice("its name"));
    }
  }

  void add_pair(std::string_view what, std::map<std::string, std::string>& pairs, const Template& key,
                const Template& value_pattern) {
    if (!belongs_to_a_device(key)) return put_pair(what, pairs, expand_all(key), expand_all(value_pattern));
    for (std::size_t n = 0; n < devices_.size(); ++n) {
      Text name = expand_one(key, n);
      if (name && &pairs == &allocation_.env && by_cdi(n, key, value_pattern)) env_by_cdi_.insert(*name);
      put_pair(what, pairs, std::move(name), expand_one(value_pattern, n));
    }
  }

  std::string_view resource_;
  std::vector<const Device*> devices_;
  CdiNames cdi_;
  std::optional<UnitCounts> units_;          // nullopt: ids are no units
  bool knows_pod_;                           // templates may name what is its
  std::unordered_set<const Device*> named_;  // of which our CDI specification says something
  std::set<std::string> env_by_cdi_;
  Allocation allocation_;
  std::unordered_map<std::string, std::string> places_;  // container path → what stands there
  std::string trouble_;
  std::string_view whose_;  // what is being added, if it is not the configuration's
};

std::variant<Allocation, Refusal> expand(std::string_view resource, const Recipe& recipe,
                                         std::vector<const Device*> devices, const UnitCounts& units,
                                         const Allocation& more) {
  AllocationDraft draft(resource, std::move(devices), recipe.cdi,
                        recipe.units ? std::optional(units) : std::nullopt, recipe.assume.has_value());
  draft.add_devices();
  for (const NodeRecipe& node : recipe.nodes) draft.add(node);
  for (const MountRecipe& mount : recipe.mounts) draft.add(mount);
  draft.add_env(recipe.env);
  draft.add_annotations(recipe.annotations);
  draft.add_more(more, recipe.assume ? "what the dialect of assume sets" : "the program of allocate");
  draft.add_kind_recipes();
  draft.add_names();
  return std::move(draft).finish();
}

// What a container's shares have to be, and what to do where they cannot.
std::pair<std::string_view, std::string_view> promise(const Recipe& recipe) {
  if (recipe.units)
    return {"the units of a container are one card's",
            "ask for no more than one card has free, or set `spanCards: true` in the entry's `gpu` if a "
            "container may have several cards"};
  if (recipe.shares == SharesOf::kOneDevice)
    return {"the shares of a container are one device's (`shares: oneDevice`)",
            "ask for no more than one device has free"};
  return {"the shares of a container are of different devices (`shares: differentDevices`)",
          "ask for no more than there are devices that have one free"};
}

// shares: how many ids of each device a container is to get, in the order that the kubelet asked.
Refusal of_other_devices(std::string_view resource, const Recipe& recipe,
                         const std::vector<const Device*>& devices,
                         const std::unordered_map<const Device*, std::size_t>& shares) {
  std::string cards;
  for (const Device* const device : devices) {
    const CardName card = card_of(*device);
    cards += (cards.empty() ? "" : ", ") + std::to_string(shares.at(device)) + " of " + names_of({&card, 1});
  }
  const auto [rule, advice] = promise(recipe);
  return {.reason = Refusal::Reason::kOtherShares,
          .text = std::string(rule) + ", and of " + std::string(resource) + " it would get " + cards + "; " +
                  std::string(advice)};
}

}  // namespace

std::variant<Allocation, Refusal> allocate(std::string_view resource, const Recipe& recipe,
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
                             "; it lists " + std::to_string(count) +
                             (count == 1 ? " device now" : " devices now")};
    }
    if (!device->healthy_share(share_of(*device, id))) {
      return Refusal{.reason = Refusal::Reason::kUnhealthyDevice,
                     .text = "device " + in_quotes(id) + " of " + std::string(resource) +
                             " is Unhealthy: " + device->reason()};
    }
    if (recipe.one_share_only && device->replicas > 1 && ids.size() > 1) {
      return Refusal{.reason = Refusal::Reason::kTooMany,
                     .text = "a container may have one share of " + std::string(resource) +
                             ", and this one asks for " + std::to_string(ids.size())};
    }
    if (++shares[device] == 1) devices.push_back(device);
  }
  if (!fulfils(recipe.shares, devices.size(), ids.size()))
    return of_other_devices(resource, recipe, devices, shares);
  return expand(resource, recipe, std::move(devices),
                {.of_container = ids.size(), .total = inventory.id_count()}, more);
}

std::variant<Allocation, Refusal> allocate_device(std::string_view resource, const Recipe& recipe,
                                                  const Device& device, const UnitCounts& units,
                                                  const Allocation& more) {
  return expand(resource, recipe, {&device}, units, more);
}

CdiEdits cdi_edits(std::string_view resource, const Recipe& recipe, const Device& device) {
  auto expanded = expand(resource, recipe, {&device}, {.pod = UnitsPod{}}, {});
  auto* const allocation = std::get_if<Allocation>(&expanded);
  return allocation ? std::move(allocation->by_cdi) : CdiEdits{};
}

}  // namespace plughost
