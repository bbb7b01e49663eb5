#include "supervisor/holdings_reader.hpp"

#include <memory>
#include <utility>

namespace plughost {

void HoldingsReader::read(Clock::time_point since, Done done) {
  const auto who = waiting_.insert(waiting_.end(), std::move(done));
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
  for (const Done& done : std::exchange(waiting_, {})) done(nothing);
}

void HoldingsReader::read_checkpoint(Waiting::iterator who, Clock::time_point since,
                                     const std::string& why_not_told) {
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

void HoldingsReader::finish(Waiting::iterator who, const PodResources::Answer& answer) {
  const Done done = std::move(*who);
  waiting_.erase(who);
  done(answer);
}

}  // namespace plughost
