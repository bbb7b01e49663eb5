#include "kubernetes/apiserver/access.hpp"

#include <doctest/doctest.h>

#include <map>

#include "unit/temp_dir.hpp"

using namespace plughost;
namespace fs = std::filesystem;

namespace {

// A certificate and a key in PEM format, and both in base64.
const std::string kPemText = "-----BEGIN CERTIFICATE-----\nQQ==\n-----END CERTIFICATE-----\n";
const std::string kPemData =
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tClFRPT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=";
const std::string kKeyText = "-----BEGIN EC PRIVATE KEY-----\nQg==\n-----END EC PRIVATE KEY-----\n";
const std::string kKeyData =
    "LS0tLS1CRUdJTiBFQyBQUklWQVRFIEtFWS0tLS0tClFnPT0KLS0tLS1FTkQgRUMgUFJJVkFURSBLRVktLS0tLQo=";

struct Files {
  std::map<fs::path, std::string> texts;
  std::variant<ApiAccess, std::string> read(const std::string& text,
                                            const fs::path& file = "/etc/kubernetes/kubelet.conf") const {
    return read_kubeconfig(text, file, [this](const fs::path& path) -> std::variant<std::string, FileError> {
      const auto found = texts.find(path);
      if (found == texts.end()) return FileError{"cannot be opened: No such file or directory"};
      return found->second;
    });
  }
  ApiAccess access(const std::string& text, const fs::path& file = "/etc/kubernetes/kubelet.conf") const {
    const auto result = read(text, file);
    if (const auto* const error = std::get_if<std::string>(&result)) FAIL(*error);
    return std::get<ApiAccess>(result);
  }
  std::string error(const std::string& text) const {
    const auto result = read(text, "/k");
    return std::holds_alternative<std::string>(result) ? std::get<std::string>(result) : "it can be used";
  }
};

// Returns a kubeconfig with these lines for its cluster and its user, each indented by four spaces.
std::string with(const std::string& cluster, const std::string& user = "") {
  return "current-context: c\ncontexts:\n- name: c\n  context: {cluster: k, user: u}\nclusters:\n- name: k\n"
         "  cluster:\n" +
         cluster + "users:\n- name: u\n  user:\n    x: \"\"\n" + user;
}

const std::string kServer = "    server: https://10.0.0.1:6443\n";

}  // namespace

TEST_CASE("kubeadm's kubelet.conf is read") {
  const Files files{{{"/var/lib/kubelet/pki/kubelet-client-current.pem", kPemText + kKeyText}}};
  const ApiAccess access = files.access(R"(apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: )" + kPemData +
                                        R"(
    server: https://192.168.122.10:6443
  name: default-cluster
contexts:
- context:
    cluster: default-cluster
    namespace: default
    user: default-auth
  name: default-context
current-context: default-context
kind: Config
preferences: {}
users:
- name: default-auth
  user:
    client-certificate: /var/lib/kubelet/pki/kubelet-client-current.pem
    client-key: /var/lib/kubelet/pki/kubelet-client-current.pem
)");
  CHECK(access.server == "https://192.168.122.10:6443");
  CHECK(access.ca == kPemText);
  CHECK(access.certificate == kPemText + kKeyText);
  CHECK(access.key == kPemText + kKeyText);
  CHECK(access.source == "/etc/kubernetes/kubelet.conf");
  CHECK_FALSE(access.insecure);
  CHECK(access.token.empty());
  CHECK(access.warnings.empty());
}

TEST_CASE("k3s' and rke2's kubelet.kubeconfig is read") {
  for (const std::string name : {"k3s", "rke2"}) {
    const std::string agent = "/var/lib/rancher/" + name + "/agent/";
    const Files files{{{agent + "server-ca.crt", "ca " + kPemText},
                       {agent + "client-kubelet.crt", "cert " + kPemText},
                       {agent + "client-kubelet.key", kKeyText}}};
    const ApiAccess access = files.access(R"(apiVersion: v1
clusters:
- cluster:
    server: https://127.0.0.1:6443
    certificate-authority: )" + agent + R"(server-ca.crt
  name: local
contexts:
- context:
    cluster: local
    namespace: default
    user: user
  name: Default
current-context: Default
kind: Config
preferences: {}
users:
- name: user
  user:
    client-certificate: )" + agent + R"(client-kubelet.crt
    client-key: )" + agent + "client-kubelet.key\n",
                                          agent + "kubelet.kubeconfig");
    CHECK(access.ca == "ca " + kPemText);
    CHECK(access.certificate == "cert " + kPemText);
    CHECK(access.key == kKeyText);
  }
}

