#include "daemon/telemetry/http_server.hpp"

#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "base/system/acceptor.hpp"
#include "daemon/telemetry/http_connection.hpp"
#include "daemon/telemetry/metrics.hpp"
#include "daemon/telemetry/orders.hpp"
#include "embedded/page.hpp"

namespace plughost {
namespace {

// A text/event-stream: `status` after each change, `change` for each event, and `alive` regularly. Thread of
// the HTTP server only.
class HttpStream {
 public:
  // The interval of `alive` messages: a page must be able to detect a lost connection.
  static constexpr std::chrono::seconds kAlive{15};

  struct Terms {
    bool statuses = false;
    std::uint64_t after = 0;  // the stream begins with the event after this number
  };

  // Begins the answer. The arguments must outlive this object.
  HttpStream(EventLoop& loop, StatusRequests& requests, HttpConnection& connection, Terms terms);
  ~HttpStream();
  HttpStream& operator=(HttpStream&&) = delete;

  // Sends waiting messages one by one. A slow client costs nothing and skips to the newest status.
  void advance();

 private:
  class Watcher;
  void keep_alive();

  StatusRequests& requests_;
  HttpConnection& connection_;
  const bool statuses_;
  std::uint64_t status_told_ = 0;
  std::uint64_t event_told_;
  Lifetime lifetime_;
  std::shared_ptr<Watcher> watcher_;
};

// Wakes the stream. Several changes before the stream runs count as one.
class HttpStream::Watcher final : public FeedReader {
 public:
  Watcher(EventLoop::Poster post, std::function<void()> awake, std::function<void()> closed)
      : post_(std::move(post)), awake_(std::move(awake)), closed_(std::move(closed)) {}

  void on_news() override {
    if (!waking_.exchange(true)) post_(awake_);
  }
  void on_closed() override { post_(closed_); }
  // Call it when the stream begins to run: later changes wake the stream again.
  void looks() { waking_ = false; }

 private:
  EventLoop::Poster post_;
  std::function<void()> awake_;
  std::function<void()> closed_;
  std::atomic<bool> waking_{false};
};

HttpStream::HttpStream(EventLoop& loop, StatusRequests& requests, HttpConnection& connection, Terms terms)
    : requests_(requests),
      connection_(connection),
      statuses_(terms.statuses),
      status_told_(requests.newest().number),
      event_told_(terms.after),
      watcher_(std::make_shared<Watcher>(loop.poster(), lifetime_.bound([this] { advance(); }),
                                         lifetime_.bound([this] { connection_.end(); }))) {
  connection_.send("retry: 2000\n\n");
  keep_alive();
  requests_.history().readers().subscribe(watcher_);
  if (statuses_) {
    requests_.readers().subscribe(watcher_);
    requests_.watch();
  }
  advance();
}

HttpStream::~HttpStream() {
  requests_.readers().unsubscribe(watcher_.get());
  requests_.history().readers().unsubscribe(watcher_.get());
}

void HttpStream::keep_alive() {
  connection_.expect(kAlive, [this] {
    if (!connection_.behind()) connection_.send(event_text("alive", "1"));
    keep_alive();
  });
}

void HttpStream::advance() {
  watcher_->looks();
  while (!connection_.behind()) {
    if (const auto record = requests_.history().after(event_told_)) {
      event_told_ = record->number;
      connection_.send(event_text("change", record->json().dump()));
    } else if (const auto newest = requests_.newest(); statuses_ && newest.number != status_told_) {
      status_told_ = newest.number;
      connection_.send(event_text("status", newest.snapshot->json()));
    } else {
      return;
    }
    keep_alive();
  }
}

using Number = std::uint64_t;  // number of a connection, in the order of arrival

// The limit for probes and scrapes, which end after some seconds. Users may wait for a kubelet or a reload.
constexpr std::chrono::seconds kDeadline{5};
constexpr std::chrono::seconds kPeoplesDeadline{15};

HttpReply silent() { return text_reply(503, "plughost does not respond in time: see its log\n"); }

bool is_administrator(uid_t user) { return user == 0 || user == ::geteuid(); }

}  // namespace

// The state of the server's thread. Calls posted to it are dropped after its loop has ended.
struct HttpServer::Core {
  struct Client final : HttpConnection::Owner {
    Client(Core& its_core, Number its_number, const ucred& peer, UniqueFd socket)
        : core(its_core),
          number(its_number),
          user(peer.uid),
          process(peer.pid),
          connection(core.loop, std::move(socket), *this) {}

