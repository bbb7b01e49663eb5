#include "supervisor/holders.hpp"

#include <stdexcept>

#include "kubelet/checkpoint.hpp"

namespace plughost {

namespace {

constexpr std::chrono::seconds kReadingIsWedged{2};

}  // namespace

void Holders::ask(NodeLink& link, Done done) {
  using Clock = EventLoop::Clock;
  if (learned_at_ > Clock::now() - PodResources::kPause) return done(last_);
  waiting_.push_back(std::move(done));
  if (question_) return;
  question_ = std::make_shared<const bool>(true);
  link.pod_resources().ask([this, checkpoint = link.config().directory / kCheckpointName,
                            question = std::weak_ptr(question_)](const PodResources::Answer& answer) {
    if (question.expired()) return;
    if (answer.holdings)
      finish(answer);
    else
      read_checkpoint(checkpoint, answer.why);
  });
}

void Holders::abandon() {
  learned_at_ = EventLoop::Clock::time_point::min();
  if (question_) finish({.holdings = nullptr, .why = "another kubelet is meant now"});
}

void Holders::read_checkpoint(const std::filesystem::path& file, const std::string& why_not_told) {
  const auto answer = std::make_shared<PodResources::Answer>();
  const std::weak_ptr question = question_;
  workers_.run(
      [answer, file, why_not_told] {
        try {
          answer->holdings = std::make_shared<const Holdings>(Checkpoint::read(file).holdings());
        } catch (const std::runtime_error& error) {
          answer->why = "the kubelet does not tell (" + why_not_told + "), nor does its checkpoint (" +
                        file.string() + ": " + error.what() + ")";
        }
      },
      [this, answer, question] {
        if (!question.expired()) finish(*answer);
      },
      kReadingIsWedged,
      [this, question, file] {
        if (!question.expired())
          finish({.holdings = nullptr, .why = "reading " + file.string() + " takes too long"});
      });
}

void Holders::finish(PodResources::Answer answer) {
  question_.reset();
  last_ = std::move(answer);
  learned_at_ = EventLoop::Clock::now();
  const std::vector<Done> waiting = std::exchange(waiting_, {});
  const PodResources::Answer told = last_;
  for (const Done& done : waiting) done(told);
}

}  // namespace plughost
