#include "listing/adopted_devices.hpp"

#include <algorithm>
#include <utility>

namespace plughost {
namespace {

const Holder* find(const Holdings& holdings, const AdoptedDevices::Name& name) {
  const auto resource = holdings.find(name.resource);
  if (resource == holdings.end()) return nullptr;
  const auto holder = resource->second.find(name.id);
  return holder == resource->second.end() ? nullptr : &holder->second;
}

// The last of its shares that nobody has.
std::vector<unsigned> last_free(const Device& device, const std::set<unsigned>& used, std::size_t count) {
  std::vector<unsigned> free;
  for (unsigned n = device.replicas; n-- > 0 && free.size() < count;) {
    if (!used.contains(n)) free.push_back(n);
  }
  std::ranges::reverse(free);
  return free;
}

}  // namespace

AdoptedDevices::News AdoptedDevices::take(std::map<std::string, Adoption> found) {
  News news;
  strangers_.clear();
  for (auto& [resource, adoption] : found) {
    own_[resource].merge(adoption.own);
    for (const auto& [device, holders] : adoption.devices) {
      for (const FormerId& holder : holders) {
        if (!over_.contains({resource, holder.id}) && ids_[resource].insert(holder.id).second)
          news.adopted.push_back({{resource, device}, holder});
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
  for (auto& [resource, adoption] : found_) {
    for (auto& [device, holders] : adoption.devices)
      std::erase_if(holders, [&, &name = resource](const FormerId& held) {
        return over_.contains({name, held.id});
      });
    std::erase_if(adoption.devices, [](const auto& item) { return item.second.empty(); });
  }
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
        last_free(device, used == adoption->second.used.end() ? std::set<unsigned>() : used->second,
                  holders->second.size()));
    if (reason.shares.empty()) continue;
    if (device.replicas > 1)
      reason.text = std::to_string(reason.shares.size()) + " of its " + std::to_string(device.replicas) +
                    " shares " + reason.text;
    device.reasons.push_back(std::move(reason));
  }
}

std::string AdoptedDevices::holder_text(const std::string& resource,
                                        const std::vector<FormerId>& holders) const {
  const FormerId& first = holders.front();
  const auto told = holders_.find({resource, first.id});
  std::string pod = first.pod_uid;
  if (told != holders_.end() && !told->second.pod_namespace.empty())
    pod = told->second.pod_namespace + '/' + told->second.pod;
  std::string text = "held by " + pod + " since before plughost, as " + first.id;
  if (holders.size() > 1) text += ", and by " + std::to_string(holders.size() - 1) + " more";
  return text;
}

}  // namespace plughost