TEST_CASE("k0s' kubelet.conf, which contains its certificates, is read") {
  const ApiAccess access = Files().access(R"(apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: )" + kPemData +
                                          R"(
    server: https://10.1.2.3:6443
  name: k0s
contexts:
- context: {cluster: k0s, user: system:node:w}
  name: k0s
current-context: k0s
kind: Config
users:
- name: system:node:w
  user:
    client-certificate-data: )" + kPemData +
                                          "\n    client-key-data: " + kKeyData + "\n");
  CHECK(access.certificate == kPemText);
  CHECK(access.key == kKeyText);
}

TEST_CASE("MicroK8s' kubelet.config has a token") {
  const ApiAccess access = Files().access(R"(apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: )" + kPemData +
                                          R"(
    server: https://127.0.0.1:16443
  name: microk8s-cluster
contexts:
- context:
    cluster: microk8s-cluster
    user: kubelet
  name: microk8s
current-context: microk8s
kind: Config
preferences: {}
users:
- name: kubelet
  user:
    token: bWljcm9rOHM=
)");
  CHECK(access.token == "bWljcm9rOHM=");
  CHECK(access.certificate.empty());
}

TEST_CASE("a managed node's kubeconfig runs a program, and its relative paths refer to its own directory") {
  const ApiAccess access =
      Files{{{"/var/lib/kubelet/ca.crt", kPemText}}}.access(R"(apiVersion: v1
kind: Config
clusters:
- name: kubernetes
  cluster:
    certificate-authority: ca.crt
    server: https://ABC.gr7.eu-west-1.eks.amazonaws.com
current-context: kubelet
contexts:
- name: kubelet
  context: {cluster: kubernetes, user: kubelet}
users:
- name: kubelet
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1beta1
      command: bin/aws-iam-authenticator
      args: [token, -i, cluster]
      env:
      - {name: AWS_STS, value: regional}
      - name: EMPTY
      provideClusterInfo: true
      installHint: install it
      interactiveMode: Never
)",
                                                            "/var/lib/kubelet/kubeconfig");
  CHECK(access.ca == kPemText);
  REQUIRE(access.exec);
  CHECK(access.exec->api_version == "client.authentication.k8s.io/v1beta1");
  CHECK(access.exec->command ==
        std::vector<std::string>{"/var/lib/kubelet/bin/aws-iam-authenticator", "token", "-i", "cluster"});
  CHECK(access.exec->environment ==
        std::vector<std::pair<std::string, std::string>>{{"AWS_STS", "regional"}, {"EMPTY", ""}});
  CHECK(access.exec->wants_cluster);
  CHECK(access.exec->install_hint == "install it");
  CHECK(access.exec->where == "/var/lib/kubelet/kubeconfig:16:7");
}

TEST_CASE("a kubeconfig may be JSON, and the other keys of a cluster and a user are read") {
  const Files files{{{"/etc/kubernetes/tok", " file-token\n"}}};
  const ApiAccess access = files.access(
      R"({"current-context":"c","contexts":[{"name":"b","context":{"cluster":"x"}},{"name":"c","context":{"cluster":"k","user":"u"}}],
          "clusters":[{"name":"k","cluster":{"server":"https://h/k8s/clusters/c-1/","tls-server-name":"n",
          "insecure-skip-tls-verify":true,"proxy-url":"http://p:3128"}}],
          "users":[{"name":"u","user":{"token":"t","tokenFile":"tok","username":"me","password":"pw"}}]})");
  CHECK(access.server == "https://h/k8s/clusters/c-1");
  CHECK(access.tls_server_name == "n");
  CHECK(access.insecure);
  CHECK(access.proxy == "http://p:3128");
  CHECK(access.token == "file-token");
  CHECK(access.user == "me");
  CHECK(access.password == "pw");
  REQUIRE(access.warnings.size() == 1);
  CHECK(access.warnings[0].starts_with("/etc/kubernetes/kubelet.conf:3:"));
}

