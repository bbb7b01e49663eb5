#include "unit/publication/node_model.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

namespace plughost::test {

namespace {

using namespace attachment;
using namespace std::chrono_literals;
using Kind = Move::Kind;
using Milliseconds = std::chrono::milliseconds;
using Result = RegistrationClient::Result;

constexpr Time kNow{1000h};

// What the kubelet's contract promises, in ms.
constexpr std::int32_t kDialing = 10'000;
constexpr std::int32_t kOpening = 500;     // the stream, once it has dialed and answered
constexpr std::int32_t kForgetting = 100;  // the name's last owner, after an end of the kubelet's own
constexpr std::int32_t kNoticing = 500;    // that we are gone
constexpr auto kDeadline = static_cast<std::int32_t>(Milliseconds(RegistrationClient::kDeadline).count());
constexpr std::int32_t kWaking = 100;  // what was due while the machine slept
constexpr std::int32_t kLongAgo = 100'000;

FileIdentity identity(std::uint8_t number) { return {.device = 1, .inode = number, .changed_ns = number}; }

constexpr std::uint64_t bit(Kind kind) { return std::uint64_t{1} << static_cast<unsigned>(kind); }

std::int64_t ms(Time::duration duration) {
  return std::chrono::duration_cast<Milliseconds>(duration).count();
}

}  // namespace

NodeModel::NodeModel(const Scene& scene) : scene_(&scene) {
  we_.registers = !scene.finds;
  for (const Kind kind : scene.happens) happens_ |= bit(kind);
}

// Moves.

void NodeModel::moves(std::vector<Move>& found) const {
  found.clear();
  if (waking_) {
    for (std::size_t i = 0; i < news_count_; ++i) {
      const News& news = news_[i];
      // What one connection says stays in order; and connections are taken in order.
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
  // An old kubelet that dials seconds after its answer, while its socket goes or the machine sleeps, looks
  // like one that is gone.
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
  // Nobody sleeps again before he has heard what happened meanwhile.
  if (!stopped_ && !we_.was_late) found.push_back({Kind::kStopped});
  if (incarnation_ != 0 && most_broken < 2) {
    found.push_back({Kind::kKilled});
    found.push_back({Kind::kRemoved});
  }
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

// Need it not happen?
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

// How long the kubelet may take for what is next.
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

// The kubelet.

bool NodeModel::is_called(const Kubelet& kubelet, const Client& client) const {
  return call_.open && call_.client != 0 && &kubelets_[call_.kubelet] == &kubelet &&
         &kubelet.clients[call_.client - 1U] == &client;
}

// It is no client any more.
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
      kubelet.named = 0;  // by name, whoever it is now
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
        trouble_ = "the model has no room for so many clients";
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
  // One that still dials knows nothing of it, and will have a stream that the table does not know.
}

void NodeModel::start_kubelet() {
  std::uint8_t process = 1;
  for (const Kubelet& each : kubelets_)
    process = std::max(process, static_cast<std::uint8_t>(each.process + 1));
  for (const News& news : news_)
    if (news.process < kStranger) process = std::max(process, static_cast<std::uint8_t>(news.process + 1));
  for (const pid_t known : {we_.process, we_.successor})
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

// Us.

void NodeModel::restart_us(bool removed) {
  we_ = {};
  we_.registers = !scene_->finds;
  if (removed) we_.not_before = kNow + 500ms;
  call_ = {};
  own_socket_ = false;
  read_ = 0;
  incarnation_ = 0;
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
    trouble_ = "the model has no room for so many events";
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
      for (Kubelet& kubelet : kubelets_)  // it counts from now on, however late it is
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
  while (busy() && trouble_ == nullptr) {
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
    trouble_ = "another socket for the kubelet to find while its stream lives, or is pending";
  if (action.new_name || !own_socket_) {
    std::uint8_t last = std::max(incarnation_, static_cast<std::uint8_t>(we_.incarnation));
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
  if (call_.open) trouble_ = "a Register while another is not answered";
  if (kNow < we_.not_before) trouble_ = "a Register before its time";
  const auto asked = std::ranges::find(kubelets_, socket_process_, &Kubelet::process);
  if (socket_process_ == 0 || asked == kubelets_.end() || seen_kubelet() != action.kubelet) {
    see_kubelet_ = true;
    return post({News::Kind::kRegistered, 0, 0, Result::kNobodyListens});
  }
  for (const Client& client : asked->clients) {
    if (client.broken || client.overdue) continue;
    if (client.stage == Client::Stage::kStreaming)
      trouble_ = "a Register while a stream to this kubelet lives";
    if ((client.stage == Client::Stage::kDialing || client.stage == Client::Stage::kConnected) &&
        !client.closed)
      trouble_ = "a Register while a stream to this kubelet is pending";
  }
  const auto free = std::ranges::find(asked->clients, Client::Stage::kNone, &Client::stage);
  if (free == asked->clients.end()) {  // the model's limit
    post({News::Kind::kRegistered, 0, 0, Result::kRefused});
    return tell(Asked{asked->process});
  }
  *free = {.stage = Client::Stage::kDialing, .incarnation = incarnation_};
  asked->named = static_cast<std::uint8_t>(free - asked->clients.begin() + 1);
  call_ = {
      .open = true, .kubelet = static_cast<std::uint8_t>(asked - kubelets_.begin()), .client = asked->named};
  tell(Asked{asked->process});
}

void NodeModel::carry_out(const FindKubeletProcess&) {
  if (kubelet_socket_ == 0 || socket_process_ == 0) return tell(KubeletProcess{std::nullopt});
  tell(KubeletProcess{socket_process_});
}

// What holds whenever we have heard everything.
void NodeModel::check_rules() {
  if (trouble_ != nullptr) return;
  unsigned streams = 0;
  for (const Kubelet& kubelet : kubelets_) {
    if (kubelet.process == 0 || kubelet.process != we_.process) continue;
    for (const Client& client : kubelet.clients)
      streams += client.stage == Client::Stage::kStreaming && !client.broken && incarnation_ != 0 &&
                 client.incarnation == we_.incarnation;
  }
  if (we_.streams != streams) trouble_ = "the streams that we count are not those that live";
  const bool waits = we_.due.has_value();
  switch (we_.phase) {
    case Phase::kWaiting:
      if (we_.kubelet) trouble_ = "we wait for a kubelet, and one is there";
      if (streams > 0) trouble_ = "we wait for a kubelet, and its stream lives";
      break;
    case Phase::kBinding:
      trouble_ = "a socket is being made for ever";
      break;
    case Phase::kAsking:
      if (!call_.open) trouble_ = "an answer is waited for, and nobody was asked";
      break;
    case Phase::kAttached:
      if (streams == 0) trouble_ = "attached without a stream";
      break;
    case Phase::kAnnounced:
      break;
    case Phase::kPostponed:
    case Phase::kExpecting:
    case Phase::kLingering:
    case Phase::kBackingOff:
      if (!waits) trouble_ = "nothing leads out of this state";
      if ((streams > 0) != (we_.phase == Phase::kLingering))
        trouble_ = "a stream lives, and we do not say so";
      break;
  }
}

// The end of all provocations.

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
  // One that cannot be reached ends, and another comes. An older one may go on as it is.
  const auto newest = static_cast<std::uint8_t>(node.kubelets_[1].process != 0 ? 1 : 0);
  const bool there = node.kubelets_[newest].process != 0;
  if (!there || node.kubelets_[newest].process != node.socket_process_ || !node.directory_) {
    if (there) node.make({Kind::kDies, newest});
    node.make({Kind::kStarts});
  }
  Milliseconds passed{0};
  std::vector<Move> scratch;
  for (int i = 0; i < 300 && node.trouble_ == nullptr; ++i) {
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

// Is there a Register without its stream, with us, with a kubelet, or with what we have not heard yet?
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
  // Who has refused us before is asked again when that was to be.
  if (we_.due && (we_.phase == Phase::kBackingOff || we_.phase == Phase::kPostponed))
    time += std::max(Milliseconds(ms(*we_.due - kNow)), 0ms);
  // An attempt of before may still fail, once, and makes us wait from then on.
  if (attempt_is_open()) time += Backoff(we_.refused).next();
  // Nothing tells that an old kubelet's dialing has failed.
  if (scene_->answers_first) time += kGrace + kStreamWatchdog;
  return time;
}

// Numbers.

void NodeModel::tidy() {
  // Clients and kubelets move up.
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

  // What is never read again.
  we_.searching_since = kNow;
  we_.not_before = std::max(we_.not_before, kNow);
  we_.attached_since = we_.streams > 0 ? std::max(we_.attached_since, kNow - Time::duration(kSettled)) : kNow;
  if (we_.phase != Phase::kAsking) we_.stream_lost = false;
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
  incarnations(incarnation_);
  processes(we_.process);
  processes(we_.successor);
  processes(socket_process_);
  processes(renamed_process_);
  for (Kubelet& kubelet : kubelets_) {
    processes(kubelet.process);
    incarnations(kubelet.found);
    for (Client& client : kubelet.clients) incarnations(client.incarnation);
  }
  incarnations(read_);
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
      we_.successor, we_.dialed, we_.streams, we_.stream_lost, ms(kNow - we_.attached_since),
      unreachable.next().count(), refused.next().count());
  add(stopped_, waking_, directory_, kubelet_socket_, socket_process_, renamed_process_, incarnation_,
      own_socket_, read_, see_kubelet_, see_socket_, call_.open, call_.connected, call_.kubelet, call_.client,
      call_.age, scene_->answers_first, scene_->finds);
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
      return client + " is forgotten, and whoever has its name is disconnected";
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
