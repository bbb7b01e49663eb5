#include "supervisor/adoption.hpp"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "base/joined.hpp"
#include "device/allocation.hpp"
#include "device/device_identity.hpp"

namespace plughost {

namespace {

using Words = std::set<std::string>;

// A shorter one, such as an index, may mean anything.
constexpr std::size_t kShortestWord = 8;
constexpr std::size_t kMostGiven = 4;

// What one container holds of a resource by ids that are not the resource's.
struct FormerHolding {
  const Checkpoint::PodDevices* answer;
  std::vector<std::string> ids;
  bool was_ours = false;
};

// What tells a device from others wherever it is: paths, and CDI names.
Words places_of(const Allocation& given, const LeadsTo& leads_to) {
  Words places(given.cdi.begin(), given.cdi.end());
  const auto add = [&](const auto& things) {
    for (const auto& thing : things) {
      places.insert(thing.host_path);
      places.insert(leads_to(thing.host_path));
    }
  };
  add(given.nodes);
  add(given.mounts);
  add(given.by_cdi.nodes);
  add(given.by_cdi.mounts);
  return places;
}

void add_word(Words& words, std::string_view word) {
  if (word.size() >= kShortestWord) words.emplace(word);
}

void add_variables(Words& words, const std::map<std::string, std::string>& env) {
  for (const auto& [name, value] : env) {
    std::string_view rest = value;
    while (!rest.empty()) {
      const std::size_t comma = rest.find(',');
      add_word(words, rest.substr(0, comma));
      rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
    }
  }
}

// What may name a device in words of its maker's.
Words words_of(const FormerHolding& holding) {
  Words words;
  for (const std::string& id : holding.ids) add_word(words, id.substr(0, id.find("::")));
  if (!holding.answer->allocation) return words;
  add_variables(words, holding.answer->allocation->env);
  for (const std::string& name : holding.answer->allocation->cdi)
    add_word(words, std::string_view(name).substr(name.find('=') + 1));
  return words;
}

Words words_of(const Device& device, const Allocation& given) {
  Words words;
  for (const Attribute& attribute : device.attributes) add_word(words, attribute.value);
  add_variables(words, given.env);
  add_variables(words, given.by_cdi.env);
  return words;
}

// A resource's devices, by what tells them apart.
class Recognition {
 public:
  // leads_to and devices outlive it.
  Recognition(const std::string& resource, const Recipe& recipe, std::span<const Device> devices,
              const LeadsTo& leads_to)
      : devices_(devices), leads_to_(leads_to), own_place_(devices.size()) {
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const Allocation given = given_of(resource, recipe, devices[i]);
      for (const std::string& place : places_of(given, leads_to)) by_place_[place].push_back(i);
      for (const std::string& word : words_of(devices[i], given)) by_word_[word].push_back(i);
    }
    for (const auto& [place, its] : by_place_) {
      if (its.size() == 1) own_place_[its.front()] = true;
    }
  }

  // The devices that the container has for certain, in order.
  std::set<std::size_t> recognise(const FormerHolding& holding) const {
    if (holding.answer->allocation) {
      std::set<std::size_t> found = singled_out(by_place_, places_of(*holding.answer->allocation, leads_to_));
      if (!found.empty()) return found;
    }
    return singled_out(by_word_, words_of(holding));
  }

  // Those of which it has some, and nobody can tell which.
  std::set<std::size_t> alike(const FormerHolding& holding) const {
    std::set<std::size_t> found;
    if (!holding.answer->allocation) return found;
    for (const std::string& place : places_of(*holding.answer->allocation, leads_to_)) {
      const auto its = by_place_.find(place);
      if (its == by_place_.end()) continue;
      for (const std::size_t i : its->second) {
        if (!own_place_[i]) found.insert(i);
      }
    }
    return found;
  }

 private:
  using Index = std::map<std::string, std::vector<std::size_t>>;

  // Whoever the pod is: nothing of a pod tells devices apart.
  static Allocation given_of(const std::string& resource, const Recipe& recipe, const Device& device) {
    auto answer = allocate_device(resource, recipe, device, {.of_container = 1, .pod = UnitsPod{}});
    if (auto* given = std::get_if<Allocation>(&answer)) return std::move(*given);
    Allocation given;
    for (const DeviceNode& node : device.nodes)
      given.nodes.push_back({.host_path = node.host_path, .container_path = {}});
    for (const Mount& mount : device.mounts)
      given.mounts.push_back({.host_path = mount.host_path, .container_path = {}});
    return given;
  }