TEST_CASE(
    "a secret for an http server causes a warning, unless the server is on this machine, as kubectl proxy "
    "is") {
  const auto warnings = [](const std::string& server, const std::string& user) {
    return Files().access(with("    server: " + server + "\n", user), "/k").warnings;
  };
  const std::string token = "    token: t\n";
  for (const char* server : {"http://10.0.0.1:8080", "http://api.example/prefix", "http://[fd00::1]:80"}) {
    CAPTURE(server);
    CHECK(warnings(server, "").empty());
    REQUIRE(warnings(server, token).size() == 1);
    CHECK(warnings(server, token)[0] ==
          "/k:8:13: server: http:// sends the token or password over the network in clear text; write "
          "https://, with a certificate-authority");
    CHECK(warnings(server, "    username: me\n    password: pw\n").size() == 1);
    CHECK(warnings(server, "    exec: {apiVersion: client.authentication.k8s.io/v1, command: /x}\n").size() ==
          1);
  }
  for (const char* server : {"https://10.0.0.1:6443", "http://127.0.0.1:8001", "http://[::1]:8001/prefix",
                             "http://localhost:8001"})
    CHECK_MESSAGE(warnings(server, token).empty(), server);
}

TEST_CASE("data in a kubeconfig overrides a file, and a token overrides a program") {
  const std::string exec = "    exec: {apiVersion: client.authentication.k8s.io/v1, command: /x}\n";
  const ApiAccess access = Files().access(with(
      kServer + "    certificate-authority: /nowhere\n    certificate-authority-data: " + kPemData + "\n",
      "    token: t\n" + exec));
  CHECK(access.ca == kPemText);
  CHECK_FALSE(access.exec);
  CHECK(Files().access(with(kServer, exec)).exec);
}

TEST_CASE("an invalid kubeconfig is reported with its place and reason") {
  const Files files{{{"/empty", ""}, {"/text", "text"}}};
  CHECK(files.error("") == "/k: this is no kubeconfig: it is empty");
  CHECK(files.error("[]").find("/k:1:1: this is no kubeconfig, but a list") == 0);
  CHECK(files.error("a: [").find("/k:1:") == 0);
  CHECK(files.error("kind: Config").find("/k:1:1: `current-context` is missing") == 0);
  CHECK(files.error("current-context: c") == "/k:1:18: `contexts` has no 'c'");
  CHECK(files.error("current-context: c\ncontexts: {}") ==
        "/k:2:11: `contexts` is a list, and this is a map");
  CHECK(files.error("current-context: c\ncontexts: [{name: c}]") ==
        "/k:2:12: `contexts` has no `context` for 'c'");
  CHECK(files.error("current-context: c\ncontexts: [{name: c, context: {user: u}}]") ==
        "/k:2:31: the context 'c' has no `cluster`");
  CHECK(files.error("current-context: c\ncontexts: [{name: c, context: {cluster: k}}]") ==
        "/k:2:41: `clusters` has no 'k'");
  CHECK(files.error(with("    x: 1\n")) == "/k:8:5: the cluster has no `server`");
  CHECK(files.error(with("    server: 10.0.0.1:6443\n")) ==
        "/k:8:13: `server` begins with https://, and this is '10.0.0.1:6443'");
  CHECK(files.error(with("    server: https://a@b\n")).find("/k:8:13: `server` is a URL such as") == 0);
  CHECK(files.error(with(kServer + "    insecure-skip-tls-verify: yes\n")) ==
        "/k:9:31: `insecure-skip-tls-verify` is true or false, and this is 'yes'");
  CHECK(files.error(with(kServer + "    certificate-authority-data: '*'\n")) ==
        "/k:9:33: `certificate-authority-data` is no base64");
  CHECK(files.error(with(kServer + "    certificate-authority-data: QQ==\n")) ==
        "/k:9:33: what `certificate-authority-data` has is no PEM: it has no -----BEGIN");
  CHECK(files.error(with(kServer + "    certificate-authority: /nowhere\n")) ==
        "/k:9:28: /nowhere cannot be opened: No such file or directory");
  CHECK(files.error(with(kServer + "    certificate-authority: /text\n")).find("is no PEM") !=
        std::string::npos);
  CHECK(files.error(with(kServer, "    tokenFile: /empty\n")) == "/k:13:16: /empty is empty");
  CHECK(files.error(with(kServer, "    client-certificate-data: " + kPemData + "\n")) ==
        "/k:12:5: there is a `client-certificate` and no `client-key`");
  CHECK(files.error(with(kServer, "    client-key-data: " + kKeyData + "\n")) ==
        "/k:12:5: there is a `client-key` and no `client-certificate`");
  CHECK(files.error(with(kServer, "    token: \"a\\nb\"\n")) == "/k:12:5: the token has a line's end in it");
  for (const std::string key : {"as", "as-groups", "as-uid", "as-user-extra", "auth-provider"}) {
    CHECK(files.error(with(kServer, "    " + key + ": [x]\n")).find("/k:13:") == 0);
    CHECK(files.error(with(kServer, "    " + key + ": [x]\n")).find('`' + key + "` is not supported") !=
          std::string::npos);
  }
  const auto exec = [&](const std::string& text) {
    return files.error(with(kServer, "    exec: {" + text + "}\n"));
  };
  CHECK(exec("apiVersion: v2").find("/k:13:11: `exec` has the apiVersion 'v2'") == 0);
  const std::string v1 = "apiVersion: client.authentication.k8s.io/v1";
  CHECK(exec(v1) == "/k:13:11: `exec` has no `command`");
  CHECK(exec(v1 + ", command: x, interactiveMode: Always").find("needs a terminal") != std::string::npos);
  CHECK(exec(v1 + ", command: x, env: [{value: y}]").find("an item of `env` has a `name`") !=
        std::string::npos);
  CHECK(exec(v1 + ", command: x, env: [{name: a=b}]").find("an item of `env` has a `name`") !=
        std::string::npos);
}

