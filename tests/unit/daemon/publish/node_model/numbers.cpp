// Normalizes a node, and prints it.

#include <algorithm>
#include <map>
#include <utility>

#include "unit/daemon/publish/node_model/terms.hpp"

namespace plughost::test {

void NodeModel::tidy() {
  // Closes the gaps among clients and kubelets.
  if (kubelets_[0].process == 0 && kubelets_[1].process != 0) {
    std::swap(kubelets_[0], kubelets_[1]);
    if (call_.open) call_.kubelet = 0;
  }
  for (std::size_t k = 0; k < kubelets_.size(); ++k) {
    Kubelet& kubelet = kubelets_[k];
    std::size_t to = 0;
    for (std::size_t from = 0; from < kMostClients; ++from) {
      if (kubelet.clients[from].stage == Client::Stage::kNone) continue;
      if (from != to) {
        if (kubelet.named == from + 1) kubelet.named = static_cast<std::uint8_t>(to + 1);
        if (call_.open && call_.kubelet == k && call_.client == from + 1)
          call_.client = static_cast<std::uint8_t>(to + 1);
        kubelet.clients[to] = std::exchange(kubelet.clients[from], {});
      }
      ++to;
    }
  }
  if (!call_.open) call_ = {};

  // Resets fields that are never read again.
  we_.searching_since = kNow;
  we_.not_before = std::max(we_.not_before, kNow);
  we_.attached_since = we_.streams > 0 ? std::max(we_.attached_since, kNow - Time::duration(kSettled)) : kNow;
  if (we_.phase != Phase::kAsking) we_.stream_lost = false;
  if (we_.former_streams == 0) we_.former = {};
  if (!we_.again) we_.overlaps = false;
  for (Kubelet& kubelet : kubelets_)
    for (Client& client : kubelet.clients)
      client.idle = patience(kubelet, client) == kLongAgo ? 0 : std::min(client.idle, kDialing);

  const auto renamer = [numbers = std::array<std::uint8_t, 256>{},
                        last = std::uint8_t{0}](auto& number) mutable {
    if (number == 0 || number == kStranger) return;
    std::uint8_t& name = numbers[static_cast<std::uint8_t>(number)];
    if (name == 0) name = ++last;
    number = static_cast<std::remove_reference_t<decltype(number)>>(name);
  };
  auto incarnations = renamer;
  auto processes = renamer;
  auto identities = renamer;
  const auto rename_identity = [&](FileIdentity& file) {
    auto number = static_cast<std::uint8_t>(file.inode);
    identities(number);
    file = number == 0 ? FileIdentity{} : identity(number);
  };
  incarnations(we_.incarnation);
  incarnations(we_.former.incarnation);
  incarnations(incarnation_);
  processes(we_.process);
  processes(we_.former.process);
  processes(we_.successor);
  processes(socket_process_);
  processes(renamed_process_);
  for (Kubelet& kubelet : kubelets_) {
    processes(kubelet.process);
    incarnations(kubelet.found);
    for (Client& client : kubelet.clients) incarnations(client.incarnation);
  }
  incarnations(read_);
  incarnations(told_);
  for (std::size_t i = 0; i < news_count_; ++i) {
    incarnations(news_[i].incarnation);
    processes(news_[i].process);
  }
  identities(kubelet_socket_);
  if (we_.kubelet) rename_identity(*we_.kubelet);
  rename_identity(we_.asked);
}

std::uint64_t NodeModel::hash() const {
  std::uint64_t hash = 0x9e3779b97f4a7c15;
  const auto add = [&hash](auto... numbers) {
    const auto mix = [&hash](std::uint64_t number) {
      hash = (hash ^ number) * 0xff51afd7ed558ccd;
      hash ^= hash >> 32;
    };
    (mix(static_cast<std::uint64_t>(numbers)), ...);
  };
  Backoff unreachable = we_.unreachable;
  Backoff refused = we_.refused;
  add(we_.phase, we_.due ? ms(*we_.due - kNow) : -1'000'000, we_.was_late, ms(we_.not_before - kNow),
      we_.kubelet ? we_.kubelet->inode : 0, we_.asked.inode, we_.incarnation, we_.name_spent, we_.process,
      we_.successor, we_.dialed, we_.streams, we_.again, we_.overlaps, we_.former.incarnation,
      we_.former.process, we_.former_streams, we_.stream_lost, ms(kNow - we_.attached_since),
      unreachable.next().count(), refused.next().count());
  add(stopped_, waking_, directory_, kubelet_socket_, socket_process_, renamed_process_, incarnation_,
      own_socket_, read_, told_, see_kubelet_, see_socket_, call_.open, call_.connected, call_.kubelet,
      call_.client, call_.age, scene_->answers_first, scene_->finds, scene_->several);
  for (const Kubelet& kubelet : kubelets_) {
    add(kubelet.process, kubelet.hangs, kubelet.named, kubelet.found);
    for (const Client& client : kubelet.clients)
      if (client.stage != Client::Stage::kNone)
        add(client.stage, client.incarnation, client.broken, client.closed, client.overdue, client.idle);
  }
  for (std::size_t i = 0; i < news_count_; ++i)
    add(news_[i].kind, news_[i].incarnation, news_[i].process, news_[i].result);
  return hash;
}

std::string NodeModel::text() const {
  static const std::array<const char*, 9> kPhases{"waiting",  "postponed", "binding",
                                                  "asking",   "expecting", "announced",
                                                  "attached", "lingering", "backing off"};
  std::string text = kPhases.at(static_cast<std::size_t>(we_.phase));
  if (we_.due) text += " for " + std::to_string(ms(*we_.due - kNow)) + " ms";
  text += ", " + std::to_string(we_.streams) + " streams of incarnation " + std::to_string(we_.incarnation) +
          " and process " + std::to_string(we_.process);
  for (const Kubelet& kubelet : kubelets_) {
    if (kubelet.process == 0) continue;
    text += "; kubelet " + std::to_string(kubelet.process) + (kubelet.hangs ? " hangs" : "");
    for (std::size_t c = 0; c < kMostClients; ++c) {
      static const std::array<const char*, 5> kStages{"", "dialing", "connected", "streaming", "ending"};
      const Client& client = kubelet.clients[c];
      if (client.stage == Client::Stage::kNone) continue;
      text += std::string(", ") + (kubelet.named == c + 1 ? "*" : "") +
              kStages.at(static_cast<std::size_t>(client.stage)) + " to " +
              std::to_string(client.incarnation) + (client.broken ? " broken" : "") +
              (client.closed ? " closed" : "") + (client.overdue ? " overdue" : "");
    }
  }
  return text;
}

std::string to_text(const Move& move) {
  const std::string kubelet = "kubelet " + std::to_string(move.kubelet + 1);
  const std::string client = kubelet + "'s client " + std::to_string(move.which + 1);
  switch (move.kind) {
    case Kind::kDials:
      return client + " dials";
    case Kind::kDialFails:
      return client + " cannot dial";
    case Kind::kAnswers:
      return kubelet + " says yes";
    case Kind::kOpensStream:
      return client + " opens its stream";
    case Kind::kNoticesEnd:
      return client + " is forgotten, and, to 1.36, whoever has its name is disconnected";
    case Kind::kFinds:
      return kubelet + " finds our socket";
    case Kind::kLoses:
      return client + " ends its stream: our socket is gone";
    case Kind::kStarts:
      return "a kubelet starts";
    case Kind::kDies:
      return kubelet + " is killed";
    case Kind::kRefuses:
      return kubelet + " says no";
    case Kind::kEndsStream:
      return client + " ends its stream";
    case Kind::kHangs:
      return kubelet + " hangs";
    case Kind::kGoesOn:
      return kubelet + " goes on";
    case Kind::kSocketTouched:
      return "kubelet.sock is touched";
    case Kind::kSocketChanged:
      return "kubelet.sock is changed, without an event";
    case Kind::kSocketGone:
      return "kubelet.sock is renamed";
    case Kind::kSocketBack:
      return "kubelet.sock is back";
    case Kind::kSocketStale:
      return "kubelet.sock is one that nobody listens on";
    case Kind::kOwnSocketGone:
      return "our socket is removed";
    case Kind::kDirectoryGone:
      return "the directory is removed";
    case Kind::kStopped:
      return "we are stopped";
    case Kind::kContinued:
      return "we go on";
    case Kind::kKilled:
      return "we are killed, and start again";
    case Kind::kRemoved:
      return "the resource is removed, and comes back";
    case Kind::kAgain:
      return "the resource must be registered again";
    case Kind::kRead:
      return "a stranger reads the list";
    case Kind::kReadNoMore:
      return "the stranger is gone";
    case Kind::kHear:
      return "we hear event " + std::to_string(move.which + 1);
    case Kind::kSeeKubelet:
      return "we look at kubelet.sock";
    case Kind::kSeeSocket:
      return "we look at our socket";
    case Kind::kTimer:
      return "our timer fires";
    case Kind::kTimerDue:
      return "our timer is due, and fires";
    case Kind::kDeadline:
      return "Register's deadline passes";
    case Kind::kTime:
      return "" + std::to_string(NodeModel::kTimes.at(move.which)) + " ms pass";
    case Kind::kSleep:
      return "the machine sleeps for an hour";
  }
  return {};
}

}  // namespace plughost::test
