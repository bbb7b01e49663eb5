#include "telemetry/http_server.hpp"

#include <civetweb.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

#include "embedded/page.hpp"
#include "telemetry/metrics.hpp"

namespace plughost {

namespace {

constexpr std::chrono::seconds kDeadline{5};
// A page that went away is noticed when it is written to.
constexpr std::chrono::seconds kAlive{15};
constexpr std::chrono::milliseconds kKnock{5};
constexpr const char* kJsonType = "application/json";
constexpr const char* kTextType = "text/plain; charset=utf-8";

struct Reply {
  int code = 200;
  std::string_view type;
  std::string body;
};

const char* reason_of(int code) {
  switch (code) {
    case 200:
      return "OK";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 421:
      return "Misdirected Request";
    default:
      return "Service Unavailable";
  }
}

void send_head(mg_connection* connection, int code, std::string_view type, std::string_view more) {
  std::string head = "HTTP/1.1 " + std::to_string(code) + ' ' + reason_of(code) + "\r\nContent-Type: ";
  head += type;
  head +=
      "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
      "Connection: close\r\nContent-Security-Policy: ";
  head += kPagePolicy;
  head += "\r\n";
  head += more;
  head += "\r\n";
  mg_write(connection, head.data(), head.size());
}

int send(mg_connection* connection, const Reply& reply) {
  send_head(connection, reply.code, reply.type,
            "Content-Length: " + std::to_string(reply.body.size()) + "\r\n");
  if (std::string_view(mg_get_request_info(connection)->request_method) != "HEAD")
    mg_write(connection, reply.body.data(), reply.body.size());
  return reply.code;
}

Reply silent() {
  return {503, kTextType, "plughost does not answer in time: look into its log\n"};
}

Reply ready(const DaemonStatus& status) {
  std::string missing;
  for (const ResourceStatus& resource : status.resources) {
    if (resource.stage != Stage::kAttached) missing += "not attached: " + resource.name + "\n";
  }
  for (const EntryStatus& entry : status.entries) {
    const auto of_entry = [&](const ResourceStatus& resource) { return resource.entry == entry.name; };
    // One whose name has a placeholder may rightly have no resource.
    if (entry.scans_completed == 0 && std::ranges::none_of(status.resources, of_entry))
      missing += "not looked at yet: " + entry.name + "\n";
  }
  if (missing.empty()) return {200, kTextType, "every resource is attached\n"};
  return {503, kTextType, std::move(missing)};
}

std::string events_json(LogHistory& history) {
  Json::Array events;
  std::uint64_t told = 0;
  while (const auto record = history.after(told)) {
    told = record->number;
    events.push_back(record->json());
  }
  return Json(std::move(events)).dump();
}

// A thread that waits for the loop's answer.
class Waiter final : public FeedReader {
 public:
  void on_news() override {}
  void on_closed() override { take(nullptr); }
  void take(const StatusRequests::SnapshotPointer& snapshot) {
    const std::lock_guard lock(mutex_);
    snapshot_ = snapshot;
    done_ = true;
    ended_.notify_all();
  }
  StatusRequests::SnapshotPointer wait() {
    std::unique_lock lock(mutex_);
    ended_.wait_for(lock, kDeadline, [this] { return done_; });
    return snapshot_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  StatusRequests::SnapshotPointer snapshot_;
  bool done_ = false;
};

// nullptr: no answer in time, or none because the server ends.
StatusRequests::SnapshotPointer wait_for_status(StatusRequests& requests, Readers& ending) {
  const auto waiter = std::make_shared<Waiter>();
  ending.subscribe(waiter);
  requests.ask_status([waiter](const StatusRequests::SnapshotPointer& snapshot) { waiter->take(snapshot); });
  StatusRequests::SnapshotPointer snapshot = waiter->wait();
  ending.unsubscribe(waiter.get());
  return snapshot;
}

// What one page that watches is told.
class Watcher final : public FeedReader {
 public:
  void on_news() override { wake(false); }
  void on_closed() override { wake(true); }
  // False: it is the end.
  bool wait() {
    std::unique_lock lock(mutex_);
    woken_.wait_for(lock, kAlive, [this] { return news_ || closed_; });
    news_ = false;
    return !closed_;
  }

