#include "listing/adopted_devices.hpp"

#include <algorithm>
#include <utility>

#include "text/text.hpp"

namespace plughost {
namespace {

const Holder* find(const Holdings& holdings, const AdoptedDevices::Name& name) {
  const auto resource = holdings.find(name.resource);
  if (resource == holdings.end()) return nullptr;
  const auto held = resource->second.of(name.id);
  return held.empty() ? nullptr : held.front().holder.get();
}

// The last of its shares that nobody has.
std::vector<unsigned> last_free(const Device& device, const std::vector<unsigned>& used, std::size_t count) {
  std::vector<unsigned> free;
  for (unsigned n = device.replicas; n-- > 0 && free.size() < count;) {
    if (!std::ranges::binary_search(used, n)) free.push_back(n);
  }
  std::ranges::reverse(free);
  return free;
}

}  // namespace

AdoptedDevices::News AdoptedDevices::take(std::map<std::string, Adoption> found) {
  News news;
  strangers_.clear();
  const std::map<Name, bool> had_stale = std::exchange(stale_, {});
  for (auto& [resource, adoption] : found) {
    IdsPointer& own = own_[resource];
    own = united(own, adoption.own);
    for (const auto& [device, holders] : adoption.devices) {
      for (const FormerId& holder : holders) {
        if (!over_.contains({resource, holder.id}) && ids_[resource].insert(holder.id).second)
          news.adopted.push_back({{resource, device}, holder});
      }
    }
    for (const auto& [device, shares] : adoption.stale) {
      for (const Stale& share : shares) {
        const Name name{resource, share.holder.id};
        if (over_.contains(name)) continue;
        const auto had = had_stale.find(name);
        const bool told = had != had_stale.end() && had->second;
        stale_[name] = told || !share.now.empty();
        if (!told && !share.now.empty()) news.moved.emplace_back(Name{resource, device}, share);
      }
    }
    for (const FormerId& stranger : adoption.strangers) {
      const Name name{resource, stranger.id};
      if (!over_.contains(name) && !told_.contains(name)) strangers_.insert(name);
    }
  }
  found_ = std::move(found);
  forget_over();
  return news;
}

AdoptedDevices::News AdoptedDevices::learn(const Holdings& holdings, bool final) {
  News news;
  for (const auto& [resource, ids] : ids_) {
    for (const std::string& id : ids) {
      const Name name{resource, id};
      if (const Holder* holder = find(holdings, name))
        holders_[name] = *holder;
      else if (final)
        news.over.push_back(name);
    }
  }
  std::erase_if(stale_, [&](const auto& item) {
    const Name& name = item.first;
    const Holder* const holder = find(holdings, name);
    if (holder) holders_[name] = *holder;
    if (holder || !final) return false;
    over_.insert(name);
    holders_.erase(name);
    return true;
  });
  for (const Name& name : news.over) {
    over_.insert(name);
    holders_.erase(name);
    const auto ids = ids_.find(name.resource);
    ids->second.erase(name.id);
    if (ids->second.empty()) ids_.erase(ids);
  }
  std::erase_if(strangers_, [&](const Name& name) {
    const Holder* const holder = find(holdings, name);
    if (!holder && !final) return false;
    (holder ? told_ : over_).insert(name);
    if (holder) news.strangers.emplace_back(name, *holder);
    return true;
  });
  forget_over();
  return news;
}

void AdoptedDevices::forget_over() {
  if (over_.empty()) return;
  const auto forget = [](auto& of_device, const auto& is_over) {
    for (auto& [device, holders] : of_device) std::erase_if(holders, is_over);
    std::erase_if(of_device, [](const auto& item) { return item.second.empty(); });
  };
  for (auto& [resource, adoption] : found_) {
    const auto is_over = [&, &name = resource](const FormerId& held) {
      return over_.contains({name, held.id});
    };
    forget(adoption.devices, is_over);
    forget(adoption.stale, [&](const Stale& share) { return is_over(share.holder); });
  }
}

bool AdoptedDevices::touches(const std::string& resource) const {
  const auto adoption = found_.find(resource);
  return ids_.contains(resource) || (adoption != found_.end() && !adoption->second.stale.empty());
}

void AdoptedDevices::lay(const std::string& resource, std::vector<Device>& devices) const {
  const auto adoption = found_.find(resource);
  if (adoption == found_.end()) return;
  for (Device& device : devices) {
    const auto holders = adoption->second.devices.find(device.id);
    if (holders == adoption->second.devices.end()) continue;
    const auto used = adoption->second.used.find(device.id);
    Reason reason = Reason::holder(
        holder_text(resource, holders->second),
        last_free(device, used == adoption->second.used.end() ? std::vector<unsigned>() : used->second,
                  holders->second.size()));
    if (reason.shares.empty()) continue;
    if (device.replicas > 1)
      reason.text = std::to_string(reason.shares.size()) + " of its " + std::to_string(device.replicas) +
                    " shares " + reason.text;
    device.reasons.push_back(std::move(reason));
  }
  for (Device& device : devices) {
    const auto stale = adoption->second.stale.find(device.id);
    if (stale == adoption->second.stale.end()) continue;
    for (const Stale& share : stale->second) {
      if (share.now.empty()) continue;
      device.reasons.push_back(Reason::holder(pod_of(resource, share.holder) + " was given " +
                                                  joined(share.given, ", ") + " for it, and it is " +
                                                  share.now + " now: delete the pod",
                                              {share.share}));
    }
  }
}

std::map<std::string, std::vector<std::string>> AdoptedDevices::units_elsewhere(
    const std::string& resource) const {
  std::map<std::string, std::vector<std::string>> units;
  const auto adoption = found_.find(resource);
  if (adoption == found_.end()) return units;
  for (const auto& [device, shares] : adoption->second.stale) {
    for (const Stale& share : shares)
      if (!share.units.empty()) units[device] = share.units;
  }
  return units;
}

std::string AdoptedDevices::pod_of(const std::string& resource, const FormerId& held) const {
  const auto told = holders_.find({resource, held.id});
  if (told == holders_.end() || told->second.pod_namespace.empty()) return held.pod_uid;
  return told->second.pod_namespace + '/' + told->second.pod;
}

std::string AdoptedDevices::holder_text(const std::string& resource,
                                        const std::vector<FormerId>& holders) const {
  const FormerId& first = holders.front();
  std::string text = "held by " + pod_of(resource, first) + " since before plughost, as " + first.id;
  if (holders.size() > 1) text += ", and by " + std::to_string(holders.size() - 1) + " more";
  return text;
}

}  // namespace plughost
