#include "dra/slice_json.hpp"
#include "dra/slice_to_try.hpp"
#include "dra/terms.hpp"
#include "unit/doctor/made_node.hpp"

using namespace plughost;
using namespace plughost::test;

namespace {

Right events() {
  return {.verb = "create", .resource = "events", .key = "events"};
}

Right capacity() {
  return {.verb = "patch",
          .resource = "nodes",
          .subresource = "status",
          .name = "n",
          .key = "nodeResources",
          .for_devices = true};
}

struct Asked : MadeNode {
  explicit Asked(std::vector<ApiPermissions::Answer> answers, const std::string& trouble = {}) {
    observed.api_permissions = ApiPermissions{.server = "https://10.0.0.1:6443",
                                              .identity = "/etc/kubernetes/kubelet.conf",
                                              .node = "n",
                                              .trouble = trouble,
                                              .warnings = {},
                                              .answers = std::move(answers)};
  }
};

// Entries of tokens, and what a slice that was tried has told.
struct Tried : Asked {
  explicit Tried(const std::string& entries, SliceTrial trial = {.features = DraFeatures{}, .trouble = {}})
      : Asked({{.right = events(), .allowed = true}}) {
    configure(entries, "apiServer: {}\n");
    ClusterDra& dra = observed.api_permissions->dra.emplace();
    dra.versions = {"v1"};
    dra.slice = std::move(trial);
  }
};

SliceTrial without(const DraFeatures& features) {
  return {.features = features, .trouble = {}};
}

constexpr const char* kToken = "- {name: example.com/token, count: 2, advertise: dra}\n";
constexpr const char* kShared = "- {name: example.com/shared, count: 2, advertise: dra, replicas: 2}\n";
constexpr const char* kEvicting =
    "- {name: example.com/evicting, count: 2, advertise: dra, onUnhealthy: evict}\n";
constexpr const char* kWithdrawn =
    "- {name: example.com/withdrawn, count: 2, advertise: dra, onUnhealthy: withdraw}\n";

}  // namespace

TEST_CASE("where the API server is not asked, nothing is said of it") {
  CHECK(MadeNode().look("api-server").empty());
}

TEST_CASE("an API server that allows all that is needed is ok") {
  const Finding finding = Asked({{.right = events(), .allowed = true}}).one("api-server");
  CHECK(finding.level == Level::kOk);
  CHECK(finding.where == "https://10.0.0.1:6443");
  CHECK(finding.what == "all that is needed is allowed with the credentials of /etc/kubernetes/kubelet.conf");
}

TEST_CASE("each right that is missing is named, with who needs it and the rule that gives it") {
  const Findings found = Asked({{.right = events()}, {.right = capacity()}}).look("api-server");
  REQUIRE(found.size() == 2);
  CHECK(found[0].level == Level::kWarning);
  CHECK(found[0].what == "we may not create events with the credentials of /etc/kubernetes/kubelet.conf");
  CHECK(found[0].why == "`events` needs it");
  CHECK(found[0].advice.ends_with(R"(the rule {apiGroups: [""], resources: [events], verbs: [create]})"));
  CHECK(found[1].level == Level::kProblem);
  CHECK(found[1].what ==
        "we may not patch nodes/status n with the credentials of /etc/kubernetes/kubelet.conf");
  CHECK(found[1].why == "`nodeResources` needs it");
  CHECK(
      found[1].advice.ends_with(R"(the rule {apiGroups: [""], resources: [nodes/status], verbs: [patch]})"));
}

TEST_CASE("an API server that cannot be asked is a problem where devices need it, and else a warning") {
  const std::string trouble = "connection refused";
  CHECK(Asked({{.right = events()}}, trouble).one("api-server").level == Level::kWarning);
  const Finding finding = Asked({{.right = events()}, {.right = capacity()}}, trouble).one("api-server");
  CHECK(finding.level == Level::kProblem);
  CHECK(finding.what ==
        "it cannot be asked with the credentials of /etc/kubernetes/kubelet.conf: connection refused");
  CHECK(contains(finding.advice, "apiserver.conf"));
}

TEST_CASE(
    "a right of which the API server could not decide is a warning, and so is a credential that trusts "
    "anybody") {
  const Asked node({{.right = capacity(), .allowed = false, .trouble = "webhook down"}});
  CHECK(node.one("api-server").level == Level::kWarning);
  CHECK(contains(node.one("api-server").what, "patch nodes/status n is not known: webhook down"));
  Asked insecure({{.right = events(), .allowed = true}});
  insecure.observed.api_permissions->warnings = {"insecure-skip-tls-verify"};
  CHECK(insecure.one("api-server").level == Level::kWarning);
  CHECK(insecure.one("api-server").where == "/etc/kubernetes/kubelet.conf");
}