    void on_request(const HttpRequest& request) override { core.on_request(number, request); }
    void on_drained() override {
      if (stream) stream->advance();
    }
    void on_gone() override {
      if (is_successor) core.report_lost();
      core.remove(number);
    }
    bool lasts() const { return stream || is_successor; }

    Core& core;
    const Number number;
    const uid_t user;
    const pid_t process;  // 0: in another pid namespace
    HttpConnection connection;
    std::unique_ptr<HttpStream> stream;  // set if the client receives a stream
    bool is_successor = false;           // it takes over until its connection ends
  };
  using Clients = std::map<Number, Client>;

  Core(EventLoop::Poster daemon_loop, Log& log, StatusRequests& its_requests, Listening listening)
      : daemon(std::move(daemon_loop)),
        requests(its_requests),
        door(listening.door),
        acceptor(
            loop, std::move(listening.socket),
            [this](UniqueFd connection, const ucred& peer) { add(std::move(connection), peer); },
            [&log, name = std::move(listening.name)](const std::string& what) {
              log.warn(what, {{"socket", name}});
            }) {}

  void run() {
    loop.run();
    for (auto& [number, client] : clients)
      client.connection.reply(text_reply(503, "plughost is stopping, or listens elsewhere now\n"));
    clients.clear();
  }

  void add(UniqueFd connection, const ucred& peer);
  bool make_room(uid_t user);
  void remove(Number number);

  void on_request(Number number, const HttpRequest& request);
  void query_status(Number number, const std::string& path);
  void carry_out(Number number, Order order);
  void carry_out(Number number, HandOverStep step);
  void on_handing_over(Number number, const Json& answer);
  void report_lost() {
    requests.request_hand_over(HandOverStep::kLost, 0, [](const Json&) {});
  }
  void ask_pulse(Number number);
  void on_pulse();
  void follow(Number number, HttpStream::Terms terms);
  // Returns a callback for the daemon's loop that makes a reply and posts it here.
  // `within` is the deadline; nullopt: deadline().
  template <typename Made>
  auto later(Number number, Made made, std::optional<std::chrono::seconds> within = {});
  void reply(Number number, HttpReply reply);

  HttpConnection* find(Number number) {
    const auto found = clients.find(number);
    return found == clients.end() ? nullptr : &found->second.connection;
  }
  std::chrono::seconds deadline() const { return door == HttpDoor::kControl ? kPeoplesDeadline : kDeadline; }

