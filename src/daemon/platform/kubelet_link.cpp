#include "daemon/platform/kubelet_link.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace plughost {
namespace {

// Returns the holders that only the checkpoint has.
HoldingsBuilder unlisted_holders(const Holdings& listed, const CheckpointReader::Reading& reading) {
  HoldingsBuilder unlisted;
  for (const Checkpoint::PodDevices& some : reading.checkpoint->pod_devices) {
    if (reading.pods && !reading.pods->contains(some.pod_uid)) continue;
    const auto of_resource = listed.find(some.resource);
    const auto holder = some.holder();
    for (const auto& [node, ids] : some.ids) {
      for (const std::string& id : ids) {
        if (of_resource != listed.end() && of_resource->second.contains(id)) continue;
        unlisted.add(some.resource, id, holder);
      }
    }
  }
  return unlisted;
}

}  // namespace

KnownHolders known_holders(std::shared_ptr<const Holdings> listed, bool settled,
                           const CheckpointReader::Reading& reading) {
  // A missing file is read as an empty checkpoint with a reason: it adds nothing to `List`, nor replaces it.
  if (!reading.checkpoint || (!listed && !reading.why.empty()))
    return {.holdings = std::move(listed), .complete = false};
  static const Holdings kNothing;
  HoldingsBuilder holders = unlisted_holders(listed ? *listed : kNothing, reading);
  const bool complete = !listed || settled;
  if (holders.empty() && listed) return {.holdings = std::move(listed), .complete = complete};
  if (listed) {
    for (const auto& [resource, held] : *listed) {
      for (const auto& [id, holder] : held) holders.add(resource, id, holder);
    }
  }
  return {.holdings = std::make_shared<const Holdings>(std::move(holders).build()), .complete = complete};
}

bool KubeletAge::settled() {
  const Identities now{identity_of(sockets_[0]), identity_of(sockets_[1])};
  const auto at = Clock::now();
  if (seen_ != now) {
    settled_at_ = at + kSettling;
    // The kubelet may have been running for long when plughost starts. If the clock was set back, the kubelet
    // seems younger, by kSettling at most.
    if (!seen_ && (now[0] || now[1])) {
      const std::int64_t made_ns =
          std::max(now[0].value_or(FileIdentity{}).changed_ns, now[1].value_or(FileIdentity{}).changed_ns);
      const std::chrono::nanoseconds age =
          std::chrono::system_clock::now().time_since_epoch() - std::chrono::nanoseconds(made_ns);
      settled_at_ -= std::clamp<std::chrono::nanoseconds>(age, std::chrono::nanoseconds(0), kSettling);
    }
    seen_ = now;
  }
  return at >= settled_at_;
}

void HoldingsReader::read(Clock::time_point since, Done done,
                          std::optional<std::chrono::milliseconds> patience) {
  const Number who = next_++;
  Asker& asker = waiting_[who];
  asker.done = std::move(done);
  if (patience) {
    const std::string why = "the kubelet has not told within " + std::to_string(patience->count()) + " ms";
    asker.patience.emplace(loop_, [this, who, why] { finish(who, {.holdings = nullptr, .why = why}); });
    asker.patience->arm(*patience);
  }
  pods_.query(since, questions_.bound([this, who, since](const PodResources::Answer& listed) {
    read_checkpoint(who, std::max(since, listed.asked), listed);
  }));
}

void HoldingsReader::abandon() {
  questions_.renew();
  const PodResources::Answer nothing{.holdings = nullptr, .why = "another kubelet is meant now"};
  for (const auto& [who, asker] : std::exchange(waiting_, {})) asker.done(nothing);
}

void HoldingsReader::read_checkpoint(Number who, Clock::time_point since,
                                     const PodResources::Answer& listed) {
  if (!waiting_.contains(who)) return;
  checkpoint_.read(since, questions_.bound([this, who, listed](const CheckpointReader::Reading& reading) {
    merge(who, listed, reading);
  }));
}