TEST_CASE("a node's certificate contains the node's name, and other certificates give no name") {
  // Made by: openssl req -x509 -newkey ed25519 -nodes -days 1 -subj SUBJECT -noenc
  const std::string node =
      "-----BEGIN CERTIFICATE-----\nMIIBkTCCAUOgAwIBAgIUebPx3F5K//H7C0QWRtGkUzI7QmswBQYDK2VwMD4xFTAT\n"
      "BgNVBAoMDHN5c3RlbTpub2RlczElMCMGA1UEAwwcc3lzdGVtOm5vZGU6d29ya2Vy\n"
      "LTcuZXhhbXBsZTAeFw0yNjExMjMxMjM2MDdaFw0yNjExMjQxMjM2MDdaMD4xFTAT\n"
      "BgNVBAoMDHN5c3RlbTpub2RlczElMCMGA1UEAwwcc3lzdGVtOm5vZGU6d29ya2Vy\n"
      "LTcuZXhhbXBsZTAqMAUGAytlcAMhAP4r5Cg+oODRkEJEoUqKPlvO80neZrj/WYHf\n"
      "pux8q/Lwo1MwUTAdBgNVHQ4EFgQUQyVavOH5Yz18ZyMcBwmFrJUMqp0wHwYDVR0j\n"
      "BBgwFoAUQyVavOH5Yz18ZyMcBwmFrJUMqp0wDwYDVR0TAQH/BAUwAwEB/zAFBgMr\n"
      "ZXADQQCzJrHXqs3pywaZtyJ94aTETzKLZ2aWLmHg3M+JkRLM+Lk28PKsx9brPIJO\n"
      "ApJaqmDGG8d2xQ12Wc0yiXxb68QD\n-----END CERTIFICATE-----\n";
  CHECK(node_in_certificate(node) == "worker-7.example");
  CHECK(node_in_certificate(kKeyText + node) == "worker-7.example");
  CHECK(node_in_certificate(
            "-----BEGIN CERTIFICATE-----\nMIIBZzCCARmgAwIBAgIUE6K9XQDZO0NkfGjpJGz/Z+op4REwBQYDK2VwMCkxFzAV\n"
            "BgNVBAoMDnN5c3RlbTptYXN0ZXJzMQ4wDAYDVQQDDAVhZG1pbjAeFw0yNjExMjMx\n"
            "MjM2MDdaFw0yNjExMjQxMjM2MDdaMCkxFzAVBgNVBAoMDnN5c3RlbTptYXN0ZXJz\n"
            "MQ4wDAYDVQQDDAVhZG1pbjAqMAUGAytlcAMhAKEoU4KUanO7EyUNmU3k8S+hUKfX\n"
            "fsRi3IS6Qgf6h+SFo1MwUTAdBgNVHQ4EFgQU8wSgSfInBXlxYzMh33soLX0uCeMw\n"
            "HwYDVR0jBBgwFoAU8wSgSfInBXlxYzMh33soLX0uCeMwDwYDVR0TAQH/BAUwAwEB\n"
            "/zAFBgMrZXADQQAjwXoGgD6r2yOkfEf91N2+GBTK4/Gf7C3wZ/jvv3YaYUKsK/nk\n"
            "Qwt0Ndm+hEB7CojAPVvVMGe7g2XgPmMBKoYI\n-----END CERTIFICATE-----\n")
            .empty());
  CHECK(node_in_certificate(kPemText).empty());
  CHECK(node_in_certificate("-----BEGIN CERTIFICATE-----\n*").empty());
  CHECK(node_in_certificate("").empty());
  // The data end before the name's length, or within the name: 06 03 55 04 03, 0C, 20, "system:node:".
  CHECK(node_in_certificate("-----BEGIN CERTIFICATE-----\nBgNVBAMM\n").empty());
  CHECK(node_in_certificate("-----BEGIN CERTIFICATE-----\nBgNVBAMMIHN5c3RlbTpub2RlOg==\n").empty());
}