  const EventLoop::Poster daemon;
  StatusRequests& requests;
  const HttpDoor door;
  EventLoop loop;
  Acceptor acceptor;
  Pulse pulse;
  std::set<Number> probes;  // connections that wait for the pulse
  Number newest = 0;
  Clients clients;
};

void HttpServer::Core::add(UniqueFd connection, const ucred& peer) {
  if (!make_room(peer.uid)) return;
  const Number number = ++newest;
  try {
    clients.try_emplace(number, *this, number, peer, std::move(connection));
  } catch (const std::system_error&) {  // the user's epoll limit: the socket is closed
  }
}

bool HttpServer::Core::make_room(uid_t user) {
  if (clients.size() < kMostConnections) return true;
  const auto oldest = [&](auto&& fits) {
    return std::ranges::find_if(clients, [&](const auto& each) {
      return fits(each.second) && (is_administrator(user) || !is_administrator(each.second.user));
    });
  };
  auto found = oldest([](const Client& client) { return client.connection.idle(); });
  if (found == clients.end()) found = oldest([](const Client& client) { return !client.lasts(); });
  if (found == clients.end()) return false;
  remove(found->first);
  return true;
}

void HttpServer::Core::remove(Number number) {
  probes.erase(number);
  clients.erase(number);
}

void HttpServer::Core::reply(Number number, HttpReply reply) {
  if (HttpConnection* const connection = find(number)) connection->reply(std::move(reply));
}

void HttpServer::Core::on_request(Number number, const HttpRequest& request) {
  if (std::optional<HttpReply> refused = refusal(request, door)) return reply(number, std::move(*refused));
  const std::string& path = request.path;
  if (request.method == "POST") {
    const auto order = order_of(request);
    if (!order) return reply(number, not_found(door));
    if (const auto* const error = std::get_if<std::string>(&*order))
      return reply(number, text_reply(400, *error + '\n'));
    return carry_out(number, std::get<Order>(*order));
  }
  const auto before = [&](std::size_t fallback) {
    const std::uint64_t last = requests.history().newest();
    return last - std::min<std::uint64_t>(last, number_in_query(request.query, "limit", fallback));
  };
  if (path == "/") return reply(number, {200, "text/html; charset=utf-8", HttpBody::lasting(kPage)});
  if (path == "/healthz") return ask_pulse(number);
  if (path == "/stream") return follow(number, {.statuses = true, .after = before(0)});
  if (path == "/events") return follow(number, {.after = before(0)});
  if (path == "/events.json") return reply(number, events(requests.history(), before(LogHistory::kMost)));
  if (path == "/metrics" || path == "/status.json" || path == "/readyz") return query_status(number, path);
  reply(number, not_found(door));
}

template <typename Made>
auto HttpServer::Core::later(Number number, Made made, std::optional<std::chrono::seconds> within) {
  find(number)->expect(within.value_or(deadline()), [this, number] { reply(number, silent()); });
  return [this, number, made = std::move(made), post = loop.poster()](const auto& told) {
    post([this, number, text = made(told)] { reply(number, text); });
  };
}

void HttpServer::Core::query_status(Number number, const std::string& path) {
  using Pointer = StatusRequests::SnapshotPointer;
  if (path == "/readyz")
    return requests.query_status(
        WithHolders::kNo, later(number, [](const Pointer& snapshot) { return ready(snapshot->status()); }));
  if (path == "/metrics")
    return requests.query_status(
        WithHolders::kIfToldSoon, later(number, [](const Pointer& snapshot) {
          return HttpReply{200, kMetricsType, HttpBody::of(metrics_text(snapshot->status()))};
        }));
  requests.query_status(WithHolders::kYes, later(number, [](const Pointer& snapshot) {
                          return HttpReply{200, kJsonType, HttpBody::of(snapshot, snapshot->json())};
                        }));
}

void HttpServer::Core::carry_out(Number number, Order order) {
  if (const auto* const reload = std::get_if<ReloadOrder>(&order))
    return requests.request_reload(*reload, later(number, [](const ReloadAnswer& answer) {
      return done_reply(answer.json(), !answer.errors.empty());
    }));
  if (std::holds_alternative<KeepOrder>(order))
    return requests.request_confirm(later(number, [](const std::string& error) {
      return done_reply(Json{{"error", error}}, !error.empty());
    }));
  if (const auto* const part = std::get_if<HandOverOrder>(&order)) return carry_out(number, part->step);
  if (!is_administrator(clients.at(number).user)) {
    const DrainAnswer refused{.error = "only root may take a device out of service, and back into it"};
    return reply(number, {403, kJsonType, HttpBody::of(refused.json().dump() + '\n')});
  }
  requests.request_drain(std::get<DrainOrder>(std::move(order)), later(number, [](const DrainAnswer& answer) {
                           return done_reply(answer.json(), !answer.error.empty());
                         }));
}

void HttpServer::Core::carry_out(Number number, HandOverStep step) {
  const Client& client = clients.at(number);
  if (!is_administrator(client.user))
    return reply(number, text_reply(403, "only root may replace the daemon by another one\n"));
  const auto made = [](const Json& answer) { return done_reply(answer, !answer["error"].text().empty()); };
  constexpr auto kWithin = HandOver::kStartLimit + HandOver::kLimit;
  if (step != HandOverStep::kBegin)
    return requests.request_hand_over(step, client.process, later(number, made, kWithin));
  requests.request_hand_over(step, client.process, [this, number, post = loop.poster()](const Json& answer) {
    post([this, number, answer] { on_handing_over(number, answer); });
  });
}

// The connection stays open: its end is the sign that the successor has failed.
void HttpServer::Core::on_handing_over(Number number, const Json& answer) {
  const auto found = clients.find(number);
  if (!answer["error"].text().empty()) return reply(number, done_reply(answer, true));
  if (found == clients.end()) return report_lost();
  HttpConnection& connection = found->second.connection;
  found->second.is_successor = connection.stream(kEventStreamType);
  connection.send(event_text("inheritance", answer.dump()));
}

// Queries only the daemon's loop: a kubelet that does not answer is no reason to restart the daemon.
void HttpServer::Core::ask_pulse(Number number) {
  probes.insert(number);
  find(number)->expect(Pulse::kAnswer, [this, number] {
    probes.erase(number);
    reply(number, pulse.alive(Pulse::Clock::now())
                      ? text_reply(200, "alive, and busy\n")
                      : text_reply(503, "plughost's loop does not respond: see its log\n"));
  });
  if (pulse.ask(Pulse::Clock::now())) daemon([this, post = loop.poster()] { post([this] { on_pulse(); }); });
}

void HttpServer::Core::on_pulse() {
  pulse.answered();
  for (const Number number : std::exchange(probes, {})) reply(number, text_reply(200, "alive\n"));
}

void HttpServer::Core::follow(Number number, HttpStream::Terms terms) {
  const auto follows = [](const auto& each) { return each.second.stream != nullptr; };
  if (std::ranges::count_if(clients, follows) >= kMostStreams)
    return reply(number, text_reply(503, std::to_string(kMostStreams) +
                                             " follow the status or the events already: end one of them\n"));
  Client& client = clients.at(number);
  if (client.connection.stream(kEventStreamType))
    client.stream = std::make_unique<HttpStream>(loop, requests, client.connection, terms);
}

HttpServer::Listening HttpServer::on_address(const std::string& address, const HttpServer* former) {
  const auto parsed = listen_address(address);
  const auto* const socket_address = std::get_if<SocketAddress>(&parsed);
  if (!socket_address) throw std::runtime_error("cannot listen on " + address + ": " + std::get<1>(parsed));
  try {
    return {.socket = listen_tcp(*socket_address, former ? former->core_->acceptor.socket() : -1),
            .door = socket_address->loopback ? HttpDoor::kLoopback : HttpDoor::kNetwork,
            .name = address};
  } catch (const std::system_error& exception) {
    throw std::runtime_error("cannot listen on " + address + ": " + exception.code().message());
  }
}

HttpServer::HttpServer(EventLoop& loop, Log& log, StatusRequests& requests, Listening listening)
    : core_(std::make_unique<Core>(loop.poster(), log, requests, std::move(listening))),
      thread_([core = core_.get()] { core->run(); }) {}

HttpServer::~HttpServer() {
  core_->loop.poster()([core = core_.get()] { core->loop.stop(); });
  thread_.join();
}

unsigned HttpServer::port() const {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  check(::getsockname(core_->acceptor.socket(), reinterpret_cast<sockaddr*>(&bound), &size), "getsockname");
  // Both address families have the port at the same offset.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
}

}  // namespace plughost
