#include "listing/adopting.hpp"

#include <algorithm>
#include <utility>

#include "text/text.hpp"

namespace plughost {

Adopting::Adopting(Platform& platform, KubeletLink& link, std::function<void()> changed)
    : platform_(platform),
      link_(link),
      changed_(std::move(changed)),
      again_(platform.loop, [this] { ask(); }) {}

void Adopting::prepare(bool may_be_new, const std::function<void(HeldIds held)>& done) {
  // While something is open a pod that goes may be followed by one that gets the same id, and another answer.
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

void Adopting::take(std::map<std::string, Adoption> found) {
  reloaded_ = false;
  AdoptedDevices::News news = devices_.take(std::move(found));
  const bool adopts = !news.adopted.empty() || !news.moved.empty();
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
  link_.holdings().read(Clock::now(),
                        lifetime_.bound([this](const PodResources::Answer& answer) { on_answer(answer); }));
}

void Adopting::on_answer(const PodResources::Answer& answer) {
  link_.note_answer(answer);
  asking_ = false;
  // Queries again soon: the answer is complete once the kubelet has settled.
  if (!answer.complete) pause_.reset();
  if (answer.holdings) untold_.push_back(devices_.learn(*answer.holdings, answer.complete));
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
