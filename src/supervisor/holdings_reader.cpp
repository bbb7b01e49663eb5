#include "supervisor/holdings_reader.hpp"

#include <stdexcept>
#include <utility>

#include "kubelet/checkpoint.hpp"

namespace plughost {

namespace {

constexpr std::chrono::seconds kReadingIsWedged{2};

}  // namespace

void HoldingsReader::read(KubeletLink& link, Done done) {
  const auto since = EventLoop::Clock::now() - PodResources::kPause;
  if (learned_at_ > since) return done(PodResources::Answer(last_));
  waiting_.push_back(std::move(done));
  if (waiting_.size() > 1) return;
  link.pod_resources().ask(
      since, question_.bound([this, checkpoint = link.config().directory /
                                                 kCheckpointName](const PodResources::Answer& answer) {
        if (answer.holdings)
          finish(answer);
        else
          read_checkpoint(checkpoint, answer.why);
      }));
}

void HoldingsReader::abandon() {
  if (!waiting_.empty()) finish({.holdings = nullptr, .why = "another kubelet is meant now"});
  learned_at_ = EventLoop::Clock::time_point::min();
}

void HoldingsReader::read_checkpoint(const std::filesystem::path& file, const std::string& why_not_told) {
  const auto answer = std::make_shared<PodResources::Answer>();
  workers_.run(
      [answer, file, why_not_told] {
        try {
          answer->holdings = std::make_shared<const Holdings>(Checkpoint::read(file).holdings());
        } catch (const std::runtime_error& error) {
          answer->why = "the kubelet does not tell (" + why_not_told + "), nor does its checkpoint (" +
                        file.string() + ": " + error.what() + ")";
        }
      },
      question_.bound([this, answer] { finish(*answer); }), kReadingIsWedged, question_.bound([this, file] {
        finish({.holdings = nullptr, .why = "reading " + file.string() + " takes too long"});
      }));
}

void HoldingsReader::finish(PodResources::Answer answer) {
  question_.renew();
  last_ = std::move(answer);
  learned_at_ = EventLoop::Clock::now();
  const PodResources::Answer told = last_;
  for (const Done& done : std::exchange(waiting_, {})) done(told);
}

}  // namespace plughost
