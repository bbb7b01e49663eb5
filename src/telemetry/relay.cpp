#include "telemetry/relay.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <map>
#include <utility>

#include "base/event_loop.hpp"
#include "telemetry/header_limit.hpp"

namespace plughost {

namespace {

// Then others have their turn.
constexpr unsigned kRoundsPerTurn = 16;

enum class Flow { kWaits, kGoesOn, kEnds };

// One direction.
struct Pipe {
  int from;
  int to;
  std::array<char, 16 << 10> bytes;
  std::size_t begin = 0;
  std::size_t end = 0;

  bool empty() const { return begin == end; }
  std::string_view content() const { return {bytes.data() + begin, end - begin}; }

  static Flow blocked() {
    const bool later = errno == EAGAIN || errno == EWOULDBLOCK;
    return later ? Flow::kWaits : errno == EINTR ? Flow::kGoesOn : Flow::kEnds;
  }
  Flow read() {
    const ssize_t got = ::recv(from, bytes.data(), bytes.size(), 0);
    if (got < 0) return blocked();
    begin = 0;
    end = static_cast<std::size_t>(got);
    return got == 0 ? Flow::kEnds : Flow::kGoesOn;
  }
  Flow write() {
    const ssize_t sent = ::send(to, bytes.data() + begin, end - begin, MSG_NOSIGNAL);
    if (sent < 0) return blocked();
    begin += static_cast<std::size_t>(sent);
    return Flow::kGoesOn;
  }
};

class Connection {
 public:
  Connection(EventLoop& loop, UniqueFd client, UniqueFd server, const std::function<void()>& turn)
      : client_(std::move(client)),
        server_(std::move(server)),
        to_server_{.from = client_.get(), .to = server_.get(), .bytes = {}},
        to_client_{.from = server_.get(), .to = client_.get(), .bytes = {}},
        client_watch_(loop, client_.get(), kEvents, [turn](std::uint32_t) { turn(); }),
        server_watch_(loop, server_.get(), kEvents, [turn](std::uint32_t) { turn(); }) {}

  bool cut_off() const { return cut_off_; }

  // Carries what there is.
  Flow carry() {
    Flow flow = Flow::kGoesOn;
    for (unsigned i = 0; i < kRoundsPerTurn && flow == Flow::kGoesOn; ++i) {
      const Flow one = to_client_.empty() ? to_client_.read() : to_client_.write();
      const Flow other = to_server_.empty() ? read_client() : to_server_.write();
      if (one == Flow::kEnds || other == Flow::kEnds) return Flow::kEnds;
      if (one == Flow::kWaits && other == Flow::kWaits) flow = Flow::kWaits;
    }
    return flow;
  }

 private:
  static constexpr std::uint32_t kEvents = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;

  Flow read_client() {
    const Flow flow = to_server_.read();
    if (flow != Flow::kGoesOn) return flow;
    cut_off_ = !limit_.pass(to_server_.content());
    return cut_off_ ? Flow::kEnds : Flow::kGoesOn;
  }

  UniqueFd client_;
  UniqueFd server_;
  Pipe to_server_;
  Pipe to_client_;
  HeaderLimit limit_;
  bool cut_off_ = false;
  IoWatch client_watch_;
  IoWatch server_watch_;
};

}  // namespace

struct Relay::Core {
  explicit Core(CutOff on_cut_off)
      : cut_off(std::move(on_cut_off)), last_deadline(loop, [this] { loop.stop(); }) {}

  void add(UniqueFd client, UniqueFd server) {
    const std::uint64_t number = ++newest;
    try {
      connections[number] = std::make_unique<Connection>(loop, std::move(client), std::move(server),
                                                         [this, number] { carry(number); });
    } catch (const std::system_error&) {  // epoll's limit for a user
      return remove(number);
    }
    carry(number);
  }

  void carry(std::uint64_t number) {
    const auto found = connections.find(number);
    if (found == connections.end()) return;
    const Flow flow = found->second->carry();
    if (flow == Flow::kGoesOn) return loop.poster()([this, number] { carry(number); });
    if (flow == Flow::kWaits) return;
    const bool told = found->second->cut_off();
    remove(number);
    if (told) cut_off();
  }

  void remove(std::uint64_t number) {
    connections.erase(number);
    if (ending && connections.empty()) loop.stop();
  }

  void end() {
    ending = true;
    if (connections.empty()) return loop.stop();
    last_deadline.arm(kLastDeadline);
  }

  EventLoop loop;
  CutOff cut_off;
  std::map<std::uint64_t, std::unique_ptr<Connection>> connections;
  std::uint64_t newest = 0;
  bool ending = false;
  Timer last_deadline;
};

Relay::Relay(CutOff on_cut_off)
    : core_(std::make_unique<Core>(std::move(on_cut_off))), thread_([this] { core_->loop.run(); }) {}

Relay::~Relay() {
  core_->loop.poster()([this] { core_->end(); });
  thread_.join();
}

UniqueFd Relay::add(UniqueFd client) {
  std::array<int, 2> ends{};
  check(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), "socketpair");
  UniqueFd servers_end{ends[0]};
  const auto both = std::make_shared<std::pair<UniqueFd, UniqueFd>>(std::move(client), UniqueFd{ends[1]});
  core_->loop.poster()([this, both] { core_->add(std::move(both->first), std::move(both->second)); });
  return servers_end;
}

}  // namespace plughost
