// Tests the client with TLS, as the API server requires it.

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/text/text.hpp"
#include "host/hardware/machine_files.hpp"
#include "host/programs/subprocess.hpp"
#include "kubernetes/apiserver/api_server.hpp"
#include "places.hpp"
#include "unit/kubernetes/apiserver/api_client_fixture.hpp"
#include "unit/kubernetes/apiserver/certificates.hpp"
#include "unit/kubernetes/apiserver/fake_api_server.hpp"

using namespace plughost;
using namespace std::chrono_literals;
using test::FakeApiServer;
using test::FakeConnection;
using test::FakeRequest;
using test::run_until;
using test::says;

namespace {

struct Tls {
  test::ClientOfTest test;
  test::Certificates authority{test.directory, "ca"};
  FakeApiServer server{[](const FakeRequest&, FakeConnection& out) { out.answer(200, "{}"); }};
  ProgramQueue queue{test.programs, Purpose::kStay};
  std::vector<std::string> lines;
  std::optional<Subprocess> front;
  std::string url;

  Tls() { test.options.access_age = 0ms; }
  void begin(const std::string& names = "IP:127.0.0.1") {
    authority.issue("server", "/CN=apiserver", names);
    const auto at = [&](const char* name) { return test.directory.at(name).string(); };
    front.emplace(
        queue,
        Program{.command = {test::in_source("/tests/fakes/apiserver/tls_front.py"),
                            std::to_string(server.port()), at("server.crt"), at("server.key"), at("ca.crt")},
                .on_line = [this](std::string_view line) { lines.emplace_back(line); }},
        [](const Ending&) {});
    REQUIRE(run_until(test.loop, [&] { return !lines.empty(); }));
    REQUIRE(lines[0].starts_with("port "));
    url = "https://127.0.0.1:" + lines[0].substr(5);
    lines.clear();
  }
  void use(const std::string& certificate, const std::string& cluster = "") const {
    test.kubeconfig(
        url, "      client-certificate: " + certificate + ".crt\n      client-key: " + certificate + ".key\n",
        "      certificate-authority: ca.crt\n" + cluster);
  }
  bool said(std::string_view words) {
    return run_until(test.loop, [&] {
      return std::ranges::any_of(lines, [&](const std::string& line) { return says(line, words); });
    });
  }
};

}  // namespace

TEST_CASE(
    "the client identifies itself with the kubelet's certificate, from which it reads the node's name") {
  Tls tls;
  tls.begin();
  tls.authority.issue("kubelet", "/O=system:nodes/CN=system:node:worker-7");
  tls.use("kubelet");
  tls.test.options.config.node.clear();
  tls.test.start();
  CHECK(tls.test.get("/api").ok());
  CHECK(tls.said("client system:node:worker-7"));
  CHECK(tls.test.client->node() == "worker-7");
}

