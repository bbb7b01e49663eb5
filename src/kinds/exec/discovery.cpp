#include "kinds/exec/discovery.hpp"

#include <utility>

#include "programs/program.hpp"

namespace plughost {

Discovery::Discovery(Programs& programs, Program program, std::shared_ptr<Newest> newest)
    : queue_(programs, Purpose::kList), program_(std::move(program)), newest_(std::move(newest)) {}

void Discovery::before_scan(const std::function<void()>& then) {
  if (lives_) return then();  // and what was said when it was killed is so
  process_.emplace(
      queue_, program_,
      [this, then](const Ending& ending) {
        on_end(ending);
        then();
      },
      [this] { lives_ = false; });
}

void Discovery::on_end(const Ending& ending) {
  lives_ = ending.how == Ending::How::kOverdue;
  if (std::string why = why_failed({}, ending); !why.empty())
    newest_->take_trouble(std::move(why));
  else
    newest_->take_document(ending.output, last_words(ending.errors));
}

}  // namespace plughost