void HoldingsReader::merge(Number who, const PodResources::Answer& listed,
                           const CheckpointReader::Reading& reading) {
  if (!waiting_.contains(who)) return;
  if (list_asked_ == listed.asked && checkpoint_began_ == reading.began) return finish(who, last_);
  const auto known = std::make_shared<KnownHolders>();
  const auto end = [this, who, listed, reading, known] {
    PodResources::Answer answer{.holdings = known->holdings,
                                .complete = known->complete,
                                .list_error = listed.holdings ? "" : listed.why,
                                .asked = listed.holdings ? listed.asked : reading.began};
    if (!answer.holdings)
      answer.why = "the kubelet does not tell (" + listed.why + "), nor does its checkpoint (" +
                   checkpoint_.file().string() + ": " + reading.why + ")";
    list_asked_ = listed.asked;
    checkpoint_began_ = reading.began;
    last_ = answer;
    finish(who, answer);
  };
  workers_.run([known, listed = listed.holdings, settled = age_.settled(),
                reading] { *known = known_holders(listed, settled, reading); },
               questions_.bound(end), kMergeDeadline,
               questions_.bound([this, who] { finish(who, too_late()); }));
}

void HoldingsReader::finish(Number who, const PodResources::Answer& answer) {
  if (auto asker = waiting_.extract(who)) asker.mapped().done(answer);
}

void HoldingsPoll::ask() {
  if (std::exchange(asking_, true)) return;
  timer_.cancel();
  read_(lifetime_.bound([this](const PodResources::Answer& answer) {
    asking_ = false;
    if (!answer.complete) reset();
    on_answer_(answer) ? ask_later() : reset();
  }));
}

void HoldingsPoll::ask_later() {
  if (!asking_ && !timer_.armed()) timer_.arm(pause_.next());
}

namespace {

constexpr const char* kKubeletSocket = "kubelet.sock";

}  // namespace

KubeletLink::KubeletLink(Platform& platform, const KubeletConfig& config, const KubeletLink* former,
                         std::function<void()> on_kubelet, std::function<void()> on_sockets, bool beside)
    : log_(platform.log),
      config_(config),
      stands_back_(beside),
      directory_(former && former->directory_->path() == config.socket_directory()
                     ? former->directory_
                     : std::make_shared<PluginDirectory>(config.socket_directory(), beside)),
      registration_(platform.loop, config.directory / kKubeletSocket),
      pod_resources_(platform.loop, config.pod_resources),
      allocatable_(platform.loop, config.pod_resources),
      checkpoint_(platform.workers, platform.log, config.directory / kCheckpointName,
                  config.pods_directory()),
      holdings_(platform.loop, platform.computations, pod_resources_, checkpoint_,
                {config.pod_resources, config.directory / kKubeletSocket}),
      watcher_(
          platform.directories, registers() ? config.directory / kKubeletSocket : config.plugins_registry,
          [this, on_kubelet = std::move(on_kubelet)] {
            registration_.on_other_kubelet();
            on_kubelet();
          },
          config.socket_directory(), std::move(on_sockets)) {
  if (not_before() > EventLoop::Clock::now())
    log_.info("the daemon before this one was killed: registering once the kubelet has noticed that",
              {{"wait_ms", std::to_string(kForgetting.count())}});
}

EventLoop::Clock::time_point KubeletLink::not_before() const {
  const auto found = directory_->dead_found();
  if (!watcher_.current() || !found || !registers() || *found + kForgetting <= EventLoop::Clock::now())
    return {};
  return knows_sockets() ? EventLoop::Clock::time_point{} : *found + kForgetting;
}

bool KubeletLink::knows_sockets() const {
  try {
    return somebody_listens(config_.pods_api());
  } catch (const std::runtime_error&) {  // includes std::system_error
    return false;
  }
}

void KubeletLink::record_answer(RegistrationClient::Result result, const std::string& why) {
  using enum RegistrationClient::Result;
  const bool silent = result == kNobodyListens || result == kWentAway;
  if (silent && !silence_told_) log_.warn("kubelet does not answer: retrying", {{"why", why}});
  silence_told_ = silent;
  if (result == kNobodyListens) watcher_.check();
}

void KubeletLink::record_answer(const PodResources::Answer& answer) {
  const bool secret = !answer.list_error.empty();
  if (secret && !secrecy_told_)
    log_.warn("cannot read pod resources from the kubelet: its checkpoint alone says which pods hold devices",
              {{"why", answer.list_error}});
  secrecy_told_ = secret;
}

}  // namespace plughost