TEST_CASE("a certificate and its key may be in one file, as the kubelet's are") {
  Tls tls;
  tls.begin();
  tls.authority.issue("one", "/CN=one");
  const auto text = [&](const char* name) {
    std::ifstream file(tls.test.directory.at(name));
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string both = text("one.crt") + text("one.key");
  tls.test.directory.file("both.crt", both);
  tls.test.directory.file("both.key", both);
  tls.use("both");
  tls.test.start();
  CHECK(tls.test.get("/api").ok());
  CHECK(tls.said("client one"));
}

TEST_CASE("a rotated certificate is used without a restart") {
  Tls tls;
  tls.begin();
  tls.authority.issue("kubelet", "/CN=first");
  tls.use("kubelet");
  tls.test.start();
  CHECK(tls.test.get("/one").ok());
  CHECK(tls.test.get("/two").ok());
  CHECK(tls.said("client first"));
  CHECK(tls.server.requests().back().connection == 1);
  tls.authority.issue("kubelet", "/CN=second");
  CHECK(tls.test.get("/three").ok());
  CHECK(tls.said("client second"));
}

TEST_CASE("a server whose certificate has a different authority or name is refused") {
  Tls tls;
  tls.begin("DNS:kubernetes.example");
  tls.authority.issue("kubelet", "/CN=me");
  tls.use("kubelet");
  tls.test.start();
  const ApiAnswer other_name = tls.test.get("/api");
  CHECK(other_name.code == 0);
  CHECK(says(other_name.error, "127.0.0.1"));
  CHECK(tls.server.requests().empty());

  tls.use("kubelet", "      tls-server-name: kubernetes.example\n");
  const ApiAnswer named = tls.test.get("/api");
  CHECK(named.error == "");
  CHECK(tls.said("asked-for kubernetes.example"));
  CHECK(tls.server.requests().size() == 1);

  const test::Certificates stranger(tls.test.directory, "other");
  tls.test.kubeconfig(tls.url, "      token: secret\n",
                      "      certificate-authority: other.crt\n      tls-server-name: kubernetes.example\n");
  const ApiAnswer unknown = tls.test.get("/api");
  CHECK(unknown.code == 0);
  CHECK(says(unknown.error, "certificate"));
  CHECK(tls.server.requests().size() == 1);

  tls.test.kubeconfig(tls.url, "      token: secret\n", "      insecure-skip-tls-verify: true\n");
  CHECK(tls.test.get("/api").ok());
  REQUIRE(tls.test.client->state().warnings.size() == 1);
  CHECK(says(tls.test.client->state().warnings[0], "insecure-skip-tls-verify"));
}

TEST_CASE(
    "a connection that is closed before TLS counts as unreachable, and an untrusted certificate does not") {
  test::ClientOfTest test;
  const UniqueFd balancer(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_in address{.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof address;
  REQUIRE(::bind(balancer.get(), any, size) == 0);
  REQUIRE(::listen(balancer.get(), 8) == 0);
  REQUIRE(::getsockname(balancer.get(), any, &size) == 0);
  const IoWatch hang_up(test.loop, balancer.get(), EPOLLIN, [&](std::uint32_t) {
    const UniqueFd client(::accept(balancer.get(), nullptr, nullptr));
  });
  test.kubeconfig("https://127.0.0.1:" + std::to_string(ntohs(address.sin_port)), "      token: secret\n",
                  "      insecure-skip-tls-verify: true\n");
  test.start();
  const ApiAnswer answer = test.get("/api");
  CHECK(answer.code == 0);
  CHECK(answer.nobody);

  Tls tls;
  tls.begin();
  const test::Certificates stranger(tls.test.directory, "other");
  tls.test.kubeconfig(tls.url, "      token: secret\n", "      certificate-authority: other.crt\n");
  tls.test.start();
  CHECK_FALSE(tls.test.get("/api").nobody);
}

TEST_CASE("the system's authorities are used if the kubeconfig names none") {
  Tls tls;
  tls.begin();
  tls.test.kubeconfig(tls.url, "      token: secret\n");
  tls.test.options.host = HostRoot(tls.test.directory.path());
  tls.test.options.config.kubeconfig = "/kubeconfig";
  const test::TempDir& root = tls.test.directory;
  const test::Certificates stranger(root, "other");
  const auto trust = [&root](const std::string& authority) {
    root.file("/etc/ssl/certs/ca-certificates.crt", *file_text(root.at(authority + ".crt")));
  };
  trust("other");
  tls.test.start();
  CHECK(says(tls.test.get("/api").error, "certificate"));
  CHECK(tls.server.requests().empty());
  trust("ca");
  CHECK(tls.test.get("/api").ok());
}

TEST_CASE("a libcurl that reads certificates only from files gets files") {
  Tls tls;
  tls.begin();
  tls.authority.issue("kubelet", "/CN=me");
  tls.use("kubelet");
  tls.test.options.library = test::kOldCurl;
  tls.test.start();
  const ApiAnswer answer = tls.test.get("/api");
  CHECK(answer.error == "");
  CHECK(tls.said("client me"));
}