TEST_CASE("a review asks for exactly the right: its verb, its resource, its name and what selects it") {
  CHECK(
      access_review(capacity()).dump() ==
      R"({"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","spec":{"resourceAttributes":{"verb":"patch","group":"","version":"v1","resource":"nodes","subresource":"status","name":"n"}}})");
  const Right pods{.verb = "list", .resource = "pods", .field_selector = "spec.nodeName=n", .key = "events"};
  CHECK(
      access_review(pods)["spec"].dump() ==
      R"({"resourceAttributes":{"verb":"list","group":"","version":"v1","resource":"pods","fieldSelector":{"rawSelector":"spec.nodeName=n"}}})");
}

TEST_CASE("what a node may do to its own objects alone is not said to be missing") {
  const Right update{
      .verb = "update", .group = "resource.k8s.io", .resource = "resourceslices", .of_own_objects = true};
  CHECK(
      access_review(update)["spec"].dump() ==
      R"({"resourceAttributes":{"verb":"update","group":"resource.k8s.io","version":"v1","resource":"resourceslices"}})");
  const std::string no_name = R"({"status":{"allowed":false,"reason":"No Object name found"}})";
  const ApiPermissions::Answer answer = access_answer(update, no_name);
  CHECK(answer.by_object);
  CHECK_FALSE(answer.allowed);
  CHECK(Asked({answer}).one("api-server").level == Level::kOk);
  CHECK(access_answer(update, R"({"status":{"reason":"can only read namespaced object of this type"}})")
            .by_object);
  CHECK_FALSE(
      access_answer(update, R"({"status":{"allowed":true,"reason":"No Object name found"}})").by_object);
  CHECK_FALSE(access_answer(events(), no_name).by_object);
  const ApiPermissions::Answer no = access_answer(update, R"({"status":{"allowed":false,"reason":"no"}})");
  CHECK_FALSE(no.by_object);
  const Finding finding = Asked({no}).one("api-server");
  CHECK(finding.what ==
        "we may not update resourceslices.resource.k8s.io with the credentials of "
        "/etc/kubernetes/kubelet.conf");
  CHECK(finding.advice.ends_with(
      R"(the rule {apiGroups: ["resource.k8s.io"], resources: [resourceslices], verbs: [update]})"));
}

TEST_CASE("a review's answer is yes, no, or that nobody knows") {
  CHECK(access_answer(events(), R"({"status":{"allowed":true}})").allowed);
  const ApiPermissions::Answer no = access_answer(events(), R"({"status":{"allowed":false,"reason":"no"}})");
  CHECK_FALSE(no.allowed);
  CHECK(no.trouble.empty());
  CHECK(access_answer(events(), R"({"status":{"allowed":false,"evaluationError":"down"}})").trouble ==
        "down");
  CHECK(access_answer(events(), R"({"status":{"allowed":true,"evaluationError":"down"}})").trouble.empty());
  CHECK(contains(access_answer(events(), "<html>").trouble, "cannot be read"));
}

TEST_CASE("where no entry is advertised by DRA, or the API server was not asked, nothing is said of that") {
  CHECK(Asked({{.right = events(), .allowed = true}}).look("dra").empty());
  Asked away({{.right = events()}}, "connection refused");
  away.observed.api_permissions->dra = ClusterDra{};
  CHECK(away.look("dra").empty());
}

TEST_CASE("a cluster that serves resource.k8s.io as v1 is ok, and every other is a problem") {
  Asked node({{.right = events(), .allowed = true}});
  ClusterDra& dra = node.observed.api_permissions->dra.emplace();
  CHECK(node.one("dra").level == Level::kProblem);
  CHECK(node.one("dra").what == "it does not serve resource.k8s.io");
  dra.versions = {"v1beta1", "v1alpha3"};
  CHECK(node.one("dra").level == Level::kProblem);
  CHECK(node.one("dra").what == "it serves resource.k8s.io as v1beta1, v1alpha3, and not as v1");
  dra.versions = {"v1beta2", "v1beta1"};
  CHECK(node.one("dra").level == Level::kNote);
  CHECK(contains(node.one("dra").advice, "1.34"));
  dra.versions = {"v1beta2", "v1"};
  CHECK(node.one("dra").level == Level::kOk);
  CHECK(node.one("dra").where == "https://10.0.0.1:6443");
  dra.trouble = "403 Forbidden";
  CHECK(node.one("dra").level == Level::kWarning);
  CHECK(contains(node.one("dra").what, "is not known: 403 Forbidden"));
}

