#include "supervisor/holdings_reader.hpp"

#include <memory>
#include <utility>

namespace plughost {

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
