#include "daemon/telemetry/control_client.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cerrno>
#include <cstring>
#include <limits>
#include <optional>

#include "base/log/log_history.hpp"
#include "base/system/event_loop.hpp"
#include "base/system/unix_socket.hpp"

namespace plughost {
namespace {

namespace http = boost::beast::http;
using Clock = EventLoop::Clock;

// The maximum size of an answer in bytes: a node's list of devices may be long.
constexpr std::uint64_t kMostBytes = 256 << 20;

UniqueFd connected(const std::filesystem::path& socket) {
  try {
    return connect_unix(socket);
  } catch (const std::system_error& error) {
    const std::string why = "plughost does not answer: " + std::string(error.what());
    if (error.code() == std::errc::permission_denied)
      throw NoAnswer(why + " (only root and members of the group plughost have access)");
    throw NotThere(why + " (is it running? `systemctl status plughost`; --control names a different socket)");
  }
}

// One request, and its answer as it is received.
class Call {
 public:
  Call(std::filesystem::path socket, const HttpRequest& request, std::chrono::seconds within,
       std::uint64_t most = kMostBytes)
      : socket_(std::move(socket)), fd_(connected(socket_)), within_(within), due_(Clock::now() + within) {
    answer_.body_limit(most);
    answer_.eager(true);
    send(request.method + ' ' + request.path + " HTTP/1.1\r\nHost: plughost\r\nContent-Length: " +
         std::to_string(request.body.size()) + "\r\n\r\n" + request.body);
    while (!answer_.is_header_done()) receive();
  }

  bool is_json() const { return answer_.get()[http::field::content_type] == "application/json"; }
  bool follows() const { return answer_.get()[http::field::content_type] == "text/event-stream"; }
  bool ended() const { return answer_.is_done(); }
  // Returns the part received since the last call.
  std::string take() { return std::exchange(answer_.get().body(), {}); }
  std::string all() {
    while (!ended()) receive();
    return take();
  }
  // Removes the deadline.
  void wait_for_ever() { due_.reset(); }

  void receive() {
    wait(POLLIN);
    std::array<char, 65536> bytes;
    const ssize_t got = ::recv(fd_.get(), bytes.data(), bytes.size(), 0);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (got < 0) fail(std::strerror(errno));
    boost::system::error_code error;
    if (got == 0) {
      answer_.put_eof(error);
      if (error || !ended()) fail("its answer has broken off");
      return;
    }
    in_.append(bytes.data(), static_cast<std::size_t>(got));
    while (!in_.empty() && !ended()) {
      const std::size_t used = answer_.put(boost::asio::buffer(in_), error);
      in_.erase(0, used);
      if (error == http::error::need_more || (used == 0 && !error)) return;
      if (error) fail("it does not speak HTTP: " + error.message());
    }
  }

  [[noreturn]] void fail(const std::string& why) const {
    throw NoAnswer("plughost does not answer on " + socket_.string() + ": " + why);
  }
  Json parsed(const std::string& text) const {
    try {
      return Json::parse(text);
    } catch (const std::runtime_error& error) {
      fail(std::string("its response cannot be parsed: ") + error.what());
    }
  }