namespace {

ApiAccess found(const HostRoot& host, const WhereAccess& where) {
  auto result = find_access(host, where);
  if (const auto* const error = std::get_if<std::string>(&result)) FAIL(*error);
  return std::get<ApiAccess>(result);
}

std::string not_found(const HostRoot& host, const WhereAccess& where) {
  const auto result = find_access(host, where);
  return std::holds_alternative<std::string>(result) ? std::get<std::string>(result) : "it is found";
}

const std::string kTrusted = kServer + "    certificate-authority-data: " + kPemData + "\n";

std::string token_config(const std::string& token) { return with(kTrusted, "    token: " + token + "\n"); }

const WhereAccess kAuto{.kubeconfig = "auto"};

}  // namespace

TEST_CASE("auto finds the kubelet's own credentials of each distribution") {
  for (const std::string file :
       {"/etc/kubernetes/kubelet.conf", "/var/lib/kubelet/kubeconfig",
        "/var/lib/rancher/k3s/agent/kubelet.kubeconfig", "/var/lib/rancher/rke2/agent/kubelet.kubeconfig",
        "/var/lib/k0s/kubelet.conf", "/var/snap/microk8s/current/credentials/kubelet.config",
        "/var/lib/microshift/resources/kubelet/kubeconfig"}) {
    CAPTURE(file);
    const test::TempDir root;
    root.file(file, token_config("t"));
    const ApiAccess access = found(HostRoot(root.path()), kAuto);
    CHECK(access.source == file);
    CHECK(access.token == "t");
  }
}

TEST_CASE("of several kubeconfigs the one of the running Kubernetes is used") {
  const test::TempDir root;
  root.file("/etc/kubernetes/kubelet.conf", token_config("kubeadm"));
  root.file("/var/lib/rancher/k3s/agent/kubelet.kubeconfig", token_config("k3s"));
  root.file("/etc/systemd/system/kubelet.service", "[Service]\nExecStart=/usr/bin/kubelet\n");
  root.file("/var/lib/kubelet/kubeadm-flags.env");
  CHECK(found(HostRoot(root.path()), kAuto).token == "kubeadm");
  root.remove("/etc/systemd/system/kubelet.service");
  root.file("/etc/systemd/system/k3s-agent.service", "[Service]\nExecStart=/usr/local/bin/k3s agent\n");
  CHECK(found(HostRoot(root.path()), kAuto).token == "k3s");
}

