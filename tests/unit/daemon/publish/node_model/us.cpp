// Carries out the daemon's moves and the attachment's actions, and checks the rules that the attachment must
// keep.

#include <algorithm>
#include <utility>

#include "unit/daemon/publish/node_model/terms.hpp"

namespace plughost::test {

void NodeModel::restart_us(bool removed) {
  we_ = {};
  we_.registers = !scene_->finds;
  if (removed) we_.not_before = kNow + 500ms;
  call_ = {};
  own_socket_ = false;
  read_ = 0;
  incarnation_ = 0;
  told_ = 0;
  news_ = {};
  news_count_ = 0;
  see_socket_ = false;
  stopped_ = waking_ = false;
  for (Kubelet& kubelet : kubelets_)
    for (Client& client : kubelet.clients)
      if (client.stage != Client::Stage::kNone && !client.broken) {
        client.broken = true;
        client.idle = 0;
      }
  see_kubelet_ = true;
}

void NodeModel::post(News news) {
  if (news_count_ == kMostWaiting) {
    error_ = "the model has no room for so many events";
    return;
  }
  news_[news_count_++] = news;
}

void NodeModel::hear(std::size_t index) {
  const News news = news_[index];
  std::move(news_.begin() + static_cast<std::ptrdiff_t>(index) + 1, news_.end(),
            news_.begin() + static_cast<std::ptrdiff_t>(index));
  news_[--news_count_] = {};
  const Caller by{news.incarnation, news.process};
  switch (news.kind) {
    case News::Kind::kNone:
      return;
    case News::Kind::kRegistered:
      return tell(Registered{news.result, {}});
    case News::Kind::kDialed:
      return tell(Dialed{by});
    case News::Kind::kOpened:
      for (Kubelet& kubelet : kubelets_)  // a stream counts from now on, however late
        for (Client& client : kubelet.clients)
          if (client.stage == Client::Stage::kStreaming && kubelet.process == by.process &&
              client.incarnation == by.incarnation && by.incarnation == we_.incarnation)
            client.overdue = false;
      return tell(StreamOpened{by});
    case News::Kind::kClosed:
      return tell(StreamClosed{by});
    case News::Kind::kRefused:
      return tell(RegistryRefused{by, {}});
  }
}

void NodeModel::hear_all() {
  while (busy() && error_ == nullptr) {
    if (std::exchange(see_kubelet_, false)) tell(KubeletSeen{seen_kubelet()});
    if (std::exchange(see_socket_, false) && incarnation_ != 0 && !own_socket_) tell(SocketGone{});
    if (news_count_ > 0) hear(0);
  }
}

void NodeModel::fire_timer() { tell(TimeUp{}); }

std::optional<FileIdentity> NodeModel::seen_kubelet() const {
  if (kubelet_socket_ == 0) return std::nullopt;
  return identity(kubelet_socket_);
}

void NodeModel::tell(const Event& event) {
  Step step = attachment::step(we_, event, kNow);
  we_ = std::move(step.state);
  for (const Action& action : step.actions) std::visit([this](const auto& what) { carry_out(what); }, action);
}

void NodeModel::carry_out(const Listen& action) {
  if (!directory_) return tell(NotListening{});
  const auto streams = [this](const Kubelet& kubelet) {
    return std::ranges::any_of(kubelet.clients, [this](const Client& client) {
      const bool pending = client.stage == Client::Stage::kConnected && !client.closed;
      return (pending || client.stage == Client::Stage::kStreaming) && !client.broken && !client.overdue &&
             client.incarnation == incarnation_;
    });
  };
  if (scene_->finds && action.new_name && own_socket_ && std::ranges::any_of(kubelets_, streams))
    error_ = "another socket for the kubelet to find while its stream lives, or is pending";
  if (action.new_name || !own_socket_) {
    std::uint8_t last = std::max({incarnation_, told_, static_cast<std::uint8_t>(we_.incarnation),
                                  static_cast<std::uint8_t>(we_.former.incarnation)});
    for (const Kubelet& kubelet : kubelets_) {
      last = std::max(last, kubelet.found);
      for (const Client& client : kubelet.clients) last = std::max(last, client.incarnation);
    }
    for (const News& news : news_) last = std::max(last, news.incarnation);
    incarnation_ = static_cast<std::uint8_t>(std::max(last, read_) + 1);
    own_socket_ = true;
  }
  tell(Listening{incarnation_});
}

void NodeModel::carry_out(const ListenAgain&) { own_socket_ = directory_; }

void NodeModel::carry_out(const Register& action) {
  if (call_.open) error_ = "a Register while another is not answered";
  if (kNow < we_.not_before) error_ = "a Register before its time";
  const auto asked = std::ranges::find(kubelets_, socket_process_, &Kubelet::process);
  if (socket_process_ == 0 || asked == kubelets_.end() || seen_kubelet() != action.kubelet) {
    see_kubelet_ = true;
    return post({News::Kind::kRegistered, 0, 0, Result::kNobodyListens});
  }
  for (const Client& client : asked->clients) {
    if (client.broken || client.overdue) continue;
    const bool former = we_.former_streams > 0 && Caller{client.incarnation, asked->process} == we_.former;
    if (client.stage == Client::Stage::kStreaming && !(scene_->several && former))
      error_ = "a Register while a stream to this kubelet lives";
    if ((client.stage == Client::Stage::kDialing || client.stage == Client::Stage::kConnected) &&
        !client.closed)
      error_ = "a Register while a stream to this kubelet is pending";
  }
  if (std::exchange(told_, incarnation_) == incarnation_) error_ = "a name that was told is told again";
  const auto free = std::ranges::find(asked->clients, Client::Stage::kNone, &Client::stage);
  if (free == asked->clients.end()) {  // the model's limit
    post({News::Kind::kRegistered, 0, 0, Result::kRefused});
    return tell(Asked{asked->process});
  }
  *free = {.stage = Client::Stage::kDialing, .incarnation = incarnation_};
  const auto client = static_cast<std::uint8_t>(free - asked->clients.begin() + 1);
  if (!scene_->several) asked->named = client;
  call_ = {.open = true, .kubelet = static_cast<std::uint8_t>(asked - kubelets_.begin()), .client = client};
  tell(Asked{asked->process});
}

void NodeModel::carry_out(const FindKubeletProcess&) {
  if (kubelet_socket_ == 0 || socket_process_ == 0) return tell(KubeletProcess{std::nullopt});
  tell(KubeletProcess{socket_process_});
}

void NodeModel::carry_out(const EndStreams& action) {
  if (!action.former_only && scene_->several && !scene_->finds)
    error_ = "streams end although another registration may live beside them";
  if (action.former_only && we_.streams + we_.former_streams == 0)
    error_ = "the former streams end, and there is no other";
  for (Kubelet& kubelet : kubelets_)
    for (Client& client : kubelet.clients)
      if (client.stage == Client::Stage::kStreaming && !client.broken &&
          !(action.former_only && client.incarnation == incarnation_))
        end_stream(kubelet, client);
}

// Checks the rules that hold whenever all events have been received.
void NodeModel::check_rules() {
  if (error_ != nullptr) return;
  unsigned streams = 0;
  unsigned former_streams = 0;
  for (const Kubelet& kubelet : kubelets_) {
    for (const Client& client : kubelet.clients) {
      if (client.stage != Client::Stage::kStreaming || client.broken || incarnation_ == 0) continue;
      streams += Caller{client.incarnation, kubelet.process} == Caller{we_.incarnation, we_.process};
      former_streams += Caller{client.incarnation, kubelet.process} == we_.former;
    }
  }
  if (we_.former_streams > 0 && we_.former_streams != former_streams)
    error_ = "the former streams that we count are not those that live";
  if (we_.streams != streams) error_ = "the streams that we count are not those that live";
  const bool waits = we_.due.has_value();
  switch (we_.phase) {
    case Phase::kWaiting:
      if (we_.kubelet) error_ = "we wait for a kubelet, and one is there";
      if (streams > 0) error_ = "we wait for a kubelet, and its stream lives";
      break;
    case Phase::kBinding:
      error_ = "a socket is being made for ever";
      break;
    case Phase::kAsking:
      if (!call_.open) error_ = "an answer is waited for, and nobody was asked";
      break;
    case Phase::kAttached:
      if (streams == 0) error_ = "attached without a stream";
      break;
    case Phase::kAnnounced:
      break;
    case Phase::kPostponed:
    case Phase::kExpecting:
    case Phase::kLingering:
    case Phase::kBackingOff:
      if (!waits) error_ = "nothing leads out of this state";
      if ((streams > 0) != (we_.phase == Phase::kLingering)) error_ = "a stream lives, and we do not say so";
      break;
  }
}

}  // namespace plughost::test
