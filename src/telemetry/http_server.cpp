#include "telemetry/http_server.hpp"

#include <netinet/in.h>
#include <sys/epoll.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "embedded/page.hpp"
#include "telemetry/http_connection.hpp"
#include "telemetry/http_reply.hpp"
#include "telemetry/listen_address.hpp"
#include "telemetry/metrics.hpp"
#include "telemetry/pulse.hpp"

namespace plughost {

namespace {

using Number = std::uint64_t;  // of a connection, in the order in which they came

constexpr std::chrono::seconds kDeadline{5};
// A page must hear something now and then, to know a silence from a connection that is lost.
constexpr std::chrono::seconds kAlive{15};
constexpr std::chrono::milliseconds kNoDescriptors{100};

HttpReply silent() {
  return text_reply(503, "plughost does not answer in time: look into its log\n");
}

ListenAddress parsed(const std::string& address) {
  if (const auto found = listen_address(address)) return *found;
  throw std::runtime_error("cannot listen on " + address + ": it is no IP address with a port");
}

UniqueFd listening(const std::string& address, const ListenAddress& parsed, int beside) {
  try {
    return listen_tcp(parsed, beside);
  } catch (const std::system_error& error) {
    throw std::runtime_error("cannot listen on " + address + ": " + error.code().message());
  }
}

// Wakes a page that watches: often while it is not awake yet is once.
class Watcher final : public FeedReader {
 public:
  Watcher(EventLoop::Poster post, std::function<void()> awake, std::function<void()> closed)
      : post_(std::move(post)), awake_(std::move(awake)), closed_(std::move(closed)) {}

  void on_news() override {
    if (!waking_.exchange(true)) post_(awake_);
  }
  void on_closed() override { post_(closed_); }
  // It looks now: what comes from here on wakes it again.
  void looks() { waking_ = false; }

 private:
  EventLoop::Poster post_;
  std::function<void()> awake_;
  std::function<void()> closed_;
  std::atomic<bool> waking_{false};
};

}  // namespace

// What lives in the server's thread; what is posted to it is dropped when its loop is gone.
struct HttpServer::Core {
  // A page that watches.
  struct Stream {
    std::shared_ptr<Watcher> watcher;
    std::uint64_t status_told = 0;
    std::uint64_t change_told = 0;
  };

  Core(EventLoop::Poster daemon_loop, Log& its_log, StatusRequests& its_requests, const std::string& text,
       const Core* former)
      : daemon(std::move(daemon_loop)),
        log(its_log),
        requests(its_requests),
        address(parsed(text)),
        socket(listening(text, address, former ? former->socket.get() : -1)),
        watch(loop, socket.get(), EPOLLIN | EPOLLET, [this](std::uint32_t) { accept(); }),
        accept_again(loop, [this] { accept(); }) {}

  void run() {
    loop.run();
    for (auto& [number, connection] : connections) connection->reply(silent());
    while (!streams.empty()) end_stream(streams.begin()->first);
    connections.clear();
  }

  void accept();
  void add(UniqueFd connection);
  void make_room();
  void remove(Number number);

  void on_request(Number number, const HttpRequest& request);
  void ask_status(Number number, const std::string& path);
  void ask_pulse(Number number);
  void on_pulse();
  void reply(Number number, HttpReply reply);

  void begin_stream(Number number);
  void advance(Number number);
  void keep_alive(Number number);
  void end_stream(Number number);

  HttpConnection* find(Number number) {
    const auto found = connections.find(number);
    return found == connections.end() ? nullptr : found->second.get();
  }

