#include "supervisor/adopting.hpp"

#include <algorithm>
#include <utility>

namespace plughost {

Adopting::Adopting(Platform& platform, KubeletLink& link, std::function<void()> changed)
    : platform_(platform),
      link_(link),
      changed_(std::move(changed)),
      again_(platform.loop, [this] { ask(); }) {}

void Adopting::prepare(bool may_be_new, const std::function<void(HeldIds held)>& done) {
  if (may_be_new) since_ = Clock::now();
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

void Adopting::take(std::map<std::string, Adoption> found) {
  reloaded_ = false;
  AdoptedDevices::News news = devices_.take(std::move(found));
  const bool adopts = !news.adopted.empty();
  untold_.push_back(std::move(news));
  // A checkpoint may hold what is long over: the kubelet writes it when it gives devices.
  if (adopts) pause_.reset();
  if (devices_.open() && (!again_.armed() || adopts)) ask();
}

void Adopting::tell() {
  for (const AdoptedDevices::News& news : std::exchange(untold_, {})) tell(news);
}

void Adopting::on_reload(std::map<std::string, Inventory> listed) {
  // Of what nobody holds nothing has to be known.
  if (devices_.ids().empty()) before_reload_.clear();
  before_reload_.insert(before_reload_.begin(), std::move(listed));
  before_reload_.resize(std::min(before_reload_.size(), kMostLists));
  reloaded_ = true;
  since_ = Clock::now();
}

void Adopting::ask() {
  if (std::exchange(asking_, true)) return;
  link_.pod_resources().ask(
      Clock::now(), lifetime_.bound([this](const PodResources::Answer& answer) { on_answer(answer); }));
}

void Adopting::on_answer(const PodResources::Answer& answer) {
  link_.note_answer(answer);
  if (answer.holdings) return learn(*answer.holdings, Clock::now() >= trusted_from_);
  link_.checkpoint().read(Clock::now(), lifetime_.bound([this](const CheckpointReader::Reading& reading) {
    const bool known = reading.checkpoint != nullptr;
    learn(known ? reading.checkpoint->holdings() : Holdings(), known);
  }));
}

void Adopting::learn(const Holdings& holdings, bool final) {
  asking_ = false;
  untold_.push_back(devices_.learn(holdings, final));
  if (devices_.open()) {
    again_.arm(pause_.next());
  } else {
    pause_.reset();
    again_.cancel();
  }
  changed_();
}

void Adopting::tell(const AdoptedDevices::News& news) const {
  for (const auto& [device, holder] : news.adopted)
    platform_.log.info(
        "a pod holds a device by an id that is not ours: nobody else gets it until the pod has gone",
        {{"resource", device.resource},
         {"device", device.id},
         {"id", holder.id},
         {"pod_uid", holder.pod_uid},
         {"container", holder.container}});
  for (const AdoptedDevices::Name& name : news.over)
    platform_.log.info("nobody holds the id any more that was not ours",
                       {{"resource", name.resource}, {"id", name.id}});
  for (const auto& [name, holder] : news.strangers)
    platform_.log.warn(
        "a pod holds something by an id that is not ours, and no device of ours is recognised in it: a "
        "second pod may get the same",
        {{"resource", name.resource},
         {"id", name.id},
         {"pod", holder.pod_namespace.empty() ? holder.pod : holder.pod_namespace + '/' + holder.pod},
         {"container", holder.container}});
}

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

void AdoptedDevices::apply(const std::string& resource, std::vector<Device>& devices) const {
  const auto adoption = found_.find(resource);
  if (adoption == found_.end() || adoption->second.devices.empty()) return;
  for (Device& device : devices) {
    const auto holders = adoption->second.devices.find(device.id);
    if (holders == adoption->second.devices.end()) continue;
    const auto used = adoption->second.used.find(device.id);
    device.taken =
        last_free(device, used == adoption->second.used.end() ? std::set<unsigned>() : used->second,
                  holders->second.size());
    if (device.taken.empty()) continue;
    device.taken_by = holder_text(resource, holders->second);
    if (device.replicas > 1)
      device.taken_by = std::to_string(device.taken.size()) + " of its " + std::to_string(device.replicas) +
                        " shares " + device.taken_by;
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