TEST_CASE("what a device plugin has left on the node is named, with what it does to pods") {
  Asked node({{.right = events(), .allowed = true}});
  node.configure(
      "- {name: example.com/token, count: 2, advertise: dra}\n- {name: example.com/other, count: 2}\n",
      "apiServer: {}\n");
  ClusterDra& dra = node.observed.api_permissions->dra.emplace();
  dra.versions = {"v1"};
  dra.allocatable = {{"example.com/other", "0"}, {"example.com/third", "0"}};
  CHECK(node.one("dra").level == Level::kOk);
  dra.allocatable["example.com/token"] = "0";
  CHECK(node.one("dra").level == Level::kWarning);
  CHECK(node.one("dra").where == "n");
  CHECK(node.one("dra").what == "a device plugin has left example.com/token: 0 on this node");
  CHECK(contains(node.one("dra").why, "1.34 and 1.35"));
  dra.allocatable["example.com/token"] = "2";
  CHECK(node.one("dra").what == "a device plugin serves example.com/token: 2 on this node");
  CHECK(contains(node.one("dra").advice, "stop the other plugin"));
}

TEST_CASE("an API server that keeps all that is used of it is ok, whatever else it has not") {
  const Finding finding = Tried(kToken).one("dra");
  CHECK(finding.level == Level::kOk);
  CHECK(finding.what ==
        "resource.k8s.io is served as v1, and it keeps all that the configuration uses of it");
  CHECK(Tried(kToken, without({.sharing = false, .partitions = false})).one("dra").level == Level::kOk);
  CHECK(Tried(kWithdrawn, without({.taints = false})).one("dra").level == Level::kOk);
  CHECK(Tried("- {name: example.com/plugin, count: 2, replicas: 2}\n" + std::string(kToken),
              without({.sharing = false}))
            .one("dra")
            .level == Level::kOk);
}

TEST_CASE("without taints nobody sees why a device is not there, and nobody is evicted") {
  const std::string both = std::string(kToken) + kShared + kWithdrawn;
  const Finding finding = Tried(both, without({.taints = false})).one("dra");
  CHECK(finding.level == Level::kNote);
  CHECK(finding.where == "https://10.0.0.1:6443");
  CHECK(finding.what ==
        "its feature gate DRADeviceTaints is off, and example.com/shared, example.com/token would use it");
  CHECK_FALSE(contains(finding.why, "evict"));
  CHECK(contains(finding.advice, "turn DRADeviceTaints on"));
  CHECK(contains(finding.advice, "onUnhealthy: withdraw"));
  const Finding evicting = Tried(std::string(kEvicting) + kToken, without({.taints = false})).one("dra");
  CHECK(evicting.level == Level::kWarning);
  CHECK(contains(evicting.why, "no pod is evicted"));
}

TEST_CASE("without consumable capacity shares are devices, which a claim by capacity does not get") {
  const Finding finding = Tried(std::string(kToken) + kShared, without({.sharing = false})).one("dra");
  CHECK(finding.level == Level::kWarning);
  CHECK(finding.what == "its feature gate DRAConsumableCapacity is off, and example.com/shared would use it");
  CHECK(contains(finding.why, "asks for a capacity is not allocated"));
  CHECK(contains(finding.advice, "turn DRAConsumableCapacity on"));
}

TEST_CASE("without counters a divided card is not offered as a whole") {
  Tried node(kToken, without({.partitions = false}));
  Device whole{.id = "GPU-1"};
  whole.attributes = {{"parts", "2"}};
  Recipe recipe;
  recipe.dra =
      std::make_shared<const DraTerms>(DraTerms{.types = {{"parts", AttributeType::kParts}}, .unit = {}});
  node.observed.devices.offers.push_back({.resource = "example.com/card",
                                          .inventory = Inventory({whole}),
                                          .recipe = std::make_shared<const Recipe>(recipe)});
  const Finding finding = node.one("dra");
  CHECK(finding.level == Level::kWarning);
  CHECK(finding.what == "its feature gate DRAPartitionableDevices is off, and example.com/card would use it");
  CHECK(contains(finding.why, "not offered as a whole"));
  node.observed.api_permissions->dra->slice =
      without({.taints = false, .sharing = false, .partitions = false});
  CHECK(node.look("dra").size() == 2);  // the others are of the token, which has no shares
}

