// Finds the possible moves, and carries them out.

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "unit/daemon/publish/node_model/terms.hpp"

namespace plughost::test {

NodeModel::NodeModel(const Scene& scene) : scene_(&scene) {
  we_.registers = !scene.finds;
  for (const Kind kind : scene.happens) happens_ |= bit(kind);
}

void NodeModel::moves(std::vector<Move>& found) const {
  found.clear();
  if (waking_) {
    for (std::size_t i = 0; i < news_count_; ++i) {
      const News& news = news_[i];
      // The events of one connection stay in order, and so do the dials of all connections.
      const auto same = [&](const News& other) {
        return (other.incarnation == news.incarnation && other.process == news.process) ||
               (other.kind == News::Kind::kDialed && news.kind == News::Kind::kDialed);
      };
      if (std::none_of(news_.begin(), news_.begin() + static_cast<std::ptrdiff_t>(i), same))
        found.push_back({Kind::kHear, 0, static_cast<std::uint8_t>(i)});
    }
    if (see_kubelet_) found.push_back({Kind::kSeeKubelet});
    if (see_socket_) found.push_back({Kind::kSeeSocket});
    if (we_.due && *we_.due <= kNow) found.push_back({Kind::kTimer});
    return;
  }
  if (stopped_) found.push_back({Kind::kContinued});
  if (news_count_ + 4 > kMostWaiting) return;

  const auto alive = static_cast<std::size_t>(
      std::ranges::count_if(kubelets_, [](const Kubelet& each) { return each.process != 0; }));
  std::ptrdiff_t most_broken = 0;
  for (std::uint8_t k = 0; k < kubelets_.size(); ++k) {
    const Kubelet& kubelet = kubelets_[k];
    if (kubelet.process == 0) continue;
    most_broken = std::max(most_broken, std::ranges::count(kubelet.clients, true, &Client::broken));
    found.push_back({Kind::kDies, k});
    found.push_back({kubelet.hangs ? Kind::kGoesOn : Kind::kHangs, k});
    if (kubelet.hangs) continue;
    if (scene_->finds && reachable() && kubelet.found != incarnation_ && kubelet.named == 0)
      found.push_back({Kind::kFinds, k});
    for (std::uint8_t c = 0; c < kMostClients; ++c) {
      const Client& client = kubelet.clients[c];
      const bool called = is_called(kubelet, client);
      const bool there = reachable() && client.incarnation == incarnation_;
      switch (client.stage) {
        case Client::Stage::kNone:
          continue;
        case Client::Stage::kDialing:
          if (called && scene_->answers_first) found.push_back({Kind::kAnswers, k, c});
          if (called) found.push_back({Kind::kRefuses, k, c});
          if (called && scene_->answers_first) break;
          found.push_back({there ? Kind::kDials : Kind::kDialFails, k, c});
          break;
        case Client::Stage::kConnected:
          found.push_back({client.broken ? Kind::kNoticesEnd : Kind::kOpensStream, k, c});
          if (scene_->finds && !client.broken) found.push_back({Kind::kRefuses, k, c});
          break;
        case Client::Stage::kStreaming:
          if (client.broken) {
            found.push_back({Kind::kNoticesEnd, k, c});
            break;
          }
          found.push_back({Kind::kEndsStream, k, c});
          if (scene_->finds && !there) found.push_back({Kind::kLoses, k, c});
          break;
        case Client::Stage::kEnding:
          found.push_back({Kind::kNoticesEnd, k, c});
          break;
      }
    }
    if (call_.open && call_.connected && &kubelets_[call_.kubelet] == &kubelet)
      found.push_back({Kind::kAnswers, k, kMostClients});
  }
  if (alive < (scene_->finds ? 1U : 2U)) found.push_back({Kind::kStarts});
  // An old kubelet that dials seconds after its answer, while its socket is replaced or the machine is
  // suspended, cannot be distinguished from one that has gone.
  const bool prompt = std::ranges::none_of(kubelets_, [&](const Kubelet& kubelet) {
    return scene_->answers_first &&
           std::ranges::count(kubelet.clients, Client::Stage::kDialing, &Client::stage) > 0;
  });
  if (!scene_->finds && kubelet_socket_ != 0) {
    found.push_back({Kind::kSocketTouched});
    found.push_back({Kind::kSocketChanged});
    if (prompt) found.push_back({Kind::kSocketGone});
    if (prompt && socket_process_ != 0) found.push_back({Kind::kSocketStale});
  }
  if (renamed_process_ != 0) found.push_back({Kind::kSocketBack});
  if (own_socket_) found.push_back({Kind::kOwnSocketGone});
  if (directory_ && prompt) found.push_back({Kind::kDirectoryGone});
  // There is no second stop before all events of the first one are received.
  if (!stopped_ && !we_.was_late) found.push_back({Kind::kStopped});
  if (incarnation_ != 0 && most_broken < 2) {
    found.push_back({Kind::kKilled});
    found.push_back({Kind::kRemoved});
  }
  if (!stopped_ && incarnation_ != 0 && !we_.again) found.push_back({Kind::kAgain});
  if (own_socket_ && read_ == 0) found.push_back({Kind::kRead});
  if (read_ != 0) found.push_back({Kind::kReadNoMore});

  const auto due = we_.due ? static_cast<std::int32_t>(ms(*we_.due - kNow)) : kLongAgo;
  if (!stopped_ && we_.due && may_pass(due)) found.push_back({Kind::kTimerDue});
  if (call_.open && may_pass(kDeadline - call_.age) && due > kDeadline - call_.age)
    found.push_back({Kind::kDeadline});
  for (std::uint8_t i = 0; i < kTimes.size(); ++i) {
    const bool heard = stopped_ ? due > kTimes[i] || kTimes[i] - due >= kLate.count() : due > kTimes[i];
    if (heard && may_pass(kTimes[i])) found.push_back({Kind::kTime, 0, i});
  }
  if (!we_.was_late && prompt) found.push_back({Kind::kSleep});
  std::erase_if(
      found, [this](const Move& move) { return is_chance(move.kind) && (happens_ & bit(move.kind)) == 0; });
}

// Returns true for a move that need not happen.
bool NodeModel::is_chance(Kind kind) {
  switch (kind) {
    case Kind::kDials:
    case Kind::kDialFails:
    case Kind::kAnswers:
    case Kind::kOpensStream:
    case Kind::kNoticesEnd:
    case Kind::kFinds:
    case Kind::kLoses:
    case Kind::kGoesOn:
    case Kind::kSocketBack:
    case Kind::kContinued:
    case Kind::kReadNoMore:
    case Kind::kHear:
    case Kind::kSeeKubelet:
    case Kind::kSeeSocket:
    case Kind::kTimer:
    case Kind::kTimerDue:
    case Kind::kDeadline:
      return false;
    default:
      return true;
  }
}

// Returns the longest time until the client's next step.
std::int32_t NodeModel::patience(const Kubelet& kubelet, const Client& client) const {
  switch (client.stage) {
    case Client::Stage::kNone:
      return kLongAgo;
    case Client::Stage::kDialing:
      return kDialing;
    case Client::Stage::kConnected:
      if (client.broken) return kNoticing;
      return is_called(kubelet, client) ? kLongAgo : kOpening;  // Register has a deadline of its own
    case Client::Stage::kStreaming:
      if (client.broken) return kNoticing;
      return scene_->finds && !(reachable() && client.incarnation == incarnation_) ? 2000 : kLongAgo;
    case Client::Stage::kEnding:
      return kForgetting;
  }
  return kLongAgo;
}

bool NodeModel::may_pass(std::int32_t time) const {
  for (const Kubelet& kubelet : kubelets_) {
    if (kubelet.process == 0 || kubelet.hangs) continue;
    for (const Client& client : kubelet.clients) {
      const std::int32_t patience = this->patience(kubelet, client);
      if (patience != kLongAgo && client.idle + time >= patience) return false;
    }
    if (call_.open && &kubelets_[call_.kubelet] == &kubelet && call_.age + time >= kDeadline) return false;
  }
  return !call_.open || call_.age + time <= kDeadline;
}

void NodeModel::pass(std::int32_t time) {
  const Milliseconds passed(time);
  if (we_.due) *we_.due -= passed;
  we_.not_before -= passed;
  we_.attached_since -= passed;
  if (call_.open) call_.age += time;
  for (Kubelet& kubelet : kubelets_) {
    for (Client& client : kubelet.clients) {
      if (client.stage == Client::Stage::kNone) continue;
      client.idle += time;
      if (client.idle >= patience(kubelet, client)) client.overdue = true;
    }
  }
}

void NodeModel::make(const Move& move) {
  Kubelet& kubelet = kubelets_[move.kubelet];
  switch (move.kind) {
    case Kind::kDials:
    case Kind::kDialFails:
    case Kind::kAnswers:
    case Kind::kOpensStream:
    case Kind::kNoticesEnd:
    case Kind::kFinds:
    case Kind::kLoses:
    case Kind::kRefuses:
    case Kind::kEndsStream: {
      Client none;
      make_kubelets(move, kubelet, move.which < kMostClients ? kubelet.clients[move.which] : none);
      break;
    }
    case Kind::kStarts:
      start_kubelet();
      break;
    case Kind::kDies:
      kill_kubelet(move.kubelet);
      break;
    case Kind::kHangs:
      kubelet.hangs = true;
      for (Client& client : kubelet.clients) client.overdue |= client.stage != Client::Stage::kStreaming;
      break;
    case Kind::kGoesOn:
      kubelet.hangs = false;
      for (Client& client : kubelet.clients) client.idle = 0;
      break;
    case Kind::kSocketTouched:
    case Kind::kSocketBack:
      kubelet_socket_ = 250;
      see_kubelet_ = true;
      if (move.kind == Kind::kSocketBack) socket_process_ = std::exchange(renamed_process_, 0);
      break;
    case Kind::kSocketChanged:
      kubelet_socket_ = 250;
      break;
    case Kind::kSocketGone:
      renamed_process_ = std::exchange(socket_process_, 0);
      kubelet_socket_ = 0;
      see_kubelet_ = true;
      break;
    case Kind::kSocketStale:
      kubelet_socket_ = 250;
      socket_process_ = 0;
      see_kubelet_ = true;
      break;
    case Kind::kOwnSocketGone:
      own_socket_ = false;
      see_socket_ = true;
      break;
    case Kind::kDirectoryGone:
      directory_ = own_socket_ = false;
      kubelet_socket_ = socket_process_ = renamed_process_ = 0;
      see_kubelet_ = see_socket_ = true;
      break;
    case Kind::kStopped:
      stopped_ = true;
      break;
    case Kind::kContinued:
      stopped_ = false;
      waking_ = true;
      break;
    case Kind::kKilled:
    case Kind::kRemoved:
      restart_us(move.kind == Kind::kRemoved);
      break;
    case Kind::kAgain:
      tell(RegisterAgain{.overlaps = scene_->several});
      break;
    case Kind::kRead:
      read_ = incarnation_;
      if (!scene_->finds) post({News::Kind::kDialed, read_, kStranger});
      post({News::Kind::kOpened, read_, kStranger});
      break;
    case Kind::kReadNoMore:
      post({News::Kind::kClosed, read_, kStranger});
      read_ = 0;
      break;
    case Kind::kHear:
      hear(move.which);
      break;
    case Kind::kSeeKubelet:
      see_kubelet_ = false;
      tell(KubeletSeen{seen_kubelet()});
      break;
    case Kind::kSeeSocket:
      see_socket_ = false;
      if (incarnation_ != 0 && !own_socket_) tell(SocketGone{});
      break;
    case Kind::kTimer:
      fire_timer();
      break;
    case Kind::kTimerDue:
      pass(static_cast<std::int32_t>(ms(*we_.due - kNow)));
      fire_timer();
      break;
    case Kind::kTime:
      pass(kTimes[move.which]);
      break;
    case Kind::kSleep:
    case Kind::kDeadline: {
      std::array<Kubelet, 2> before = kubelets_;
      if (call_.open) {
        if (call_.client != 0) kubelets_[call_.kubelet].clients[call_.client - 1U].overdue = true;
        before = kubelets_;
        call_.open = false;
        post({News::Kind::kRegistered, 0, 0, Result::kSilent});
      }
      if (move.kind == Kind::kDeadline) break;
      if (!stopped_) waking_ = true;
      pass(3'600'000);
      for (std::size_t k = 0; k < kubelets_.size(); ++k)
        for (std::size_t c = 0; c < kMostClients; ++c) {
          Client& client = kubelets_[k].clients[c];
          const std::int32_t patience = this->patience(kubelets_[k], client);
          client.overdue = before[k].clients[c].overdue;
          client.idle =
              patience == kLongAgo ? 0 : std::max(before[k].clients[c].idle, std::max(patience - kWaking, 0));
        }
      break;
    }
  }
  if (!stopped_ && !waking_) hear_all();
  if (waking_ && !busy() && !timer_is_late()) waking_ = false;
  if (!stopped_ && !waking_) check_rules();
}

bool NodeModel::timer_is_late() const { return we_.due && *we_.due <= kNow; }

}  // namespace plughost::test