  static std::set<std::size_t> singled_out(const Index& index, const Words& words) {
    std::set<std::size_t> found;
    for (const std::string& word : words) {
      const auto its = index.find(word);
      if (its != index.end() && its->second.size() == 1) found.insert(its->second.front());
    }
    return found;
  }

  std::span<const Device> devices_;
  const LeadsTo& leads_to_;
  std::vector<bool> own_place_;
  Index by_place_;
  Index by_word_;
};

std::string in_words(const std::vector<std::string>& names, const char* what) {
  if (names.empty()) return {};
  const std::vector<std::string> first(
      names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kMostGiven)));
  const std::size_t more = names.size() - first.size();
  return what + joined(first, ", ") + (more > 0 ? " and " + std::to_string(more) + " more" : "");
}

std::string in_words(const std::optional<Allocation>& given) {
  if (!given) return "an answer that cannot be read";
  std::vector<std::string> nodes;
  std::vector<std::string> mounts;
  std::vector<std::string> variables;
  for (const ContainerNode& node : given->nodes) nodes.push_back(node.host_path);
  for (const ContainerMount& mount : given->mounts) mounts.push_back(mount.host_path);
  for (const auto& [name, value] : given->env) variables.push_back(name);
  std::vector<std::string> parts{in_words(nodes, "device nodes "), in_words(mounts, "mounts "),
                                 in_words(given->cdi, "CDI devices "),
                                 in_words(variables, "environment variables ")};
  std::erase(parts, std::string());
  return parts.empty() ? "nothing" : joined(parts, "; ");
}

// What another resource has given to a container: does it have the device with it?
bool has_given(const Words& places, const Words& words, const DeviceIdentity& identity,
               const LeadsTo& leads_to) {
  const auto named = [&](const std::string& uuid) { return !uuid.empty() && words.contains(uuid); };
  if (named(identity.uuid) || named(identity.card)) return true;
  return !identity.places.empty() && std::ranges::all_of(identity.places, [&](const std::string& place) {
    return places.contains(place) || places.contains(leads_to(place));
  });
}

// Those of the ids that are the device's or shares of it; the first one if none is called so.
std::vector<std::string> ids_of(const Device& device, const FormerHolding& holding) {
  std::vector<std::string> ids;
  for (const std::string& id : holding.ids) {
    if (id == device.id || id.starts_with(device.id + "::")) ids.push_back(id);
  }
  return ids.empty() ? std::vector<std::string>{holding.ids.front()} : ids;
}

// What several may have at once others may have as well, unless they count shares, too.
bool counts(const Device& device, const FormerHolding& holding) {
  return device.replicas == 1 || std::ranges::any_of(holding.ids, [](const std::string& id) {
           return id.find("::") != std::string::npos;
         });
}

void adopt_of_another(const std::map<std::string, std::vector<Device>>& resources,
                      const FormerHolding& holding, const LeadsTo& leads_to,
                      std::map<std::string, Adoption>& adoptions) {
  if (!holding.answer->allocation || holding.ids.empty()) return;
  const Words places = places_of(*holding.answer->allocation, leads_to);
  const Words words = words_of(holding);
  for (const auto& [resource, devices] : resources) {
    for (const Device& device : devices) {
      if (!counts(device, holding) || !has_given(places, words, identity_of(device), leads_to)) continue;
      for (const std::string& id : ids_of(device, holding))
        adoptions[resource].devices[device.id].push_back({.id = id,
                                                          .pod_uid = holding.answer->pod_uid,
                                                          .container = holding.answer->container,
                                                          .resource = holding.answer->resource});
    }
  }
}

// One resource's adoption, container by container.
class Draft {
 public:
  Draft(std::span<const Device> devices, Adoption& adoption) : devices_(devices), adoption_(adoption) {}

  void add(const FormerHolding& holding, const Recognition& recognition) {
    const std::set<std::size_t> recognised = recognition.recognise(holding);
    if (!recognised.empty()) return give_all(holding, recognised);
    const std::set<std::size_t> alike = recognition.alike(holding);
    if (!alike.empty()) return give_some(holding, alike);
    if (holding.was_ours) return;
    for (const std::string& id : holding.ids)
      adoption_.strangers.push_back(
          {.held = former(holding, id), .found = in_words(holding.answer->allocation)});
  }

 private:
  static FormerId former(const FormerHolding& holding, const std::string& id) {
    return {.id = id, .pod_uid = holding.answer->pod_uid, .container = holding.answer->container};
  }