TEST_CASE("auto prefers a pod's account, and its files are read") {
  const test::TempDir root;
  root.file("/etc/kubernetes/kubelet.conf", token_config("kubelet"));
  const WhereAccess in_pod{.kubeconfig = "auto", .service_host = "10.96.0.1", .service_port = "6443"};
  CHECK(found(HostRoot(root.path()), in_pod).token == "kubelet");
  root.file("/var/run/secrets/kubernetes.io/serviceaccount/token", "pod-token\n");
  CHECK(not_found(HostRoot(root.path()), in_pod) ==
        "the pod's account: /var/run/secrets/kubernetes.io/serviceaccount/ca.crt cannot be opened: No such "
        "file or "
        "directory");
  root.file("/var/run/secrets/kubernetes.io/serviceaccount/ca.crt", kPemText);
  const ApiAccess access = found(HostRoot(root.path()), in_pod);
  CHECK(access.token == "pod-token");
  CHECK(access.ca == kPemText);
  CHECK(access.server == "https://10.96.0.1:6443");
  CHECK(access.source == "/var/run/secrets/kubernetes.io/serviceaccount");
  CHECK(found(HostRoot(root.path()), {.kubeconfig = "auto", .service_host = "fd00::1"}).server ==
        "https://[fd00::1]:443");
  CHECK(found(HostRoot(root.path()), kAuto).token == "kubelet");
  root.file("/var/run/secrets/kubernetes.io/serviceaccount/token", "\n");
  CHECK(not_found(HostRoot(root.path()), in_pod).ends_with("/token is empty"));
}

TEST_CASE("if none is found, the error lists the searched places") {
  const test::TempDir root;
  const std::string error = not_found(HostRoot(root.path()), kAuto);
  CHECK(error.find("/etc/kubernetes/kubelet.conf") != std::string::npos);
  CHECK(error.find("/var/snap/microk8s/current/credentials/kubelet.config") != std::string::npos);
  CHECK(error.find("write `apiServer: {kubeconfig: FILE}`") != std::string::npos);
  CHECK(not_found(HostRoot(root.path()), {.kubeconfig = "/etc/x"}) ==
        "the kubeconfig /etc/x cannot be opened: No such file or directory");
}

TEST_CASE("a program without a directory is searched in PATH") {
  const test::TempDir root;
  root.file("/etc/x",
            with(kTrusted,
                 "    exec: {apiVersion: client.authentication.k8s.io/v1, command: get-token, installHint: "
                 "Ask us.}\n"));
  const WhereAccess where{.kubeconfig = "/etc/x"};
  CHECK(not_found(HostRoot(root.path()), where) ==
        "/etc/x:14:11: the program 'get-token' is in none of the directories of PATH; write its whole path. "
        "Ask us.");
  root.file("/usr/bin/get-token");
  CHECK(not_found(HostRoot(root.path()), where).find("is in none of") != std::string::npos);
  fs::permissions(root.at("/usr/bin/get-token"), fs::perms::owner_all);
  CHECK(found(HostRoot(root.path()), where).exec->command[0] == "/usr/bin/get-token");
}

TEST_CASE(
    "if a kubeconfig names no authority, those that the machine trusts are used, wherever they are stored") {
  const WhereAccess where{.kubeconfig = "/k"};
  for (const std::string file :
       {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
        "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"}) {
    CAPTURE(file);
    const test::TempDir root;
    root.file("/k", with(kServer));
    CHECK(not_found(HostRoot(root.path()), where) ==
          "/k names no certificate-authority for https://10.0.0.1:6443, and this machine has no file of "
          "authorities that it trusts, such as /etc/ssl/certs/ca-certificates.crt");
    root.file(file, kPemText);
    CHECK(found(HostRoot(root.path()), where).ca == kPemText);
  }
  const test::TempDir bare;
  bare.file("/k", with(kServer + "    insecure-skip-tls-verify: true\n"));
  CHECK(found(HostRoot(bare.path()), where).ca.empty());
  bare.file("/k", with("    server: http://127.0.0.1:8080\n"));
  CHECK(found(HostRoot(bare.path()), where).ca.empty());
}