TEST_CASE(
    "a slice that the API server refuses is a problem, unless a right that is missing says so already") {
  Tried node(kToken, {.features = std::nullopt, .refused = true, .trouble = "403 Forbidden: other node"});
  const Finding finding = node.one("dra");
  CHECK(finding.level == Level::kProblem);
  CHECK(finding.what == "it refuses a ResourceSlice of the node n: 403 Forbidden: other node");
  CHECK(contains(finding.advice, "plughost dra rbac"));
  Right create{.verb = "create", .group = "resource.k8s.io", .resource = "resourceslices"};
  node.observed.api_permissions->answers = {{.right = create, .allowed = true}};
  CHECK(node.one("dra").level == Level::kProblem);
  node.observed.api_permissions->answers = {{.right = create, .allowed = false}};
  CHECK(node.one("dra").level == Level::kOk);
  CHECK(node.one("dra").what == "resource.k8s.io is served as v1");
  create.resource = "events";
  node.observed.api_permissions->answers = {{.right = create, .allowed = false}};
  CHECK(node.one("dra").level == Level::kProblem);
}

TEST_CASE("features of which the API server has said nothing are a warning") {
  const Finding finding =
      Tried(kToken, {.features = std::nullopt, .refused = false, .trouble = "Timeout was reached"})
          .one("dra");
  CHECK(finding.level == Level::kWarning);
  CHECK(finding.what == "which features it has for devices is not known: Timeout was reached");
}

TEST_CASE("a trial of a slice tells what was kept, that it is refused, or that nobody knows") {
  const Slice tried = slice_to_try("plughost.example.com", "n", true);
  const auto answer = [](int code, const std::string& body, const std::string& trouble = {}) {
    ApiAnswer made;
    made.code = code;
    made.body = body;
    made.trouble = trouble;
    return made;
  };
  const auto shown = [&](const Slice& slice) {
    return slice_json(slice, {.driver = "plughost.example.com", .node = "n", .node_uid = {}}, "v1").dump();
  };
  CHECK(slice_trial(tried, answer(201, shown(tried))) == without({}));
  Slice dropped = tried;
  dropped.devices.edit()[0].taints.clear();
  CHECK(slice_trial(tried, answer(201, shown(dropped))) == without({.taints = false}));
  Slice other = tried;
  other.name = "other";
  for (const std::string& body : {std::string("<html>"), std::string("{}"), shown(other)}) {
    const SliceTrial trial = slice_trial(tried, answer(200, body));
    CHECK_FALSE(trial.features);
    CHECK_FALSE(trial.refused);
    CHECK(contains(trial.trouble, "not the slice that was sent"));
  }
  for (const int code : {0, 401, 404, 409, 429, 500, 503}) {
    CAPTURE(code);
    const SliceTrial trial = slice_trial(tried, answer(code, "", "why"));
    CHECK(trial == SliceTrial{.features = std::nullopt, .refused = false, .trouble = "why"});
  }
  for (const int code : {403, 422})
    CHECK(slice_trial(tried, answer(code, "", "why")) ==
          SliceTrial{.features = std::nullopt, .refused = true, .trouble = "why"});
}

TEST_CASE("the versions of a group, and the extended resources of a Node, as the API server writes them") {
  CHECK(served_versions(R"({"kind":"APIGroup","versions":[{"groupVersion":"g/v1","version":"v1"},)"
                        R"({"groupVersion":"g/v1beta1","version":"v1beta1"}]})") ==
        std::vector<std::string>{"v1", "v1beta1"});
  CHECK(served_versions("<html>").empty());
  CHECK(extended_resources(R"({"items":[{"status":{"capacity":{"x.com/a":"9"},"allocatable":)"
                           R"({"cpu":"2","x.com/a":"0","x.com/b":"1k"}}}]})") ==
        std::map<std::string, std::string>{{"x.com/a", "0"}, {"x.com/b", "1k"}});
  CHECK(runtime_of_node(
            R"({"items":[{"status":{"nodeInfo":{"containerRuntimeVersion":"containerd://2.2.9"}}}]})") ==
        "containerd://2.2.9");
  CHECK(runtime_of_node("").empty());
  CHECK(runtime_of_node(R"({"items":[]})").empty());
  CHECK(extended_resources("").empty());
  CHECK(extended_resources(R"({"items":[]})").empty());
}
