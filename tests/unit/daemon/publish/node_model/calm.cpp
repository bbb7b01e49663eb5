// Computes the time until the node is calm if no further disturbances occur.

#include <algorithm>

#include "unit/daemon/publish/node_model/terms.hpp"

namespace plughost::test {

std::optional<Move> NodeModel::next_step(std::vector<Move>& scratch) const {
  moves(scratch);
  for (const Move& move : scratch) {
    switch (move.kind) {
      case Kind::kHear:
      case Kind::kSeeKubelet:
      case Kind::kSeeSocket:
      case Kind::kTimer:
      case Kind::kDials:
      case Kind::kAnswers:
      case Kind::kOpensStream:
      case Kind::kNoticesEnd:
      case Kind::kFinds:
      case Kind::kLoses:
      case Kind::kDialFails:
        return move;
      default:
        break;
    }
  }
  return std::nullopt;
}

bool NodeModel::agreed() const {
  const auto kubelet = std::ranges::find(kubelets_, socket_process_, &Kubelet::process);
  if (socket_process_ == 0 || kubelet == kubelets_.end()) return false;
  if (we_.phase != Phase::kAttached) return false;
  return std::ranges::any_of(kubelet->clients, [&](const Client& client) {
    return client.stage == Client::Stage::kStreaming && !client.broken &&
           client.incarnation == we_.incarnation;
  });
}

std::optional<Milliseconds> NodeModel::time_to_calm() const {
  NodeModel node = *this;
  if (node.stopped_) node.make({Kind::kContinued});
  for (std::uint8_t k = 0; k < node.kubelets_.size(); ++k)
    if (node.kubelets_[k].hangs) node.make({Kind::kGoesOn, k});
  // An unreachable kubelet ends, and a new one starts. An older kubelet may continue.
  const auto newest = static_cast<std::uint8_t>(node.kubelets_[1].process != 0 ? 1 : 0);
  const bool there = node.kubelets_[newest].process != 0;
  if (!there || node.kubelets_[newest].process != node.socket_process_ || !node.directory_) {
    if (there) node.make({Kind::kDies, newest});
    node.make({Kind::kStarts});
  }
  Milliseconds passed{0};
  std::vector<Move> scratch;
  for (int i = 0; i < 300 && node.error_ == nullptr; ++i) {
    if (const auto step = node.next_step(scratch)) {
      node.make(*step);
    } else if (node.agreed()) {
      return passed;
    } else if (node.we_.due) {
      const auto wait = static_cast<std::int32_t>(ms(*node.we_.due - kNow));
      passed += Milliseconds(wait);
      node.make({Kind::kTimerDue});
    } else {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

// Returns true if a Register without its stream is under way at the daemon or a kubelet, or among the pending
// events.
bool NodeModel::attempt_is_open() const {
  using Stage = Client::Stage;
  if (we_.phase == Phase::kAsking || we_.phase == Phase::kExpecting || news_count_ > 0) return true;
  return std::ranges::any_of(kubelets_, [](const Kubelet& kubelet) {
    return std::ranges::any_of(kubelet.clients, [](const Client& client) {
      return client.stage != Stage::kNone && client.stage != Stage::kStreaming;
    });
  });
}

Milliseconds NodeModel::allowed() const {
  Milliseconds time = 2s;
  // A retry after a refusal comes at its due time.
  if (we_.due && (we_.phase == Phase::kBackingOff || we_.phase == Phase::kPostponed))
    time += std::max(Milliseconds(ms(*we_.due - kNow)), 0ms);
  // An earlier attempt may still fail once, which delays the next one.
  if (attempt_is_open()) time += Backoff(we_.refused).next();
  // No event reports that an old kubelet failed to dial.
  if (scene_->answers_first) time += kGrace + kStreamWatchdog;
  return time;
}

}  // namespace plughost::test