 private:
  void wake(bool close) {
    const std::lock_guard lock(mutex_);
    news_ = true;
    closed_ = closed_ || close;
    woken_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable woken_;
  bool news_ = false;
  bool closed_ = false;
};

bool send_event(mg_connection* connection, std::string_view name, const std::string& data) {
  const std::string text = "event: " + std::string(name) + "\ndata: " + data + "\n\n";
  return mg_write(connection, text.data(), text.size()) > 0;
}

// Until the page goes away, or the server.
void stream(mg_connection* connection, StatusRequests& requests, Readers& ending) {
  const auto watcher = std::make_shared<Watcher>();
  std::uint64_t status_told = requests.newest().number;
  std::uint64_t change_told = requests.history().newest();
  ending.subscribe(watcher);
  requests.readers().subscribe(watcher);
  requests.history().readers().subscribe(watcher);
  requests.watch();
  send_head(connection, 200, "text/event-stream", "");
  bool there = mg_write(connection, "retry: 2000\n\n", 13) > 0;
  while (there && watcher->wait()) {
    bool told = false;
    while (const auto record = requests.history().after(change_told)) {
      change_told = record->number;
      there = there && send_event(connection, "change", record->json().dump());
      told = true;
    }
    if (const StatusRequests::Newest newest = requests.newest(); newest.number != status_told) {
      status_told = newest.number;
      there = there && send_event(connection, "status", newest.snapshot->json());
      told = true;
    }
    // Not a comment: the page must hear it, to know a silence from a connection that is lost.
    if (!told) there = send_event(connection, "alive", "1");
  }
  ending.unsubscribe(watcher.get());
  requests.readers().unsubscribe(watcher.get());
  requests.history().readers().unsubscribe(watcher.get());
}

// The host of a Host header, without the port.
std::string_view host_of(std::string_view header) {
  if (header.starts_with('[')) return header.substr(0, std::min(header.find(']') + 1, header.size()));
  return header.substr(0, header.find(':'));
}

}  // namespace

bool is_loopback(std::string_view address) {
  const std::string_view host = host_of(address);
  return host.starts_with("127.") || host == "[::1]" || host == "localhost";
}

// What CivetWeb calls, on its threads.
struct HttpServer::Routes {
  static HttpServer& server(const mg_connection* connection) {
    return *static_cast<HttpServer*>(mg_get_user_data(mg_get_context(connection)));
  }

  static int begin(mg_connection* connection) {
    const HttpServer& self = server(connection);
    const std::string_view method = mg_get_request_info(connection)->request_method;
    if (method != "GET" && method != "HEAD")
      return send(connection, {405, kTextType, "this only reads: GET or HEAD\n"});
    // A page of another site whose name leads here must not read what only this machine may.
    const char* const host = mg_get_header(connection, "Host");
    if (is_loopback(self.address_) && host != nullptr && !is_loopback(host))
      return send(connection, {421, kTextType, "plughost listens for this machine only\n"});
    const std::string_view path = mg_get_request_info(connection)->local_uri;
    if (path == "/stream") return watch(connection);
    return send(connection, reply(server(connection), path));
  }

  static Reply reply(HttpServer& self, std::string_view path) {
    if (path == "/") return {200, "text/html; charset=utf-8", std::string(kPage)};
    if (path == "/events.json") return {200, kJsonType, events_json(self.requests_.history())};
    if (path != "/metrics" && path != "/status.json" && path != "/healthz" && path != "/readyz")
      return {404, kTextType,
              "there is /, /status.json, /events.json, /stream, /metrics, /healthz, /readyz\n"};
    const StatusRequests::SnapshotPointer snapshot = wait_for_status(self.requests_, self.ending_);
    if (!snapshot) return silent();
    if (path == "/metrics") return {200, kMetricsType, metrics_text(snapshot->status())};
    if (path == "/status.json") return {200, kJsonType, snapshot->json()};
    if (path == "/readyz") return ready(snapshot->status());
    return {200, kTextType, "alive\n"};
  }

  static int watch(mg_connection* connection) {
    HttpServer& self = server(connection);
    if (++self.streams_ <= kMostStreams)
      stream(connection, self.requests_, self.ending_);
    else
      send(connection, {503, kTextType, "too many pages watch\n"});
    --self.streams_;
    return 200;
  }

  // CivetWeb has no other words for why it cannot start.
  static int log_message(const mg_connection* connection, const char* message) {
    HttpServer& self = server(connection);
    if (self.started_)
      self.log_.debug("http", {{"text", message}});
    else
      self.trouble_ = message;
    return 1;
  }
};

HttpServer::HttpServer(Log& log, StatusRequests& requests, std::string address)
    : log_(log), requests_(requests), address_(std::move(address)) {
  mg_callbacks callbacks{};
  callbacks.begin_request = &Routes::begin;
  callbacks.log_message = &Routes::log_message;
  const std::string threads = std::to_string(kThreads);
  const char* const options[] = {"listening_ports",    address_.c_str(), "num_threads", threads.c_str(),
                                 "request_timeout_ms", "10000",          nullptr};
  context_ = mg_start(&callbacks, this, const_cast<const char**>(options));
  if (context_ == nullptr)
    throw std::runtime_error("cannot listen on " + address_ + (trouble_.empty() ? "" : ": " + trouble_));
  started_ = true;
}

unsigned HttpServer::port() const {
  mg_server_port port{};
  mg_get_server_ports(context_, 1, &port);
  return static_cast<unsigned>(port.port);
}

HttpServer::~HttpServer() {
  ending_.close();
  // CivetWeb sees that it is to stop when somebody connects, or every two seconds.
  std::string host(host_of(address_));
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  const std::jthread knocker([host, port = static_cast<int>(port())](const std::stop_token& stopped) {
    while (!stopped.stop_requested()) {
      std::array<char, 100> trouble{};
      if (mg_connection* knock = mg_connect_client(host.c_str(), port, 0, trouble.data(), trouble.size()))
        mg_close_connection(knock);
      std::this_thread::sleep_for(kKnock);
    }
  });
  mg_stop(context_);
}

}  // namespace plughost
