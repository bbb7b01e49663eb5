#pragma once
// A daemon's loop in a thread of its own, for requests from the test's thread.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/log/log.hpp"
#include "base/system/event_loop.hpp"
#include "base/system/unique_fd.hpp"
#include "base/system/unix_socket.hpp"
#include "daemon/telemetry/status_requests.hpp"

namespace plughost::test {

// A daemon that answers at once. While `silent` is true, requests that wait for the holders get no answer, as
// with a silent kubelet.
class AskedDaemon final : StatusRequests::Owner {
 public:
  AskedDaemon() = default;
  ~AskedDaemon() override { stop(); }

  EventLoop loop;
  Log log{LogLevel::kError, LogFormat::kJson, "/nonexistent"};
  std::atomic<bool> silent = false;
  std::atomic<unsigned> asked = 0;
  std::atomic<unsigned> reloads = 0;
  ReloadOrder reloaded;               // the last reload request
  DrainOrder drained;                 // the last drain request
  std::atomic<pid_t> successor = 0;   // the process that asked last to hand over
  std::atomic<unsigned> lost = 0;     // connections of successors that have ended
  Json handed_over = Json::Object();  // the answer to requests to hand over
  std::vector<std::string> wrong;     // errors with which reloads are answered
  DaemonStatus status;                // must not change while the loop runs
  StatusRequests requests{loop, log.history(), *this};

  void start() {
    thread_ = std::thread([this] { loop.run(); });
  }
  // Runs the task in the loop and waits for its end.
  void in_loop(const std::function<void()>& task) {
    std::promise<void> done;
    loop.poster()([&] {
      task();
      done.set_value();
    });
    done.get_future().wait();
  }
  void stop() {
    if (!thread_.joinable()) return;
    in_loop([this] { requests.close(); });
    loop.poster()([this] { loop.stop(); });
    thread_.join();
  }

 private:
  void query_status(WithHolders with, StatusMade done) override {
    ++asked;
    if (!silent || with != WithHolders::kYes) done(status);
  }
  void reload(ReloadOrder order, ReloadDone done) override {
    reloaded = order;
    ++reloads;
    if (!silent) done({.errors = wrong});
  }
  void confirm(ConfirmDone done) override { done("nothing is on trial"); }
  void drain(DrainOrder order, StatusRequests::DrainDone done) override {
    drained = std::move(order);
    done({});
  }
  void hand_over(HandOverStep step, pid_t by, HandOver::Done done) override {
    if (step == HandOverStep::kLost) {
      ++lost;
      return;
    }
    successor = by;
    done(handed_over);
  }

  std::thread thread_;
};

// Occupies the loop while this object lives.
class BusyLoop {
 public:
  explicit BusyLoop(EventLoop& loop) {
    std::promise<void> busy;
    loop.poster()([&busy, go_on = std::shared_future<void>(go_on_.get_future())] {
      busy.set_value();
      go_on.wait();
    });
    busy.get_future().wait();
  }
  ~BusyLoop() { go_on_.set_value(); }
  BusyLoop& operator=(BusyLoop&&) = delete;

 private:
  std::promise<void> go_on_;
};

// A client on this machine, of a port or of a unix socket.
class Client {
 public:
  enum class Room { kUsual, kLittle };

  explicit Client(const std::filesystem::path& socket) : fd_(connect_unix(socket)) {
    check(::fcntl(fd_.get(), F_SETFL, 0), "F_SETFL");
  }
  // `room` chooses the size of the buffer for unread input.
  explicit Client(unsigned port, Room room = Room::kUsual)
      : fd_(check(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket")) {
    const int bytes = 4096;
    if (room == Room::kLittle) ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    check(::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), "connect");
  }
  // Returns false if the other end has closed the connection.
  bool send(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t sent = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (sent < 0) return false;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  void end_sending() const { ::shutdown(fd_.get(), SHUT_WR); }
  // Reads until `text` has arrived, or until the end of the connection if `text` is empty. Returns everything
  // that was read; nullopt after a timeout, a reset, or an early end.
  std::optional<std::string> read_until(std::string_view text,
                                        std::chrono::milliseconds within = std::chrono::seconds(20)) {
    const auto due = std::chrono::steady_clock::now() + within;
    for (;;) {
      if (!text.empty() && read_.find(text) != std::string::npos) return read_;
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(due - std::chrono::steady_clock::now());
      pollfd waits{.fd = fd_.get(), .events = POLLIN, .revents = 0};
      if (left.count() <= 0 || ::poll(&waits, 1, static_cast<int>(left.count())) != 1) return std::nullopt;
      char bytes[65536];
      const ssize_t got = ::recv(fd_.get(), bytes, sizeof bytes, 0);
      if (got < 0) return std::nullopt;
      if (got == 0) return text.empty() ? std::optional(read_) : std::nullopt;
      read_.append(bytes, static_cast<std::size_t>(got));
    }
  }
  bool ended(std::chrono::milliseconds within = std::chrono::seconds(20)) {
    pollfd waits{.fd = fd_.get(), .events = POLLIN, .revents = 0};
    char byte = 0;
    return ::poll(&waits, 1, static_cast<int>(within.count())) == 1 && ::recv(fd_.get(), &byte, 1, 0) <= 0;
  }

 private:
  UniqueFd fd_;
  std::string read_;
};

// Returns the whole reply, head and body; empty if there is none.
inline std::string asked(unsigned port, std::string_view path, std::string_view method = "GET") {
  Client client(port);
  client.send(std::string(method) + ' ' + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  return client.read_until("").value_or("");
}

inline std::string asked(const std::filesystem::path& socket, std::string_view path,
                         std::string_view method = "GET", std::string_view body = {}) {
  Client client(socket);
  client.send(std::string(method) + ' ' + std::string(path) +
              " HTTP/1.1\r\nHost: plughost\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
              std::string(body));
  return client.read_until("").value_or("");
}

inline int code_of(const std::string& reply) {
  return reply.starts_with("HTTP/1.1 ") ? std::stoi(reply.substr(9, 3)) : 0;
}

inline std::string body_of(const std::string& reply) {
  const std::size_t end = reply.find("\r\n\r\n");
  return end == std::string::npos ? "" : reply.substr(end + 4);
}

}  // namespace plughost::test
