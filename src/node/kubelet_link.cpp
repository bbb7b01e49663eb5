#include "node/kubelet_link.hpp"

#include <memory>
#include <utility>

namespace plughost {

namespace {

constexpr const char* kKubeletSocket = "kubelet.sock";

}  // namespace

KubeletLink::KubeletLink(Platform& platform, const KubeletConfig& config, const KubeletLink* former,
                         std::function<void()> on_kubelet, std::function<void()> on_sockets)
    : log_(platform.log),
      config_(config),
      directory_(former && former->directory_->path() == config.socket_directory()
                     ? former->directory_
                     : std::make_shared<PluginDirectory>(config.socket_directory())),
      registration_(platform.loop, config.directory / kKubeletSocket),
      pod_resources_(platform.loop, config.pod_resources),
      allocatable_(platform.loop, config.pod_resources),
      checkpoint_(platform.workers, platform.log, config.directory / kCheckpointName),
      holdings_(platform.loop, pod_resources_, checkpoint_),
      watcher_(
          platform.directories, registers() ? config.directory / kKubeletSocket : config.plugins_registry,
          [this, on_kubelet = std::move(on_kubelet)] {
            registration_.on_other_kubelet();
            on_kubelet();
          },
          config.socket_directory(), std::move(on_sockets)) {}

void KubeletLink::note_answer(RegistrationClient::Result result, const std::string& why) {
  using enum RegistrationClient::Result;
  const bool silent = result == kNobodyListens || result == kWentAway;
  if (silent && !silence_told_) log_.warn("kubelet does not answer: retrying", {{"why", why}});
  silence_told_ = silent;
  if (result == kNobodyListens) watcher_.look();
}

void KubeletLink::note_answer(const PodResources::Answer& answer) {
  const bool secret = !answer.holdings;
  if (secret && !secrecy_told_)
    log_.warn("cannot read pod resources from the kubelet: devices that are gone are forgotten by time alone",
              {{"why", answer.why}});
  secrecy_told_ = secret;
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
  pods_.ask(since, questions_.bound([this, who, since](const PodResources::Answer& answer) {
    if (answer.holdings)
      finish(who, answer);
    else
      read_checkpoint(who, since, answer.why);
  }));
}

void HoldingsReader::abandon() {
  questions_.renew();
  const PodResources::Answer nothing{.holdings = nullptr, .why = "another kubelet is meant now"};
  for (const auto& [who, asker] : std::exchange(waiting_, {})) asker.done(nothing);
}

void HoldingsReader::read_checkpoint(Number who, Clock::time_point since, const std::string& why_not_told) {
  if (!waiting_.contains(who)) return;
  checkpoint_.read(
      since, questions_.bound([this, who, why_not_told](const CheckpointReader::Reading& reading) {
        PodResources::Answer answer{.asked = reading.began};
        if (reading.why.empty())
          answer.holdings = std::make_shared<const Holdings>(reading.checkpoint->holdings());
        else
          answer.why = "the kubelet does not tell (" + why_not_told + "), nor does its checkpoint (" +
                       checkpoint_.file().string() + ": " + reading.why + ")";
        finish(who, answer);
      }));
}

void HoldingsReader::finish(Number who, const PodResources::Answer& answer) {
  if (auto asker = waiting_.extract(who)) asker.mapped().done(answer);
}

}  // namespace plughost
