#include "kubernetes/plugin/registration.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <optional>
#include <vector>

#include "base/system/unix_socket.hpp"
#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;

namespace {

struct Asking {
  explicit Asking(std::chrono::milliseconds deadline = RegistrationClient::kDeadline)
      : client(loop, socket, deadline) {}

  test::TempDir dir;
  EventLoop loop;
  std::filesystem::path socket = dir.at("kubelet.sock");
  RegistrationClient client;
  std::optional<pid_t> process;  // process that listens on the kubelet's socket, as send() returns it
  std::optional<RegistrationClient::Result> result;
  std::string why;

  void send(const FileIdentity& kubelet) {
    process =
        client.send({"example.com/a", "a.sock", {}}, kubelet, [this](auto told, const std::string& reason) {
          result = told;
          why = reason;
        });
  }
  bool answered() {
    return test::run_until(loop, [this] { return result.has_value(); });
  }
};

}  // namespace

TEST_CASE("a kubelet other than the expected one is not called") {
  Asking asking;
  std::vector<UniqueFd> connections;
  const Listener other(
      asking.loop, asking.socket,
      [&](UniqueFd connection, const ucred&) { connections.push_back(std::move(connection)); },
      [](const std::string& what) { FAIL(what); });
  FileIdentity former = identity_of(asking.socket).value();
  --former.changed_ns;
  asking.send(former);
  CHECK_FALSE(asking.result.has_value());  // the callback is not called from within send()
  REQUIRE(asking.answered());
  CHECK(*asking.result == RegistrationClient::Result::kNobodyListens);
  CHECK(asking.why == "another kubelet is about to listen");
  CHECK_FALSE(asking.process.has_value());
}

TEST_CASE("a missing socket is reported at once") {
  Asking asking;
  asking.send({});
  REQUIRE(asking.answered());
  CHECK(*asking.result == RegistrationClient::Result::kNobodyListens);
  CHECK(asking.why.find("No such file") != std::string::npos);
  CHECK_FALSE(asking.process.has_value());
}

TEST_CASE("a file that is no socket at the path of the kubelet is reported at once") {
  Asking asking;
  asking.dir.file("kubelet.sock");
  asking.send({});
  REQUIRE(asking.answered());
  CHECK(*asking.result == RegistrationClient::Result::kNobodyListens);
  CHECK(asking.why.find("Connection refused") != std::string::npos);
}

TEST_CASE("a kubelet that closes the connection counts as gone, not as refusing") {
  Asking asking;
  const Listener kubelet(
      asking.loop, asking.socket, [](UniqueFd, const ucred&) {}, [](const std::string& what) { FAIL(what); });
  asking.send(identity_of(asking.socket).value());
  REQUIRE(asking.answered());
  CHECK(*asking.result == RegistrationClient::Result::kWentAway);
}

TEST_CASE("the process of the called kubelet is known, and no response within the deadline is reported") {
  Asking asking(std::chrono::milliseconds(300));
  std::vector<UniqueFd> connections;
  const Listener kubelet(
      asking.loop, asking.socket,
      [&](UniqueFd connection, const ucred&) { connections.push_back(std::move(connection)); },
      [](const std::string& what) { FAIL(what); });
  asking.send(identity_of(asking.socket).value());
  CHECK(asking.process == ::getpid());
  REQUIRE(asking.answered());
  CHECK(*asking.result == RegistrationClient::Result::kSilent);
}
