#include "daemon/adoption/adoption_tracker.hpp"

#include <algorithm>

#include "base/text/text.hpp"

namespace plughost {
namespace {

const Holder* find(const Holdings& holdings, const AdoptedDevices::Name& name) {
  for (const std::string& each : {name.resource, with_other_sharing(name.resource)}) {
    const auto resource = holdings.find(each);
    if (resource == holdings.end()) continue;
    const auto held = resource->second.of(name.id);
    if (!held.empty()) return held.front().holder.get();
  }
  return nullptr;
}

// Returns the last free shares of the device. If there are too few free shares, adds the last used shares,
// which then stay held after their own pods have ended.
std::vector<unsigned> last_shares(const Device& device, const std::vector<unsigned>& used,
                                  std::size_t count) {
  std::vector<unsigned> shares;
  for (const bool of_used : {false, true}) {
    for (unsigned n = device.replicas; n-- > 0 && shares.size() < count;)
      if (std::ranges::binary_search(used, n) == of_used) shares.push_back(n);
  }
  std::ranges::sort(shares);
  return shares;
}

}  // namespace

AdoptedDevices::News AdoptedDevices::merge(std::map<std::string, Adoption> found) {
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

AdoptedDevices::News AdoptedDevices::update(const Holdings& holdings, bool final) {
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

void AdoptedDevices::apply(const std::string& resource, std::vector<Device>& devices) const {
  const auto adoption = found_.find(resource);
  if (adoption == found_.end()) return;
  for (Device& device : devices) {
    const auto holders = adoption->second.devices.find(device.id);
    if (holders == adoption->second.devices.end()) continue;
    const auto used = adoption->second.used.find(device.id);
    Reason reason = Reason::holder(
        holder_text(resource, holders->second),
        last_shares(device, used == adoption->second.used.end() ? std::vector<unsigned>() : used->second,
                    holders->second.size()));
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

AdoptionTracker::AdoptionTracker(Platform& platform, KubeletLink& link, std::function<void()> changed)
    : platform_(platform),
      link_(link),
      changed_(std::move(changed)),
      poll_(
          platform.loop,
          [this](HoldingsReader::Done done) { link_.holdings().read(Clock::now(), std::move(done)); },
          [this](const PodResources::Answer& answer) { return on_answer(answer); }) {}

void AdoptionTracker::prepare(bool may_be_new, const std::function<void(HeldIds held)>& done) {
  // While adoptions are open, a new pod may get the same id with a different answer.
  if (may_be_new || devices_.open()) since_ = Clock::now();
  const auto held = [this] {
    return HeldIds{.checkpoint = checkpoint_,
                   .own = devices_.own(),
                   .adopted = devices_.ids(),
                   .before_reload = before_reload_,
                   .reloaded = reloaded_};
  };
  const bool is_new = reading_.began >= since_;
  const bool again = is_new && !reading_.checkpoint && Clock::now() - reading_.began >= kReadAgain;
  if (is_new && !again) return done(held());
  link_.checkpoint().read(again ? Clock::now() : since_,
                          lifetime_.bound([this, held, done](const CheckpointReader::Reading& reading) {
                            reading_ = reading;
                            const auto before = checkpoint_;
                            if (reading.checkpoint) checkpoint_ = reading.checkpoint;
                            if (checkpoint_ && (!before || before->pod_devices != checkpoint_->pod_devices))
                              devices_.read_again();
                            done(held());
                          }));
}

void AdoptionTracker::merge(std::map<std::string, Adoption> found) {
  reloaded_ = false;
  AdoptedDevices::News news = devices_.merge(std::move(found));
  const bool adopts = !news.adopted.empty() || !news.moved.empty();
  untold_.push_back(std::move(news));
  // The checkpoint may contain pods that ended long ago: the kubelet writes it only when it allocates.
  if (adopts) poll_.reset();
  if (devices_.open() && (!poll_.pauses() || adopts)) poll_.ask();
}

void AdoptionTracker::notify() {
  for (const AdoptedDevices::News& news : std::exchange(untold_, {})) log_news(news);
}

void AdoptionTracker::on_reload(std::map<std::string, Inventory> listed) {
  // The former lists are useless if no adopted id is held.
  if (devices_.ids().empty()) before_reload_.clear();
  before_reload_.insert(before_reload_.begin(), std::move(listed));
  before_reload_.resize(std::min(before_reload_.size(), kMostLists));
  reloaded_ = true;
  since_ = Clock::now();
}

bool AdoptionTracker::on_answer(const PodResources::Answer& answer) {
  link_.record_answer(answer);
  if (answer.holdings) untold_.push_back(devices_.update(*answer.holdings, answer.complete));
  changed_();
  return devices_.open();
}

void AdoptionTracker::log_news(const AdoptedDevices::News& news) const {
  for (const auto& [device, holder] : news.adopted)
    platform_.log.info("a pod holds a device by an id of another plugin: reserved until the pod ends",
                       {{"resource", device.resource},
                        {"device", device.id},
                        {"id", holder.id},
                        {"pod_uid", holder.pod_uid},
                        {"container", holder.container}});
  for (const auto& [device, share] : news.moved)
    platform_.log.warn("device has other nodes than its pod was given: reserved until the pod ends",
                       {{"resource", device.resource},
                        {"device", device.id},
                        {"pod_uid", share.holder.pod_uid},
                        {"container", share.holder.container},
                        {"given", joined(share.given, ", ")},
                        {"now", share.now}});
  for (const AdoptedDevices::Name& name : news.over)
    platform_.log.info("id of another plugin released", {{"resource", name.resource}, {"id", name.id}});
  for (const auto& [name, holder] : news.strangers)
    platform_.log.warn(
        "a pod holds an unknown device id that matches none of our devices: another pod may get the same "
        "device",
        {{"resource", name.resource},
         {"id", name.id},
         {"pod", holder.pod_namespace.empty() ? holder.pod : holder.pod_namespace + '/' + holder.pod},
         {"container", holder.container}});
}

}  // namespace plughost