 private:
  void send(std::string_view text) {
    while (!text.empty()) {
      wait(POLLOUT);
      const ssize_t sent = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno != EINTR && errno != EAGAIN) fail(std::strerror(errno));
      if (sent > 0) text.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  void wait(short events) const {
    using std::chrono::milliseconds;
    const auto left = due_ ? std::chrono::ceil<milliseconds>(*due_ - Clock::now()).count() : -1;
    pollfd waits{.fd = fd_.get(), .events = events, .revents = 0};
    if ((due_ && left <= 0) || ::poll(&waits, 1, static_cast<int>(left)) == 0)
      fail("no answer within " + std::to_string(within_.count()) + " seconds");
  }

  const std::filesystem::path socket_;
  UniqueFd fd_;
  const std::chrono::seconds within_;
  std::optional<Clock::time_point> due_;
  std::string in_;
  http::response_parser<http::string_body> answer_;
};

// Event names of the streams.
constexpr std::string_view kStatus = "status";
constexpr std::string_view kChange = "change";
constexpr std::string_view kInheritance = "inheritance";

HttpRequest get(const std::string& path) {
  return {.method = "GET", .path = path, .query = {}, .host = {}, .body = {}};
}

std::string without_end(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

// Returns the data of a text/event-stream message if its event has this name.
std::optional<std::string_view> data_of(std::string_view message, std::string_view event) {
  const std::string head = "event: " + std::string(event) + "\ndata: ";
  if (!message.starts_with(head)) return std::nullopt;
  return message.substr(head.size());
}

}  // namespace

Json ControlClient::request(const HttpRequest& request, std::chrono::seconds deadline) const {
  Call call(socket_, request, deadline);
  const std::string text = call.all();
  if (!call.is_json()) call.fail(without_end(text));
  return call.parsed(text);
}

void ControlClient::follow(const std::string& path, std::string_view event, const Tell& tell) const {
  Call call(socket_, get(path), kDeadline, std::numeric_limits<std::uint64_t>::max());
  if (!call.follows()) call.fail(without_end(call.all()));
  // A status arrives at once; the next event may take any time.
  if (event == kChange) call.wait_for_ever();
  std::string text;
  for (std::size_t looked = 0; !call.ended(); call.receive()) {
    text += call.take();
    for (std::size_t end = 0; (end = text.find("\n\n", looked)) != std::string::npos; looked = 0) {
      const auto data = data_of(std::string_view(text).substr(0, end), event);
      if (data) call.wait_for_ever();
      if (data && !tell(call.parsed(std::string(*data)))) return;
      text.erase(0, end + 2);
    }
    looked = text.size() - std::min<std::size_t>(text.size(), 1);
  }
  throw NoAnswer("plughost has stopped");
}

Json ControlClient::status(std::chrono::seconds deadline) const {
  return request(get("/status.json"), deadline);
}

Json ControlClient::carry_out(const Order& order) const {
  const bool replaces = std::holds_alternative<HandOverOrder>(order);
  return request(request_of(order), replaces ? HandOver::kStartLimit + HandOver::kLimit : kDeadline);
}

Predecessor ControlClient::begin_hand_over() const {
  const HttpRequest order = request_of(HandOverOrder{HandOverStep::kBegin});
  const auto call = std::make_shared<Call>(socket_, order, kDeadline);
  if (!call->follows()) {
    const std::string text = call->all();
    const std::string why = call->is_json() ? call->parsed(text)["error"].text() : without_end(text);
    throw std::runtime_error("the running plughost does not hand over: " + why);
  }
  std::string text = call->take();
  for (; !text.ends_with("\n\n"); text += call->take()) call->receive();
  const auto data = data_of(std::string_view(text).substr(0, text.size() - 2), kInheritance);
  if (!data) call->fail("its response cannot be parsed");
  return {.inheritance = Inheritance::of(call->parsed(std::string(*data)), Inheritance::Clock::now()),
          .connection = call,
          .end = [client = *this] { return client.carry_out(HandOverOrder{HandOverStep::kEnd}); }};
}

void ControlClient::watch_status(const Tell& tell) const { follow("/stream", kStatus, tell); }

void ControlClient::events(unsigned limit, Follow follows, const Tell& tell) const {
  const std::string query = "?limit=" + std::to_string(limit == 0 ? LogHistory::kMost : limit);
  if (follows == Follow::kYes) return follow("/events" + query, kChange, tell);
  const Json told = request(get("/events.json" + query), kDeadline);
  for (const Json& event : told.array()) {
    if (!tell(event)) return;
  }
}

}  // namespace plughost