  std::size_t used(const Device& device) const {
    const auto found = adoption_.used.find(device.id);
    return found == adoption_.used.end() ? 0 : found->second.size();
  }

  // Each of the devices is held by an id at least, and each id holds a device.
  void give_all(const FormerHolding& holding, const std::set<std::size_t>& devices) {
    std::vector<const Device*> held;
    for (const std::size_t i : devices) {
      if (used(devices_[i]) < devices_[i].replicas) held.push_back(&devices_[i]);
    }
    if (held.empty()) return;
    for (std::size_t n = 0; n < std::max(holding.ids.size(), held.size()); ++n)
      adoption_.devices[held[n % held.size()]->id].push_back(
          former(holding, holding.ids[n % holding.ids.size()]));
  }

  // One for each id, from the last: as many as there are.
  void give_some(const FormerHolding& holding, const std::set<std::size_t>& devices) {
    auto next = holding.ids.begin();
    for (auto i = devices.rbegin(); i != devices.rend() && next != holding.ids.end();) {
      const Device& device = devices_[*i];
      std::vector<FormerId>& holders = adoption_.devices[device.id];
      if (used(device) + holders.size() < device.replicas)
        holders.push_back(former(holding, *next++));
      else
        ++i;
      if (holders.empty()) adoption_.devices.erase(device.id);
    }
  }

  std::span<const Device> devices_;
  Adoption& adoption_;
};

bool is_in(const std::map<std::string, std::set<std::string>>& ids, const std::string& resource,
           const std::string& id) {
  const auto of_resource = ids.find(resource);
  return of_resource != ids.end() && of_resource->second.contains(id);
}

const Device* find(const std::map<std::string, Inventory>& lists, const std::string& resource,
                   const std::string& id) {
  const auto list = lists.find(resource);
  return list == lists.end() ? nullptr : list->second.find(id);
}

}  // namespace

std::map<std::string, Adoption> adopt(const Recipe& recipe,
                                      const std::map<std::string, std::vector<Device>>& resources,
                                      const std::map<std::string, Inventory>& listed, const HeldIds& held,
                                      const LeadsTo& leads_to) {
  std::map<std::string, Adoption> adoptions;
  if (!held.checkpoint) return adoptions;
  std::map<std::string, std::vector<FormerHolding>> holdings;
  for (const Checkpoint::PodDevices& some : held.checkpoint->pod_devices) {
    const auto resource = resources.find(some.resource);
    FormerHolding holding{.answer = &some, .ids = {}};
    if (resource == resources.end()) {
      for (const auto& [numa_node, ids] : some.ids)
        holding.ids.insert(holding.ids.end(), ids.begin(), ids.end());
      if (recipe.dra) adopt_of_another(resources, holding, leads_to, adoptions);
      continue;
    }
    Adoption& adoption = adoptions[some.resource];
    for (const auto& [numa_node, ids] : some.ids) {
      for (const std::string& id : ids) {
        const Device* const before = find(held.before_reload, some.resource, id);
        const bool was_ours = before && !before->gone;
        const Device* device = find_device(resource->second, id);
        // No look finds an interface that the pod has.
        for (const Device* known : {before, find(listed, some.resource, id)}) {
          if (!device && recipe.dra && known && known->away) device = known;
        }
        if (device && recipe.dra) {
          // A pool lists no ids: the pod has it of the list that was before.
          adoption.devices[device->id].push_back(
              {.id = id, .pod_uid = some.pod_uid, .container = some.container, .of_own_list = true});
        } else if (device) {
          adoption.own.insert(id);
          adoption.used[device->id].insert(share_of(*device, id));
        } else if (was_ours || is_in(held.adopted, some.resource, id)) {
          holding.ids.push_back(id);
          holding.was_ours = true;
        } else if (is_in(held.own, some.resource, id) || find(listed, some.resource, id)) {
          adoption.own.insert(id);
        } else {
          holding.ids.push_back(id);
        }
      }
    }
    if (!holding.ids.empty()) holdings[some.resource].push_back(std::move(holding));
  }
  for (const auto& [resource, of_resource] : holdings) {
    const std::vector<Device>& devices = resources.at(resource);
    const Recognition recognition(resource, recipe, devices, leads_to);
    Draft draft(devices, adoptions[resource]);
    for (const FormerHolding& holding : of_resource) draft.add(holding, recognition);
  }
  return adoptions;
}

}  // namespace plughost
