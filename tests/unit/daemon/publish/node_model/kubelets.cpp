// Carries out the moves of kubelets.

#include <algorithm>
#include <utility>

#include "unit/daemon/publish/node_model/terms.hpp"

namespace plughost::test {

bool NodeModel::is_called(const Kubelet& kubelet, const Client& client) const {
  return call_.open && call_.client != 0 && &kubelets_[call_.kubelet] == &kubelet &&
         &kubelet.clients[call_.client - 1U] == &client;
}

void NodeModel::drop(Kubelet& kubelet, Client& client) {
  if (is_called(kubelet, client)) call_.client = 0;
  const auto index = static_cast<std::uint8_t>(&client - kubelet.clients.data());
  if (kubelet.named == index + 1) kubelet.named = 0;
  client = {};
}

void NodeModel::make_kubelets(const Move& move, Kubelet& kubelet, Client& client) {
  const auto answer = [&](Result result) {
    call_.open = false;
    post({News::Kind::kRegistered, 0, 0, result});
  };
  const bool called = is_called(kubelet, client);
  switch (move.kind) {
    case Kind::kDials:
      client.stage = Client::Stage::kConnected;
      client.idle = 0;
      if (called) call_.connected = true;
      if (!scene_->answers_first) post({News::Kind::kDialed, client.incarnation, kubelet.process});
      break;
    case Kind::kRefuses:
    case Kind::kDialFails:
      if (!scene_->several) kubelet.named = 0;  // by name, although a different client may have it
      if (scene_->finds) post({News::Kind::kRefused, client.incarnation, kubelet.process});
      drop(kubelet, client);
      if (called) answer(Result::kRefused);
      break;
    case Kind::kAnswers:
      if (call_.client != 0) kubelet.clients[call_.client - 1U].idle = 0;
      answer(Result::kAccepted);
      break;
    case Kind::kOpensStream:
      client.idle = 0;
      client.stage = client.closed ? Client::Stage::kEnding : Client::Stage::kStreaming;
      if (!client.closed) post({News::Kind::kOpened, client.incarnation, kubelet.process});
      break;
    case Kind::kNoticesEnd:
      disconnect_named(kubelet, client);
      drop(kubelet, client);
      break;
    case Kind::kFinds: {
      const auto free = std::ranges::find(kubelet.clients, Client::Stage::kNone, &Client::stage);
      if (free == kubelet.clients.end()) {
        error_ = "the model has no room for so many clients";
        return;
      }
      *free = {.stage = Client::Stage::kConnected, .incarnation = incarnation_};
      kubelet.named = static_cast<std::uint8_t>(free - kubelet.clients.begin() + 1);
      kubelet.found = incarnation_;
      post({News::Kind::kDialed, incarnation_, kubelet.process});
      break;
    }
    case Kind::kLoses:
    case Kind::kEndsStream:
      end_stream(kubelet, client);
      break;
    default:
      break;
  }
}

void NodeModel::end_stream(Kubelet& kubelet, Client& client) {
  client.stage = Client::Stage::kEnding;
  client.idle = 0;
  if (!client.broken) post({News::Kind::kClosed, client.incarnation, kubelet.process});
}

void NodeModel::disconnect_named(Kubelet& kubelet, const Client& but) {
  if (kubelet.named == 0) return;
  Client& named = kubelet.clients[kubelet.named - 1U];
  kubelet.named = 0;
  if (&named == &but) return;
  if (named.stage == Client::Stage::kStreaming)
    end_stream(kubelet, named);
  else if (named.stage == Client::Stage::kConnected)
    named.closed = true;
  // A client that still dials is not closed, and gets a stream that the kubelet's table does not know.
}

void NodeModel::start_kubelet() {
  std::uint8_t process = 1;
  for (const Kubelet& each : kubelets_)
    process = std::max(process, static_cast<std::uint8_t>(each.process + 1));
  for (const News& news : news_)
    if (news.process < kStranger) process = std::max(process, static_cast<std::uint8_t>(news.process + 1));
  for (const pid_t known : {we_.process, we_.successor, we_.former.process})
    process = std::max(process, static_cast<std::uint8_t>(known < kStranger ? known + 1 : 0));
  Kubelet& free = kubelets_[kubelets_[0].process == 0 ? 0 : 1];
  free = {.process = process};
  if (!scene_->finds || !directory_) {
    kubelet_socket_ = 250;
    see_kubelet_ = true;
  }
  directory_ = true;
  socket_process_ = process;
  renamed_process_ = 0;
  if (!scene_->finds) {
    own_socket_ = false;
    see_socket_ = true;
  }
}

void NodeModel::kill_kubelet(std::size_t index) {
  Kubelet& kubelet = kubelets_[index];
  for (const Client& client : kubelet.clients)
    if (client.stage == Client::Stage::kStreaming && !client.broken)
      post({News::Kind::kClosed, client.incarnation, kubelet.process});
  if (call_.open && call_.kubelet == index) {
    call_.open = false;
    post({News::Kind::kRegistered, 0, 0, Result::kWentAway});
  }
  if (socket_process_ == kubelet.process) socket_process_ = 0;
  if (renamed_process_ == kubelet.process) renamed_process_ = 0;
  kubelet = {};
}

}  // namespace plughost::test
