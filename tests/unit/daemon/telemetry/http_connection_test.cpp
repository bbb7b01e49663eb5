#include "daemon/telemetry/http_connection.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "unit/run_until.hpp"

namespace plughost {
namespace {

using namespace std::chrono_literals;

// A client that has sent a request, and an answer that exceeds the socket's buffer.
struct ConnectionRig final : HttpConnection::Owner {
  ConnectionRig() {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) == 0);
    client = UniqueFd(ends[0]);
    connection = std::make_unique<HttpConnection>(loop, UniqueFd(ends[1]), *this);
    constexpr std::string_view kRequest = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    REQUIRE(::write(client.get(), kRequest.data(), kRequest.size()) == static_cast<ssize_t>(kRequest.size()));
    REQUIRE(test::run_until(loop, [&] { return connection->behind(); }));
  }
  void on_request(const HttpRequest& /*request*/) override { connection->reply(text_reply(200, body)); }
  void on_drained() override {}
  void on_gone() override { gone = true; }
  // Reads up to `most` bytes, and lets the server send more.
  void take(std::size_t most) {
    std::string text(most, '\0');
    const ssize_t length = ::read(client.get(), text.data(), text.size());
    if (length > 0) taken += static_cast<std::size_t>(length);
    test::run_once(loop);
    test::run_once(loop);
  }

  EventLoop loop;
  const std::string body = std::string(4u << 20, 'x');
  UniqueFd client;
  std::unique_ptr<HttpConnection> connection;
  bool gone = false;
  std::size_t taken = 0;
};

TEST_CASE("a client that reads slowly gets the whole response, however long it is") {
  ConnectionRig rig;
  for (int i = 0; i < 1000 && rig.taken < rig.body.size(); ++i) {
    test::pass(rig.loop, HttpConnection::kWriteDeadline - 1s);
    REQUIRE_FALSE(rig.gone);
    rig.take(256u << 10);
  }
  CHECK(rig.taken > rig.body.size());  // the body and the head
}

TEST_CASE("a client that reads nothing for 10 s is dropped") {
  ConnectionRig rig;
  rig.take(256u << 10);
  test::pass(rig.loop, HttpConnection::kWriteDeadline - 1s);
  CHECK_FALSE(rig.gone);
  test::pass(rig.loop, 1s);
  CHECK(test::run_until(rig.loop, [&] { return rig.gone; }));
}

}  // namespace
}  // namespace plughost
