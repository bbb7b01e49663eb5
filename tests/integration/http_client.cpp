#include "integration/http_client.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>

#include <cstdlib>

namespace plughost::test {

namespace {

UniqueFd connected(unsigned port) {
  UniqueFd fd(check(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  check(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), "connect");
  return fd;
}

void send_all(int fd, const std::string& text) {
  for (std::size_t sent = 0; sent < text.size();)
    sent += static_cast<std::size_t>(
        check(static_cast<int>(::send(fd, text.data() + sent, text.size() - sent, MSG_NOSIGNAL)), "send"));
}

}  // namespace

unsigned http_port(Node& node, std::size_t from) {
  Process& daemon = node.daemon();
  REQUIRE(daemon.wait_for_line({"listening", "port="}, kLong, from));
  const std::vector<std::string> lines = daemon.lines();
  for (std::size_t i = lines.size(); i-- > from;) {
    const std::size_t at = lines[i].find(" port=");
    if (lines[i].find("listening") != std::string::npos && at != std::string::npos)
      return static_cast<unsigned>(std::atoi(lines[i].c_str() + at + 6));
  }
  return 0;
}

HttpReply http(unsigned port, const std::string& path, const std::string& method,
               const std::string& headers) {
  const UniqueFd fd = connected(port);
  send_all(fd.get(), method + ' ' + path + " HTTP/1.1\r\n" + headers + "\r\n");
  std::string text;
  char bytes[4096];
  for (ssize_t got = 0; (got = ::recv(fd.get(), bytes, sizeof bytes, 0)) > 0;)
    text.append(bytes, static_cast<std::size_t>(got));
  HttpReply reply;
  const std::size_t end = text.find("\r\n\r\n");
  if (end == std::string::npos) return reply;
  reply.head = text.substr(0, end);
  reply.body = text.substr(end + 4);
  reply.code = std::atoi(reply.head.c_str() + reply.head.find(' '));
  return reply;
}

HalfAsking::HalfAsking(unsigned port, const std::string& text) : socket_(connected(port)) {
  send_all(socket_.get(), text);
}

EventSource::EventSource(unsigned port) : socket_(connected(port)) {
  send_all(socket_.get(), "GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
}

bool EventSource::read_more(std::chrono::milliseconds deadline) {
  pollfd waits{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  if (::poll(&waits, 1, static_cast<int>(deadline.count())) != 1) return false;
  char bytes[4096];
  const ssize_t got = ::recv(socket_.get(), bytes, sizeof bytes, 0);
  ended_ = got <= 0;
  if (!ended_) unread_.append(bytes, static_cast<std::size_t>(got));
  return !ended_;
}

std::optional<std::string> EventSource::read_until(const std::string& text,
                                                   std::chrono::milliseconds deadline) {
  const auto due = std::chrono::steady_clock::now() + deadline;
  for (;;) {
    const std::size_t found = unread_.find(text);
    const std::size_t end = found == std::string::npos ? found : unread_.find('\n', found);
    if (end != std::string::npos) {
      std::string read = unread_.substr(0, end + 1);
      unread_.erase(0, end + 1);
      return read;
    }
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(due - std::chrono::steady_clock::now());
    if (left.count() <= 0 || !read_more(left)) return std::nullopt;
  }
}

bool EventSource::ended(std::chrono::milliseconds deadline) {
  const auto due = std::chrono::steady_clock::now() + deadline;
  while (!ended_ && std::chrono::steady_clock::now() < due) read_more(std::chrono::milliseconds(100));
  return ended_;
}

}  // namespace plughost::test
