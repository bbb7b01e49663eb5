#include "programs/turns.hpp"

namespace plughost {

Turns::Line Turns::open(Purpose purpose, std::size_t at_once) {
  lines_.emplace(next_line_, Queue{.purpose = purpose, .at_once = at_once, .waiting = {}});
  return next_line_++;
}

void Turns::close(Line line) { lines_.erase(line); }

Turns::Ticket Turns::wait(Line line) {
  lines_.at(line).waiting.insert(next_ticket_);
  return next_ticket_++;
}

void Turns::leave(Line line, Ticket ticket) {
  Queue& queue = lines_.at(line);
  if (queue.waiting.erase(ticket) > 0) return;
  --queue.running;
  --running_for(queue.purpose);
  if (queue.purpose != Purpose::kStay) --running_;
}

std::optional<Turns::Ticket> Turns::next() {
  Queue* first = nullptr;
  for (auto& [line, queue] : lines_) {
    if (may_run(queue) && (!first || goes_before(queue, *first))) first = &queue;
  }
  if (!first) return std::nullopt;
  const Ticket ticket = first->waiting.extract(first->waiting.begin()).value();
  ++first->running;
  ++running_for(first->purpose);
  if (first->purpose != Purpose::kStay) ++running_;
  return ticket;
}

bool Turns::may_run(const Queue& queue) const {
  if (queue.waiting.empty() || queue.running >= queue.at_once) return false;
  return queue.purpose == Purpose::kStay || running_ < kAtOnce || running_for(queue.purpose) < kOfEach;
}

bool Turns::goes_before(const Queue& one, const Queue& other) const {
  const std::size_t ones = running_for(one.purpose);
  const std::size_t others = running_for(other.purpose);
  return ones != others ? ones < others : *one.waiting.begin() < *other.waiting.begin();
}

}  // namespace plughost
