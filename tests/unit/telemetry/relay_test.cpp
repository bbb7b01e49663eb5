#include "telemetry/relay.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>

using namespace plughost;

namespace {

struct Ends {
  UniqueFd client;
  UniqueFd server;
};

struct Rig {
  std::atomic<unsigned> cut_off = 0;
  std::optional<Relay> relay{std::in_place, [this] { ++cut_off; }};

  Ends connect() {
    std::array<int, 2> ends{};
    check(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), "socketpair");
    UniqueFd relays{ends[1]};
    check(::fcntl(relays.get(), F_SETFL, O_NONBLOCK), "fcntl");
    UniqueFd server = relay->add(std::move(relays));
    check(::fcntl(server.get(), F_SETFL, 0), "fcntl");
    return {UniqueFd{ends[0]}, std::move(server)};
  }
};

void send_all(const UniqueFd& to, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t sent = ::send(to.get(), text.data() + at, text.size() - at, MSG_NOSIGNAL);
    if (sent < 0) return;
    at += static_cast<std::size_t>(sent);
  }
}

// Until the end, or all of it.
std::string receive(const UniqueFd& from, std::size_t most = SIZE_MAX) {
  std::string text;
  std::array<char, 4096> bytes{};
  while (text.size() < most) {
    pollfd ready{.fd = from.get(), .events = POLLIN, .revents = 0};
    REQUIRE(::poll(&ready, 1, 10'000) == 1);
    const ssize_t got = ::recv(from.get(), bytes.data(), std::min(bytes.size(), most - text.size()), 0);
    if (got <= 0) break;
    text.append(bytes.data(), static_cast<std::size_t>(got));
  }
  return text;
}

// Of DATA frames, after the preface.
std::string megabytes(char what) {
  std::string text = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  for (int i = 0; i < 64; ++i) text += std::string("\0\x80\0\0\0\0\0\0\1", 9) + std::string(32768, what);
  return text;
}

}  // namespace

TEST_CASE("what either side sends reaches the other whole, whoever reads late") {
  Rig rig;
  const Ends one = rig.connect();
  const Ends two = rig.connect();
  const std::string question = megabytes('?');
  const std::string answer = megabytes('!');
  std::thread client([&] { send_all(one.client, question); });
  std::thread server([&] { send_all(one.server, answer); });
  // Nobody reads of the first connection: the second one is carried all the same.
  send_all(two.client, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  CHECK(receive(two.server, 24).ends_with("SM\r\n\r\n"));
  CHECK(receive(one.client, answer.size()) == answer);
  CHECK(receive(one.server, question.size()) == question);
  client.join();
  server.join();
  CHECK(rig.cut_off == 0);
}

TEST_CASE("the end of one side is the other's, after all that was sent before") {
  Rig rig;
  Ends ends = rig.connect();
  send_all(ends.server, "bye");
  ends.server = UniqueFd();
  CHECK(receive(ends.client) == "bye");
  Ends others = rig.connect();
  send_all(others.client, "hello");
  others.client = UniqueFd();
  CHECK(receive(others.server) == "hello");
}

TEST_CASE("a client whose headers do not end is cut off, and no other") {
  Rig rig;
  const Ends bad = rig.connect();
  const Ends good = rig.connect();
  // 0xffffff bytes of headers are announced.
  send_all(bad.client, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + std::string("\xff\xff\xff\1\0\0\0\0\1", 9));
  CHECK(receive(bad.client).empty());
  CHECK(receive(bad.server).empty());
  send_all(good.client, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  CHECK(receive(good.server, 24).size() == 24);
  rig.relay.reset();
  CHECK(rig.cut_off == 1);
}

TEST_CASE("the end waits for what was answered, and for nobody who does not take it") {
  Rig rig;
  Ends ends = rig.connect();
  const Ends deaf = rig.connect();
  std::thread flood([&] { send_all(deaf.server, megabytes('.')); });
  send_all(ends.server, "the last word");
  ends.server = UniqueFd();
  rig.relay.reset();
  CHECK(receive(ends.client) == "the last word");
  flood.join();
}
