#include "daemon/handover/take_over.hpp"

#include <stdexcept>
#include <utility>

namespace plughost {

TakeOver::TakeOver(EventLoop& loop, Workers& workers, Predecessor predecessor, Owner& owner)
    : workers_(workers),
      predecessor_(std::move(predecessor)),
      owner_(owner),
      limit_(loop, [this] { owner_.on_failed(missing()); }),
      look_(loop, [this] { look(); }) {
  limit_.arm(kLimit);
  look_.arm(kLook);
}

void TakeOver::look() {
  if (asking_) return;
  if (!missing().empty()) return look_.arm(kLook);
  asking_ = true;
  limit_.cancel();
  const auto answer = std::make_shared<Json>();
  workers_.run(
      [answer, end = predecessor_.end] {
        try {
          *answer = end();
        } catch (const std::runtime_error& exception) {
          *answer = Json{{"error", exception.what()}};
        }
      },
      lifetime_.bound([this, answer] { on_answer(*answer); }), kEndLimit,
      lifetime_.bound([this] { owner_.on_failed("the running plughost does not answer"); }));
}

void TakeOver::on_answer(const Json& answer) {
  if (const std::string& why = answer["error"].text(); !why.empty()) return owner_.on_failed(why);
  if (answer["register"].truth()) {
    registers_ = true;
    asking_ = false;
    limit_.arm(kLimit);
    owner_.register_beside();
    return on_change();
  }
  owner_.on_taken_over(Inheritance::of(answer, Inheritance::Clock::now()));
}

}  // namespace plughost