  const EventLoop::Poster daemon;
  Log& log;
  StatusRequests& requests;
  EventLoop loop;
  const ListenAddress address;
  const UniqueFd socket;
  IoWatch watch;
  Timer accept_again;
  bool in_trouble = false;
  Pulse pulse;
  std::set<Number> probes;  // that wait for the pulse
  Number newest = 0;
  std::map<Number, std::unique_ptr<HttpConnection>> connections;
  std::map<Number, Stream> streams;
};

void HttpServer::Core::accept() {
  for (;;) {
    UniqueFd connection{::accept4(socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
    if (connection) {
      in_trouble = false;
      add(std::move(connection));
      continue;
    }
    if (errno == EINTR || errno == ECONNABORTED) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return;
    const int error = errno;
    accept_again.arm(kNoDescriptors);
    if (!std::exchange(in_trouble, true))
      log.warn("connections to the page and the metrics cannot be accepted, and wait",
               {{"why", std::strerror(error)}});
    return;
  }
}

void HttpServer::Core::add(UniqueFd connection) {
  make_room();
  const Number number = ++newest;
  try {
    connections[number] = std::make_unique<HttpConnection>(
        loop, std::move(connection),
        HttpConnection::Hooks{
            .asked = [this, number](const HttpRequest& request) { on_request(number, request); },
            .drained = [this, number] { advance(number); },
            .gone = [this, number] { remove(number); }});
  } catch (const std::system_error&) {  // epoll's limit for a user
    connections.erase(number);
  }
}

void HttpServer::Core::make_room() {
  if (connections.size() < kMostConnections) return;
  auto oldest = std::ranges::find_if(connections, [](const auto& each) { return each.second->idle(); });
  if (oldest == connections.end())
    oldest =
        std::ranges::find_if(connections, [this](const auto& each) { return !streams.contains(each.first); });
  remove(oldest->first);
}

void HttpServer::Core::remove(Number number) {
  if (streams.contains(number)) end_stream(number);
  probes.erase(number);
  connections.erase(number);
}

void HttpServer::Core::reply(Number number, HttpReply reply) {
  if (HttpConnection* const connection = find(number)) connection->reply(std::move(reply));
}

void HttpServer::Core::on_request(Number number, const HttpRequest& request) {
  if (std::optional<HttpReply> refused = refusal(request, address.loopback))
    return reply(number, std::move(*refused));
  const std::string& path = request.path;
  if (path == "/") return reply(number, {200, "text/html; charset=utf-8", HttpBody::lasting(kPage)});
  if (path == "/healthz") return ask_pulse(number);
  if (path == "/stream") return begin_stream(number);
  if (path == "/events.json") return reply(number, events(requests.history()));
  if (path == "/metrics" || path == "/status.json" || path == "/readyz") return ask_status(number, path);
  reply(number, not_found());
}

void HttpServer::Core::ask_status(Number number, const std::string& path) {
  find(number)->expect(kDeadline, [this, number] { reply(number, silent()); });
  const WithHolders with = path == "/readyz"    ? WithHolders::kNo
                           : path == "/metrics" ? WithHolders::kIfToldSoon
                                                : WithHolders::kYes;
  requests.ask_status(
      with, [this, number, path, post = loop.poster()](const StatusRequests::SnapshotPointer& snapshot) {
        HttpReply made =
            path == "/metrics"  ? HttpReply{200, kMetricsType, HttpBody::of(metrics_text(snapshot->status()))}
            : path == "/readyz" ? ready(snapshot->status())
                                : HttpReply{200, kJsonType, HttpBody::of(snapshot, snapshot->json())};
        post([this, number, made = std::move(made)] { reply(number, made); });
      });
}

// The loop, and nothing behind it: a kubelet that does not answer is no reason to kill us.
void HttpServer::Core::ask_pulse(Number number) {
  probes.insert(number);
  find(number)->expect(Pulse::kAnswer, [this, number] {
    probes.erase(number);
    reply(number, pulse.alive(Pulse::Clock::now())
                      ? text_reply(200, "alive, and busy\n")
                      : text_reply(503, "plughost's loop does not answer: look into its log\n"));
  });
  if (pulse.ask(Pulse::Clock::now())) daemon([this, post = loop.poster()] { post([this] { on_pulse(); }); });
}

void HttpServer::Core::on_pulse() {
  pulse.answered();
  for (const Number number : std::exchange(probes, {})) reply(number, text_reply(200, "alive\n"));
}

void HttpServer::Core::begin_stream(Number number) {
  if (streams.size() >= kMostStreams) return reply(number, text_reply(503, "too many pages watch\n"));
  if (!find(number)->stream(kEventStreamType)) return;
  const auto watcher = std::make_shared<Watcher>(
      loop.poster(), [this, number] { advance(number); },
      [this, number] {
        if (HttpConnection* const connection = find(number)) connection->end();
      });
  streams[number] = {watcher, requests.newest().number, requests.history().newest()};
  requests.readers().subscribe(watcher);
  requests.history().readers().subscribe(watcher);
  requests.watch();
  find(number)->tell("retry: 2000\n\n");
  keep_alive(number);
}

void HttpServer::Core::keep_alive(Number number) {
  find(number)->expect(kAlive, [this, number] {
    if (!find(number)->behind()) find(number)->tell(event_text("alive", "1"));
    keep_alive(number);
  });
}

// One message after the other: who reads slowly costs nothing, and is told what is newest then.
void HttpServer::Core::advance(Number number) {
  const auto found = streams.find(number);
  HttpConnection* const connection = find(number);
  if (found == streams.end() || connection == nullptr) return;
  Stream& stream = found->second;
  stream.watcher->looks();
  while (!connection->behind()) {
    if (const auto record = requests.history().after(stream.change_told)) {
      stream.change_told = record->number;
      connection->tell(event_text("change", record->json().dump()));
    } else if (const auto newest_status = requests.newest(); newest_status.number != stream.status_told) {
      stream.status_told = newest_status.number;
      connection->tell(event_text("status", newest_status.snapshot->json()));
    } else {
      return;
    }
    keep_alive(number);
  }
}

void HttpServer::Core::end_stream(Number number) {
  const auto watcher = std::move(streams.at(number).watcher);
  streams.erase(number);
  requests.readers().unsubscribe(watcher.get());
  requests.history().readers().unsubscribe(watcher.get());
}

HttpServer::HttpServer(EventLoop& loop, Log& log, StatusRequests& requests, const std::string& address,
                       const HttpServer* former)
    : core_(std::make_unique<Core>(loop.poster(), log, requests, address,
                                   former ? former->core_.get() : nullptr)),
      thread_([core = core_.get()] { core->run(); }) {}

HttpServer::~HttpServer() {
  core_->loop.poster()([core = core_.get()] { core->loop.stop(); });
  thread_.join();
}

unsigned HttpServer::port() const {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  check(::getsockname(core_->socket.get(), reinterpret_cast<sockaddr*>(&bound), &size), "getsockname");
  // The port stands at the same place in both families.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
}

}  // namespace plughost
