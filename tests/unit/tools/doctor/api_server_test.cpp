#include "unit/kubernetes/apiserver/fake_objects.hpp"
#include "unit/tools/doctor/made_node.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

Right listing() {
  return {.verb = "list",
          .resource = "nodes",
          .field_selector = "metadata.name=n",
          .name = "n",
          .key = "nodeResources"};
}

Right capacity() {
  return {.verb = "patch", .resource = "nodes", .subresource = "status", .name = "n", .key = "nodeResources"};
}

struct Asked : MadeNode {
  explicit Asked(std::vector<ApiPermissions::Answer> answers, const std::string& error = {}) {
    observed.api_permissions = ApiPermissions{.server = "https://10.0.0.1:6443",
                                              .identity = "/etc/kubernetes/kubelet.conf",
                                              .node = "n",
                                              .error = error,
                                              .warnings = {},
                                              .answers = std::move(answers)};
  }
};

}  // namespace

TEST_CASE("without `apiServer` there are no findings about it") {
  CHECK(MadeNode().look("api-server").empty());
}

TEST_CASE("an API server that allows everything needed is ok") {
  const Finding finding = Asked({{.right = capacity(), .allowed = true}}).one("api-server");
  CHECK(finding.level == Level::kOk);
  CHECK(finding.where == "https://10.0.0.1:6443");
  CHECK(finding.what == "all that is needed is allowed with the credentials of /etc/kubernetes/kubelet.conf");
}

TEST_CASE("each missing right is a problem, with the credentials and the rule that grants the right") {
  const Findings found =
      Asked({{.right = listing()}, {.right = listing(), .allowed = true}, {.right = capacity()}})
          .look("api-server");
  REQUIRE(found.size() == 2);
  CHECK(found[0].level == Level::kProblem);
  CHECK(found[0].what ==
        "we may not list nodes, where metadata.name=n with the credentials of /etc/kubernetes/kubelet.conf");
  CHECK(found[0].why == "`nodeResources` needs it");
  CHECK(found[0].advice.ends_with(R"(the rule {apiGroups: [""], resources: [nodes], verbs: [list]})"));
  CHECK(found[1].what ==
        "we may not patch nodes/status n with the credentials of /etc/kubernetes/kubelet.conf");
  CHECK(
      found[1].advice.ends_with(R"(the rule {apiGroups: [""], resources: [nodes/status], verbs: [patch]})"));
}

TEST_CASE("an API server that cannot be reached is a problem, with its reason") {
  const Finding finding = Asked({{.right = capacity()}}, "connection refused").one("api-server");
  CHECK(finding.level == Level::kProblem);
  CHECK(finding.what ==
        "it cannot be reached with the credentials of /etc/kubernetes/kubelet.conf: connection refused");
  CHECK(contains(finding.advice, "apiserver.conf"));
}

TEST_CASE(
    "a right that the API server could not decide is a warning, and so is a kubeconfig that skips "
    "verification") {
  const Asked node({{.right = capacity(), .allowed = false, .error = "webhook down"}});
  CHECK(node.one("api-server").level == Level::kWarning);
  CHECK(contains(node.one("api-server").what, "patch nodes/status n is not known: webhook down"));
  Asked insecure({{.right = capacity(), .allowed = true}});
  insecure.observed.api_permissions->warnings = {"insecure-skip-tls-verify"};
  CHECK(insecure.one("api-server").level == Level::kWarning);
  CHECK(insecure.one("api-server").where == "/etc/kubernetes/kubelet.conf");
}

TEST_CASE("a review requests exactly the right: verb, resource, name and selector") {
  CHECK(
      access_review(capacity()).dump() ==
      R"({"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","spec":{"resourceAttributes":{"verb":"patch","group":"","version":"v1","resource":"nodes","subresource":"status","name":"n"}}})");
  CHECK(
      access_review(listing())["spec"].dump() ==
      R"({"resourceAttributes":{"verb":"list","group":"","version":"v1","resource":"nodes","name":"n","fieldSelector":{"rawSelector":"metadata.name=n"}}})");
}

TEST_CASE("a review's result is yes, no, or unknown") {
  CHECK(access_answer(capacity(), R"({"status":{"allowed":true}})").allowed);
  const ApiPermissions::Answer no =
      access_answer(capacity(), R"({"status":{"allowed":false,"reason":"no"}})");
  CHECK_FALSE(no.allowed);
  CHECK(no.error.empty());
  CHECK(access_answer(capacity(), R"({"status":{"allowed":false,"evaluationError":"down"}})").error ==
        "down");
  CHECK(access_answer(capacity(), R"({"status":{"allowed":true,"evaluationError":"down"}})").error.empty());
  CHECK(contains(access_answer(capacity(), "<html>").error, "cannot be read"));
}

TEST_CASE("doctor reviews each right that the configuration needs, and names the identity") {
  FakeObjects objects;
  const TempDir files;
  const auto ask = [&](std::chrono::milliseconds limit = 15s) {
    files.file("config.yaml",
               "apiServer: {kubeconfig: " + objects.kubeconfig(files) +
                   ", node: worker-1}\nresources:\n- {name: x.com/a, gpu: {unit: {memory: 1GiB}}, "
                   "nodeResources: {x.com/n: \"{cards}\"}}\n");
    return query_api_server(load_config(files.at("config.yaml")), limit);
  };
  objects.deny("watch nodes");
  const ApiPermissions access = ask();
  CHECK(access.error.empty());
  CHECK(access.server == objects.url());
  CHECK(access.identity == files.at("kubeconfig"));
  CHECK(access.node == "worker-1");
  REQUIRE(access.answers.size() == 3);
  CHECK(access.answers[0].allowed);
  CHECK_FALSE(access.answers[1].allowed);
  CHECK(access.answers[1].right.text() == "watch nodes, where metadata.name=worker-1");
  CHECK(access.answers[2].allowed);
  CHECK(objects.written().empty());

  objects.refuse("POST ", 500);
  CHECK(contains(ask().error, "500"));
  objects.refuse("POST ", 0);
  objects.hold("POST ");
  const ApiPermissions late = ask(200ms);
  CHECK_FALSE(late.error.empty());
  CHECK_FALSE(late.answers[0].allowed);
  objects.release();
}
