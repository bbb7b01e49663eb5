#include "kubernetes/apiserver/access_keeper.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "unit/kubernetes/apiserver/api_client_fixture.hpp"
#include "unit/kubernetes/apiserver/fake_api_server.hpp"

using namespace plughost;
using namespace std::chrono_literals;
using test::ClientOfTest;
using test::FakeApiServer;
using test::FakeConnection;
using test::FakeRequest;

namespace {

const ExecPlugin kPlugin{.api_version = "client.authentication.k8s.io/v1", .command = {"/x"}};

std::string output(const std::string& status) {
  return R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{)" + status +
         "}}";
}

ExecCredential credential(const std::string& status) {
  const auto read = read_exec_credential(output(status), kPlugin);
  if (const auto* const error = std::get_if<std::string>(&read)) FAIL(*error);
  return std::get<ExecCredential>(read);
}

std::string error(const std::string& text) {
  const auto read = read_exec_credential(text, kPlugin);
  return std::holds_alternative<std::string>(read) ? std::get<std::string>(read) : "it can be used";
}

std::int64_t seconds(std::string_view text) {
  const auto time = time_in(text);
  return time ? std::chrono::duration_cast<std::chrono::seconds>(time->time_since_epoch()).count() : -1;
}

// A client whose kubeconfig names an exec plugin. The plugin records its calls and prints the file `answer`.
struct PluginOfTest : ClientOfTest {
  FakeApiServer server{[](const FakeRequest& request, FakeConnection& out) {
    out.answer(request.headers.at("authorization") == "Bearer refused" ? 401 : 200, "{}");
  }};
  PluginOfTest() {
    directory.file("plugin", "#!/bin/sh\necho \"$*\" >> '" + directory.at("calls").string() +
                                 "'\nprintf '%s %s' \"$MORE\" \"$KUBERNETES_EXEC_INFO\" > '" +
                                 directory.at("told").string() + "'\n. '" + directory.at("answer").string() +
                                 "'\n");
    std::filesystem::permissions(directory.at("plugin"), std::filesystem::perms::owner_all);
    options.access_age = 0ms;
    configure();
  }
  void configure(const std::string& more = "") const {
    kubeconfig(server.url(),
               "      exec:\n        apiVersion: client.authentication.k8s.io/v1\n        command: ./plugin\n"
               "        args: [get, token]\n        env: [{name: MORE, value: a b}]\n        "
               "provideClusterInfo: true\n"
               "        installHint: Ask us.\n" +
                   more);
  }
  void answers(const std::string& status) const {
    directory.file("answer", "cat <<'X'\n" + output(status) + "\nX\n");
  }
  std::string text(const char* name) const {
    std::ifstream file(directory.at(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::size_t calls() const {
    const std::string all = text("calls");
    return static_cast<std::size_t>(std::count(all.begin(), all.end(), '\n'));
  }
  std::string token() const { return server.requests().back().headers.at("authorization"); }
};

}  // namespace

TEST_CASE(
    "an exec plugin is told the API version, that it is not interactive, and the cluster if it wants that") {
  ApiAccess access{
      .server = "https://h", .tls_server_name = "n", .insecure = true, .ca = "abc", .proxy = "http://p"};
  access.exec = kPlugin;
  CHECK(
      exec_info(access) ==
      R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","spec":{"interactive":false}})");
  access.exec->wants_cluster = true;
  CHECK(
      exec_info(access) ==
      R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","spec":{"interactive":false,)"
      R"("cluster":{"server":"https://h","tls-server-name":"n","insecure-skip-tls-verify":true,)"
      R"("certificate-authority-data":"YWJj","proxy-url":"http://p"}}})");
}

TEST_CASE("a plugin returns a token or a certificate, with its expiry") {
  const ExecCredential token = credential(R"("token":"t","expirationTimestamp":"2026-11-21T18:00:00Z")");
  CHECK(token.token == "t");
  CHECK(token.expires == time_in("2026-11-21T18:00:00Z"));
  const ExecCredential pair = credential(R"("clientCertificateData":"c","clientKeyData":"k")");
  CHECK(pair.certificate == "c");
  CHECK(pair.key == "k");
  CHECK_FALSE(pair.expires);
}

TEST_CASE("an invalid response of a plugin has a reason") {
  CHECK(error("nonsense").find("its output cannot be read: this is no JSON") == 0);
  CHECK(error("{}") == "its output is no ExecCredential, but of the kind ''");
  CHECK(error(R"({"kind":"ExecCredential","apiVersion":"v0"})").find("has the apiVersion 'v0', and not") !=
        std::string::npos);
  CHECK(error(output("")) == "its answer has neither a token nor a certificate");
  CHECK(error(output(R"("clientCertificateData":"c")")).find("only one of") != std::string::npos);
  CHECK(error(output(R"("token":"t","clientKeyData":"c")")).find("only one of") != std::string::npos);
  CHECK(error(output(R"("token":"a\nb")")).find("a line's end") != std::string::npos);
  CHECK(error(output(R"("token":"t","expirationTimestamp":"soon")")).find("'soon'") != std::string::npos);
}

TEST_CASE("times are read with fractions and zones") {
  CHECK(seconds("1970-01-01T00:00:00Z") == 0);
  CHECK(seconds("2026-11-21T18:00:01Z") == 1795284001);
  CHECK(seconds("2026-11-21t18:00:01.999z") == 1795284001);
  CHECK(seconds("2026-11-21T20:30:01+02:30") == 1795284001);
  CHECK(seconds("2026-11-21T17:00:01.5-01:00") == 1795284001);
  for (const std::string_view no :
       {"", "2026-11-21", "2026-11-21T18:00:01", "2026-02-30T18:00:01Z", "2026-11-21T24:00:00Z",
        "2026-11-21T18:60:00Z", "2026-11-21T18:00:61Z", "2026-11-21T18:00:01+0230",
        "2026-11-21T18:00:01+xx:30", "2026-11-21 18:00:01Z", "2026-11-21T18:00:01Zx"}) {
    CAPTURE(no);
    CHECK_FALSE(time_in(no));
  }
}

TEST_CASE("a time outside the supported range becomes the last or the first time of the range") {
  constexpr std::int64_t kLast = 7'258'118'400;  // 2200-01-01
  CHECK(seconds("2199-12-31T23:59:59Z") == kLast - 1);
  CHECK(seconds("2200-01-01T00:00:01Z") == kLast);
  CHECK(seconds("9999-12-31T23:59:59Z") == kLast);
  CHECK(seconds("1970-01-01T00:00:01Z") == 1);
  CHECK(seconds("1970-01-01T00:00:00+01:00") == 0);
  CHECK(seconds("0001-01-01T00:00:00Z") == 0);
}

TEST_CASE("a plugin's token is used until it expires, and then the plugin runs again") {
  PluginOfTest test;
  test.answers(R"("token":"one")");
  test.start();
  CHECK(test.get("/").ok());
  CHECK(test.get("/").ok());
  CHECK(test.calls() == 1);
  CHECK(test.text("calls") == "get token\n");
  CHECK(test.text("told").find("a b {\"kind\":\"ExecCredential\"") == 0);
  CHECK(test.text("told").find(R"("cluster":{"server":")" + test.server.url()) != std::string::npos);
  CHECK(test.token() == "Bearer one");

  // This token has expired already, so the next request needs a new one.
  test.configure("        x: y\n");
  test.answers(R"("token":"two","expirationTimestamp":"2020-01-01T00:00:00Z")");
  test.start();
  CHECK(test.get("/").ok());
  CHECK(test.token() == "Bearer two");
  CHECK(test.calls() == 2);
  test.answers(R"("token":"three","expirationTimestamp":"2120-01-01T00:00:00Z")");
  CHECK(test.get("/").ok());
  CHECK(test.token() == "Bearer three");
  CHECK(test.get("/").ok());
  CHECK(test.calls() == 3);
}

TEST_CASE("a token that expires within ten seconds counts as expired") {
  PluginOfTest test;
  const auto ends_in = [&](const std::string& when) {
    test.directory.file("answer", "ends=$(date -u -d '" + when + "' +%Y-%m-%dT%H:%M:%SZ)\ncat <<X\n" +
                                      output(R"("token":"t","expirationTimestamp":"$ends")") + "\nX\n");
    test.start();
  };
  ends_in("8 seconds");
  CHECK(test.get("/").ok());
  CHECK(test.get("/").ok());
  CHECK(test.calls() == 2);
  ends_in("60 seconds");
  CHECK(test.get("/").ok());
  CHECK(test.get("/").ok());
  CHECK(test.calls() == 3);
}

TEST_CASE("a changed or removed plugin takes effect without a restart") {
  PluginOfTest test;
  test.answers(R"("token":"one","expirationTimestamp":"2120-01-01T00:00:00Z")");
  test.start();
  CHECK(test.get("/").ok());
  test.configure("        interactiveMode: Never\n");
  CHECK(test.get("/").ok());
  CHECK(test.calls() == 1);
  test.kubeconfig(
      test.server.url(),
      "      exec:\n        apiVersion: client.authentication.k8s.io/v1\n        command: ./plugin\n");
  CHECK(test.get("/").ok());
  CHECK(test.calls() == 2);

  // A plugin's expired token does not shorten how long a token of the kubeconfig is used.
  test.answers(R"("token":"two","expirationTimestamp":"2020-01-01T00:00:00Z")");
  test.options.access_age = 1min;
  test.start();
  CHECK(test.get("/").ok());
  test.kubeconfig(test.server.url(), "      token: three\n");
  CHECK(test.get("/").ok());
  CHECK(test.token() == "Bearer three");
  test.kubeconfig(test.server.url(), "      token: four\n");
  CHECK(test.get("/").ok());
  CHECK(test.token() == "Bearer three");
}

TEST_CASE("a plugin runs again when the server refuses its token") {
  PluginOfTest test;
  test.answers(R"("token":"refused")");
  test.start();
  CHECK(test.get("/").code == 401);
  CHECK(test.calls() == 2);
  test.answers(R"("token":"good")");
  CHECK(test.get("/").ok());
  CHECK(test.calls() == 3);
}

TEST_CASE(
    "if an exec plugin fails, hangs or prints garbage, the request fails with the plugin's place and "
    "reason") {
  PluginOfTest test;
  const auto asked = [&](const std::string& script) {
    test.directory.file("answer", script);
    test.options.plugin_deadline = script.find("sleep") == std::string::npos ? 10s : 0s + 200ms;
    test.start();
    return test.get("/").error;
  };
  const std::string place =
      test.directory.at("kubeconfig").string() + ":13:9: " + test.directory.at("plugin").string();
  for (const auto& [script, words] :
       std::vector<std::pair<std::string, std::string>>{{"echo 'no role' >&2; exit 3", "no role"},
                                                        {"sleep 100", "200 ms"},
                                                        {"echo nonsense", "this is no JSON"}}) {
    const std::string said = asked(script);
    INFO(said);
    CHECK(said.find(place) != std::string::npos);
    CHECK(said.find(words) != std::string::npos);
    CHECK(said.ends_with(". Ask us."));
  }
  CHECK(test.server.requests().empty());
}
