#include "unit/kubernetes/apiserver/fake_api_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text/ascii.hpp"

namespace plughost::test {
namespace {

// Reads the next request. Returns nullopt if the client has closed the connection.
std::optional<FakeRequest> read_request(int fd, std::string& bytes) {
  std::array<char, 65536> part{};
  const auto more = [&] {
    const ssize_t got = ::recv(fd, part.data(), part.size(), 0);
    if (got > 0) bytes.append(part.data(), static_cast<std::size_t>(got));
    return got > 0;
  };
  std::size_t end = 0;
  while ((end = bytes.find("\r\n\r\n")) == std::string::npos) {
    if (!more()) return std::nullopt;
  }
  FakeRequest request;
  std::string head = bytes.substr(0, end + 2);
  bytes.erase(0, end + 4);
  const auto line = [&head] {
    std::string first = head.substr(0, head.find("\r\n"));
    head.erase(0, first.size() + 2);
    return first;
  };
  const std::string first = line();
  request.method = first.substr(0, first.find(' '));
  request.target = first.substr(request.method.size() + 1, first.rfind(' ') - request.method.size() - 1);
  while (!head.empty()) {
    const std::string header = line();
    const std::size_t colon = header.find(':');
    request.headers[to_lower(header.substr(0, colon))] = header.substr(colon + 2);
  }
  const std::size_t length =
      request.headers.contains("content-length") ? std::stoul(request.headers["content-length"]) : 0;
  while (bytes.size() < length) {
    if (!more()) return std::nullopt;
  }
  request.body = bytes.substr(0, length);
  bytes.erase(0, length);
  return request;
}

}  // namespace

bool FakeConnection::send(const std::string& bytes) {
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t now = ::send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (now <= 0) return false;
    sent += static_cast<std::size_t>(now);
  }
  return true;
}

void FakeConnection::answer(int code, const std::string& body, const std::string& headers) {
  send("HTTP/1.1 " + std::to_string(code) + " Word\r\nContent-Length: " + std::to_string(body.size()) +
       "\r\nContent-Type: application/json\r\n" + headers + "\r\n" + body);
}

void FakeConnection::begin(int code) {
  send("HTTP/1.1 " + std::to_string(code) + " Word\r\nTransfer-Encoding: chunked\r\n\r\n");
}

bool FakeConnection::chunk(const std::string& bytes) {
  std::array<char, 32> size{};
  std::snprintf(size.data(), size.size(), "%zx\r\n", bytes.size());
  return send(size.data() + bytes + "\r\n");
}

void FakeConnection::end() { send("0\r\n\r\n"); }

void FakeConnection::cut() { ::shutdown(fd_, SHUT_RDWR); }

void FakeConnection::wait_for_close() const {
  std::array<char, 256> ignored{};
  while (::recv(fd_, ignored.data(), ignored.size(), 0) > 0) {
  }
}

FakeApiServer::FakeApiServer(Handler handler, std::uint16_t port)
    : handler_(std::move(handler)),
      listener_(check(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket")) {
  const int yes = 1;
  check(::setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes), "setsockopt");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  check(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), "bind");
  check(::listen(listener_.get(), 64), "listen");
  socklen_t size = sizeof address;
  check(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size), "getsockname");
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept(); });
}

FakeApiServer::~FakeApiServer() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    for (Connection& each : connections_) ::shutdown(each.fd.get(), SHUT_RDWR);
  }
  ::shutdown(listener_.get(), SHUT_RDWR);
  acceptor_.join();
  for (Connection& each : connections_) each.thread.join();
}

void FakeApiServer::accept() {
  for (unsigned number = 1;; ++number) {
    UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!fd) return;
    const std::lock_guard lock(mutex_);
    if (ending_) return;
    Connection& connection = connections_.emplace_back();
    connection.fd = std::move(fd);
    connection.thread = std::thread([this, &connection, number] { serve(connection, number); });
  }
}

void FakeApiServer::serve(Connection& connection, unsigned number) {
  std::string bytes;
  FakeConnection out(connection.fd.get());
  while (auto request = read_request(connection.fd.get(), bytes)) {
    request->connection = number;
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(*request);
    }
    handler_(*request, out);
  }
  ::shutdown(connection.fd.get(), SHUT_RDWR);
  const std::lock_guard lock(mutex_);
  connection.open = false;
}

std::vector<FakeRequest> FakeApiServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

unsigned FakeApiServer::connections() const {
  const std::lock_guard lock(mutex_);
  return static_cast<unsigned>(std::ranges::count_if(connections_, &Connection::open));
}

}  // namespace plughost::test
