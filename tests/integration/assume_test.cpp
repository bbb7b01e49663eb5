// Checks entries with `assume`: a scheduler's extender has chosen the card, which the pod's annotation names.

#include <doctest/doctest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>

#include "integration/node.hpp"
#include "integration/resource_names.hpp"
#include "places.hpp"
#include "unit/fake_nvml.hpp"
#include "unit/kubernetes/apiserver/fake_cluster.hpp"
#include "unit/kubernetes/kubelet/fake_pods_api.hpp"
#include "unit/model/assume/pods.hpp"
#include "unit/texts.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

const std::string kMemory = kGpuMemory;
const std::string kTwo = "card GPU-a minor=0 memory=16384\ncard GPU-b minor=1 memory=81920\n";
const std::string kAssigned = "ALIYUN_COM_GPU_MEM_ASSIGNED";
const std::string kIndex = "ALIYUN_COM_GPU_MEM_IDX";
const std::string kPatch = "PATCH /api/v1/namespaces/ns/pods/";
const std::string kPendingList =
    "GET /api/v1/pods?fieldSelector=spec.nodeName%3Dworker-1%2Cstatus.phase%3DPending";

// The source from which plughost receives the pods.
enum class Tells { kServer, kKubelet };

// A node with these cards, a cluster, and plughost on the node.
struct Rig {
  FakeNvml cards;
  FakeCluster cluster;
  Node node;
  std::optional<FakePodsApi> pods_api;

  explicit Rig(const std::string& assume, const std::string& more = {}, Tells tells = Tells::kServer,
               const std::string& script = kTwo)
      : cards(script) {
    if (tells == Tells::kKubelet) pods_api.emplace(node.files().at(Node::kPodsApi));
    node.set_top("apiServer: {kubeconfig: " + cluster.kubeconfig(node.files()) +
                 ", node: " + FakeObjects::kNode + "}\ncdi: {directory: " + node.path("cdi") + "}\n");
    node.configure("- {name: " + kMemory + ", gpu: {vendor: nvidia, unit: {memory: 1GiB}}, assume: {" +
                   assume + "}" + (more.empty() ? "" : ", " + more) + "}\n" + counted(kOther, 3));
    node.start_kubelet();
    start();
  }
  void start() {
    node.start_daemon({std::string("LD_LIBRARY_PATH=") + kFakeNvmlDirectory});
    REQUIRE(node.attached({kMemory, kOther}));
  }
  // Binds a pod to the node. The kubelet's pods API, if there is one, has the pod at once.
  void put(const PodText& text) {
    cluster.put_pod(text.json());
    if (pods_api) pods_api->put(text.json());
  }
  void pod(const std::string& uid, const std::string& time, const std::string& card,
           std::vector<std::uint64_t> units = {2}) {
    put({.uid = uid,
         .name = uid,
         .units = std::move(units),
         .annotations = gpushare_annotations(time, card)});
  }
  Finished simulate(const std::string& what, const std::string& pod, const std::string& format = "table") {
    return run_plughost({"simulate", "--config", node.configuration(), "--pod", pod, "-o", format, what},
                        {"/usr/bin/env", std::string("LD_LIBRARY_PATH=") + kFakeNvmlDirectory});
  }
  void remove(const std::string& uid) {
    cluster.remove_pod(uid);
    if (pods_api) pods_api->remove(uid);
  }
  Admission admit(const std::string& uid, std::size_t units = 2, const std::string& container = "c0") {
    return node.kubelet().allocate(uid, container, kMemory, units);
  }
  bool marked(const std::string& uid) {
    return eventually([&] { return cluster.annotation(uid, kAssigned) == "true"; }, kLong);
  }
  std::size_t patches() const { return cluster.asked(kPatch); }
  // Returns the CDI specification to which a late answer's name leads now; empty if there is none.
  std::string specification(const Admission& admission) {
    if (admission.answer.cdi.empty()) return {};
    const std::string& name = admission.answer.cdi[0];
    std::ifstream file(cdi_file(name.substr(name.find('=') + 1)));
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  std::string cdi_file(const std::string& device) {
    if (!std::filesystem::exists(node.files().at("cdi"))) return {};
    for (const auto& entry : std::filesystem::directory_iterator(node.files().at("cdi"))) {
      if (has(entry.path().filename().string(), device)) return entry.path();
    }
    return {};
  }
};

constexpr const char* kLate = "dialect: gpushare, identify: late";
constexpr const char* kGuess = "dialect: gpushare";

}  // namespace

TEST_CASE(
    "guess: a container gets the card of its pod's annotation, whatever the ids are, and the pod is marked") {
  Rig rig(kGuess);
  rig.pod("pod-a", "100", "1");
  const Admission admission = rig.admit("pod-a");
  CHECK(admission.error == "");
  CHECK(admission.answer.env == std::map<std::string, std::string>{{"NVIDIA_VISIBLE_DEVICES", "1"},
                                                                   {kIndex, "1"},
                                                                   {"ALIYUN_COM_GPU_MEM_POD", "2"},
                                                                   {"ALIYUN_COM_GPU_MEM_CONTAINER", "2"},
                                                                   {"ALIYUN_COM_GPU_MEM_DEV", "80"}});
  CHECK(rig.marked("pod-a"));
  REQUIRE(rig.cluster.pod_patches().size() == 1);
  CHECK(rig.cluster.pod_patches()[0].starts_with(
      R"({"metadata":{"uid":"pod-a","annotations":{"ALIYUN_COM_GPU_MEM_ASSIGNED":"true",)"
      R"("ALIYUN_COM_GPU_MEM_ASSUME_TIME":")"));
  CHECK(rig.node.kubelet().start_container("pod-a").empty());
}

TEST_CASE(
    "guess: doslab's annotations name the card by its UUID, in either set of names, and volcano's by its "
    "index") {
  using Env = std::map<std::string, std::string>;
  const Env doslab{{"NVIDIA_VISIBLE_DEVICES", "GPU-b"},
                   {"DOSLAB_IO_GPU_UUID", "GPU-b"},
                   {"DOSLAB_IO_GPU_RESOURCE_USED_BY_POD", "2"},
                   {"DOSLAB_IO_GPU_RESOURCE_USED_BY_CONTAINER", "2"},
                   {"DOSLAB_IO_GPU_RESOURCE_TOTAL", "96"}};
  const Env volcano{{"NVIDIA_VISIBLE_DEVICES", "1"},
                    {"VOLCANO_GPU_ALLOCATED", "2048"},
                    {"VOLCANO_GPU_MEMORY_TOTAL", "81920"}};
  struct Case {
    std::string dialect;
    std::string annotations;
    std::string assigned;
    Env env;
  };
  const Case cases[] = {
      {"doslab",
       R"("DOSLAB_IO_GPU_ASSUME_TIME":"1","DOSLAB_IO_GPU_ASSIGNED":"false","DOSLAB_IO_GPU_UUID":"GPU-b")",
       "DOSLAB_IO_GPU_ASSIGNED", doslab},
      {"doslab",
       R"("doslab.io/gpu-assume-time":"1","doslab.io/gpu-assigned":"false","doslab.io/gpu-uuid":"GPU-b")",
       "doslab.io/gpu-assigned", doslab},
      {"volcano", R"("volcano.sh/predicate-time":"1","volcano.sh/gpu-index":"1")", "volcano.sh/gpu-assigned",
       volcano}};
  for (const Case& each : cases) {
    CAPTURE(each.annotations);
    Rig rig("dialect: " + each.dialect);
    rig.put({.uid = "pod-a", .name = "pod-a", .annotations = each.annotations});
    const Admission admission = rig.admit("pod-a");
    CHECK(admission.error == "");
    CHECK(admission.answer.env == each.env);
    CHECK(eventually([&] { return rig.cluster.annotation("pod-a", each.assigned) == "true"; }, kLong));
    CHECK(rig.cluster.pod_patches() ==
          std::vector<std::string>{R"({"metadata":{"uid":"pod-a","annotations":{")" + each.assigned +
                                   R"(":"true"}}})"});
  }
}

TEST_CASE("guess: the containers of a pod are answered one by one, and the pod is marked after the last") {
  Rig rig(kGuess);
  rig.pod("pod-a", "100", "1", {1, 2});
  CHECK(rig.admit("pod-a", 1, "c0").admitted());
  const Admission second = rig.admit("pod-a", 2, "c1");
  CHECK(second.admitted());
  CHECK(second.answer.env.at("ALIYUN_COM_GPU_MEM_POD") == "3");
  CHECK(rig.marked("pod-a"));
  CHECK(rig.patches() == 1);
}

TEST_CASE(
    "guess: Allocate waits for a pod that appears late, and finds a pod that no watch reports by a list") {
  Rig rig(kGuess);
  auto first = std::async(std::launch::async, [&] { return rig.admit("pod-a"); });
  rig.pod("pod-a", "100", "0");
  CHECK(first.get().error.empty());
  rig.cluster.hold_watches(true);
  rig.pod("pod-b", "200", "1");
  const auto asked = std::chrono::steady_clock::now();
  const Admission second = rig.admit("pod-b");
  CHECK(second.error.empty());
  CHECK(second.answer.env.at(kIndex) == "1");
  CHECK(std::chrono::steady_clock::now() - asked < 2s + kLong);
}

TEST_CASE("guess: the error names the candidates if no pod fits, and the card if that does not exist") {
  Rig rig(kGuess);
  rig.pod("pod-b", "100", "1", {5});
  CHECK(has(rig.admit("pod-a").error,
            "no pod on this node waits for 2 units: ns/pod-b: its container c0 asks for 5"));
  rig.pod("pod-c", "100", "7", {3});
  CHECK(has(rig.admit("pod-c", 3).error, "is \"7\", and no card of this node is that; there are 0, 1"));
  CHECK(rig.patches() == 0);
}

TEST_CASE("guess: an unreachable API server delays an Allocate by two seconds, and no other resource") {
  Rig rig(kGuess);
  rig.pod("pod-a", "100", "0");
  CHECK(rig.admit("pod-a").admitted());
  rig.cluster.stop();
  const auto asked = std::chrono::steady_clock::now();
  auto waits =
      std::async(std::launch::async, [&] { return rig.node.kubelet().allocate_ids(kMemory, {"GPU-a::1"}); });
  CHECK(rig.node.kubelet().allocate_ids(kOther, {ids_of(rig.node.of(kOther))[0]}).code == 0);
  CHECK(std::chrono::steady_clock::now() - asked < 1s);
  const AllocateAnswer answer = waits.get();
  CHECK(answer.code != 0);
  CHECK(has(answer.text, "the known pods may be outdated"));
  CHECK(std::chrono::steady_clock::now() - asked < 2s + kLong);
}

TEST_CASE(
    "guess: of two equal pods that were mistaken for each other, the one on a wrong card does not start") {
  Rig rig(kGuess);
  rig.pod("pod-a", "100", "0");
  rig.pod("pod-b", "200", "1");
  // The kubelet admits them in the reverse order.
  const Admission b = rig.admit("pod-b");
  REQUIRE(b.admitted());
  CHECK(b.answer.env.at(kIndex) == "0");
  // The first pod is a candidate again without another list.
  rig.cluster.hold_watches(true);
  CHECK(rig.admit("pod-a").answer.env.at(kIndex) == "0");
  CHECK(rig.cluster.asked(kPendingList) == 0);
  rig.cluster.hold_watches(false);
  const std::string why = rig.node.kubelet().start_container("pod-b");
  CHECK_MESSAGE(
      has(why, "the container was given card 0, but the scheduler chose card 1 for its pod ns/pod-b"), why);
  CHECK(rig.node.daemon().wait_for_line({"PreStartContainer refused", "Delete the pod"}, kLong));
  CHECK(rig.node.kubelet().start_container("pod-a").empty());
  CHECK(rig.marked("pod-a"));
  // The pod's controller creates a new pod.
  rig.node.kubelet().free("pod-b");
  rig.remove("pod-b");
  rig.pod("pod-c", "300", "1");
  CHECK(rig.admit("pod-c").answer.env.at(kIndex) == "1");
  CHECK(rig.node.kubelet().start_container("pod-c").empty());
  CHECK(rig.cluster.annotation("pod-a", kIndex) == "0");
  CHECK(rig.marked("pod-c"));
  for (const std::string& patch : rig.cluster.pod_patches()) CHECK_FALSE(has(patch, kIndex));
}

TEST_CASE(
    "guess: a tenant who edits the card in a pod's annotation gets no other card, and changes no other pod") {
  Rig rig(kGuess);
  rig.pod("mine", "100", "0");
  REQUIRE(rig.admit("mine").answer.env.at(kIndex) == "0");
  REQUIRE(rig.marked("mine"));
  rig.pod("theirs", "200", "0");
  rig.cluster.annotate("mine", {{kIndex, "7"}});
  CHECK(rig.node.kubelet().start_container("mine").empty());
  CHECK(rig.admit("theirs").answer.env.at(kIndex) == "0");
  CHECK(rig.node.kubelet().start_container("theirs").empty());
  CHECK(rig.marked("theirs"));
  CHECK(rig.cluster.annotation("theirs", kIndex) == "0");
  CHECK(rig.patches() == 2);
}

TEST_CASE(
    "guess: without a scheduler, onlyCard gives the only card, and answerWithoutCard gives gpushare's "
    "answer") {
  SUBCASE("onlyCard") {
    Rig rig("dialect: gpushare, onlyCard: true", "", Tells::kServer, "card GPU-a minor=0 memory=16384\n");
    const Admission admission = rig.admit("pod-a");
    CHECK(admission.error == "");
    CHECK(admission.answer.env.at("NVIDIA_VISIBLE_DEVICES") == "GPU-a");
    CHECK(admission.answer.env.at(kIndex) == "0");
    CHECK(rig.node.kubelet().start_container("pod-a").empty());
    CHECK(rig.patches() == 0);
  }
  SUBCASE("answerWithoutCard") {
    Rig rig("dialect: gpushare, answerWithoutCard: true");
    const Admission admission = rig.admit("pod-a");
    CHECK(admission.error == "");
    CHECK(admission.answer.env.at("NVIDIA_VISIBLE_DEVICES") == "no-gpu-has-2GiB-to-run");
    CHECK(admission.answer.env.at(kIndex) == "-1");
  }
}

TEST_CASE("guess: a container on a node with the label cgpu.disable.isolation gets CGPU_DISABLE") {
  Rig rig(kGuess);
  const std::string watch = "GET /api/v1/nodes?watch=true";
  REQUIRE(eventually([&] { return rig.cluster.asked(watch) == 1; }, kLong));
  rig.cluster.label("cgpu.disable.isolation", "true");
  rig.start();
  rig.pod("pod-a", "100", "0");
  REQUIRE(eventually([&] { return rig.cluster.asked(watch) == 2; }, kLong));
  const Admission admission = rig.admit("pod-a");
  REQUIRE(admission.admitted());
  CHECK(admission.answer.env.contains("CGPU_DISABLE"));
}

TEST_CASE("a pod's mark that cannot be written is retried, and the pod is admitted in the meantime") {
  for (const int code : {403, 409, 500}) {
    CAPTURE(code);
    Rig rig(kGuess);
    rig.cluster.refuse(kPatch, code, 1);
    rig.pod("pod-a", "100", "1");
    CHECK(rig.admit("pod-a").admitted());
    CHECK(rig.marked("pod-a"));
    CHECK(rig.patches() == 2);
    CHECK(rig.node.daemon().wait_for_line({"cannot write a pod annotation", "refused by the test"}, kLong));
    CHECK(rig.node.daemon().wait_for_line({"pod annotation written"}, kLong));
  }
}

TEST_CASE(
    "if plughost is killed between its answer and the pod's mark, it writes the mark after its restart") {
  for (const char* const assume : {kGuess, kLate}) {
    CAPTURE(assume);
    Rig rig(assume, "cdi: true");
    rig.cluster.refuse(kPatch, 500);
    rig.pod("pod-a", "100", "1");
    CHECK(rig.admit("pod-a").admitted());
    rig.node.daemon().signal(SIGKILL);
    rig.node.end_daemon();
    rig.cluster.refuse(kPatch, 0);
    rig.start();
    CHECK(rig.marked("pod-a"));
    CHECK(rig.cluster.annotation("pod-a", kIndex) == "1");
  }
}

TEST_CASE("late: equal pods get their own cards, in whatever order they are admitted and started") {
  Tells tells = Tells::kServer;
  SUBCASE("the API server reports the pods") {}
  SUBCASE("the kubelet reports the pods") { tells = Tells::kKubelet; }
  Rig rig(kLate, "cdi: true", tells);
  rig.pod("pod-a", "100", "0");
  rig.pod("pod-b", "200", "1");
  const Admission b = rig.admit("pod-b");
  const Admission a = rig.admit("pod-a");
  REQUIRE(a.admitted());
  REQUIRE(b.admitted());
  REQUIRE(a.answer.cdi.size() == 1);
  CHECK(a.answer.cdi[0].starts_with(kMemory + "=late-"));
  CHECK(a.answer.cdi != b.answer.cdi);
  CHECK(a.answer.env.empty());
  CHECK(rig.specification(a).empty());
  CHECK(rig.node.kubelet().start_container("pod-b").empty());
  CHECK(has(rig.specification(b), "\"NVIDIA_VISIBLE_DEVICES=1\""));
  CHECK(has(rig.specification(b), "\"ALIYUN_COM_GPU_MEM_DEV=80\""));
  CHECK(rig.specification(a).empty());
  CHECK(rig.node.kubelet().start_container("pod-a").empty());
  CHECK(has(rig.specification(a), "\"NVIDIA_VISIBLE_DEVICES=0\""));
  CHECK(has(rig.specification(a), "\"name\": \"" + a.answer.cdi[0].substr(a.answer.cdi[0].find('=') + 1)));
  CHECK(rig.marked("pod-a"));
  CHECK(rig.marked("pod-b"));
  // The file is removed when the ids leave the checkpoint.
  rig.node.kubelet().free("pod-b");
  CHECK(rig.node.kubelet().allocate("pod-x", "c0", kOther, 1).admitted());
  rig.remove("pod-b");
  // An event of a different pod leads to the removal. That pod requests three units, because two could be the
  // same ids as pod-b's, and equal ids have the same file.
  rig.pod("pod-c", "300", "0", {3});
  REQUIRE(rig.admit("pod-c", 3).admitted());
  CHECK(rig.node.kubelet().start_container("pod-c").empty());
  CHECK(eventually([&] { return rig.specification(b).empty(); }, kLong));
  CHECK(has(rig.specification(a), "NVIDIA_VISIBLE_DEVICES=0"));
}

TEST_CASE(
    "late: a start before the scheduler has chosen a card fails with this reason, and a later one succeeds") {
  Tells tells = Tells::kServer;
  SUBCASE("the API server reports the pods") {}
  SUBCASE("the kubelet reports the pods") { tells = Tells::kKubelet; }
  Rig rig(kLate, "cdi: true", tells);
  rig.put({.uid = "pod-a", .name = "pod-a", .annotations = R"("x":"y")"});
  const Admission admission = rig.admit("pod-a");
  REQUIRE(admission.admitted());
  CHECK(has(rig.node.kubelet().start_container("pod-a"),
            "pod ns/pod-a has no annotation ALIYUN_COM_GPU_MEM_IDX: its scheduler has not set the card"));
  CHECK(rig.patches() == 0);
  rig.pod("pod-a", "5", "1");
  CHECK(rig.node.kubelet().start_container("pod-a").empty());
  CHECK(has(rig.specification(admission), "NVIDIA_VISIBLE_DEVICES=1"));
  CHECK(rig.marked("pod-a"));
}

TEST_CASE(
    "late: without the API server pods are admitted at once, and their containers start when it is back") {
  Rig rig(kLate, "cdi: true");
  rig.cluster.stop();
  const auto asked = std::chrono::steady_clock::now();
  const Admission admission = rig.admit("pod-a");
  CHECK(admission.admitted());
  CHECK(std::chrono::steady_clock::now() - asked < 1s);
  CHECK(has(rig.node.kubelet().start_container("pod-a"),
            "no pod on this node has the UID pod-a, as far as is known"));
  rig.cluster.start();
  rig.pod("pod-a", "100", "1");
  CHECK(eventually([&] { return rig.node.kubelet().start_container("pod-a").empty(); }, kLong));
  CHECK(has(rig.specification(admission), "NVIDIA_VISIBLE_DEVICES=1"));
}

TEST_CASE(
    "late: a container keeps its card over a restart of the container, and over a restart of plughost") {
  Rig rig(kLate, "cdi: true");
  rig.pod("pod-a", "100", "1");
  const Admission admission = rig.admit("pod-a");
  REQUIRE(rig.node.kubelet().start_container("pod-a").empty());
  const std::string before = rig.specification(admission);
  rig.cluster.set_phase("pod-a", "Running");
  rig.node.daemon().signal(SIGKILL);
  rig.node.end_daemon();
  rig.start();
  std::filesystem::remove_all(rig.node.files().at("cdi"));
  CHECK(eventually([&] { return rig.node.kubelet().start_container("pod-a").empty(); }, kLong));
  CHECK(rig.specification(admission) == before);
  CHECK(has(before, "NVIDIA_VISIBLE_DEVICES=1"));
}

TEST_CASE("late: CDI specifications are removed when a reload removes their entry and `apiServer`") {
  Rig rig(kLate, "cdi: true");
  rig.pod("pod-a", "100", "1");
  const Admission admission = rig.admit("pod-a");
  REQUIRE(rig.node.kubelet().start_container("pod-a").empty());
  REQUIRE(has(rig.specification(admission), "NVIDIA_VISIBLE_DEVICES=1"));
  rig.node.set_top("cdi: {directory: " + rig.node.path("cdi") + "}\n");
  rig.node.configure(counted(kOther, 3));
  REQUIRE(rig.node.reload());
  CHECK(eventually([&] { return rig.specification(admission).empty(); }, kLong));
}

TEST_CASE("late: each container of a pod gets its units, on the pod's card") {
  Rig rig(kLate, "cdi: true");
  rig.put({.uid = "pod-a",
           .name = "pod-a",
           .units = {1, 2},
           .init = {4},
           .annotations = gpushare_annotations("100", "1")});
  const Admission init = rig.admit("pod-a", 4, "i0");
  const Admission one = rig.admit("pod-a", 1, "c0");
  const Admission two = rig.admit("pod-a", 2, "c1");
  REQUIRE(two.admitted());
  CHECK(rig.node.kubelet().start_container("pod-a").empty());
  const auto says = [&](const Admission& admission, const std::string& units) {
    const std::string text = rig.specification(admission);
    return has(text, "ALIYUN_COM_GPU_MEM_CONTAINER=" + units + "\"") &&
           has(text, "ALIYUN_COM_GPU_MEM_POD=3\"") && has(text, "NVIDIA_VISIBLE_DEVICES=1\"");
  };
  CHECK(says(init, "4"));
  CHECK(says(one, "1"));
  CHECK(says(two, "2"));
  CHECK(rig.marked("pod-a"));
}

TEST_CASE("guess: two Allocates at once for equal pods serve one pod each") {
  Rig rig(kGuess);
  rig.pod("pod-a", "100", "0");
  rig.pod("pod-b", "200", "1");
  auto first = std::async(std::launch::async, [&] {
    return rig.node.kubelet().allocate_ids(kMemory, {"GPU-a::1", "GPU-a::2"});
  });
  auto second = std::async(std::launch::async, [&] {
    return rig.node.kubelet().allocate_ids(kMemory, {"GPU-a::3", "GPU-a::4"});
  });
  const AllocateAnswer one = first.get();
  const AllocateAnswer other = second.get();
  REQUIRE(one.code == 0);
  REQUIRE(other.code == 0);
  CHECK(one.containers.at(0).env.at(kIndex) != other.containers.at(0).env.at(kIndex));
}

TEST_CASE("pods API: equal pods get their own cards, and the API server only receives the marks") {
  Rig rig(kGuess, "", Tells::kKubelet);
  // The kubelet admits the pods one after the other, in a different order than the scheduler has chosen their
  // cards.
  rig.pod("pod-b", "200", "1");
  const Admission b = rig.admit("pod-b");
  REQUIRE(b.error == "");
  CHECK(b.answer.env.at(kIndex) == "1");
  rig.pod("pod-a", "100", "0");
  const Admission a = rig.admit("pod-a");
  REQUIRE(a.error == "");
  CHECK(a.answer.env.at(kIndex) == "0");
  CHECK(rig.marked("pod-a"));
  CHECK(rig.marked("pod-b"));
  CHECK(rig.patches() == 2);
  CHECK(rig.cluster.asked("GET /api/v1/pods") == 0);
  // A refused pod is no candidate for the next one of its size.
  rig.pod("pod-c", "50", "7");
  CHECK(has(rig.admit("pod-c").error, "no card of this node is that"));
  rig.put(
      {.uid = "pod-c", .name = "pod-c", .annotations = gpushare_annotations("50", "7"), .phase = "Failed"});
  rig.pod("pod-d", "300", "1");
  CHECK(rig.admit("pod-d").answer.env.at(kIndex) == "1");
}

TEST_CASE("pods API: pods are admitted without the API server, and marked when it is back") {
  Rig rig(kGuess, "", Tells::kKubelet);
  rig.cluster.stop();
  rig.pod("pod-a", "100", "1");
  CHECK(rig.admit("pod-a").error == "");
  CHECK(has(rig.admit("nobody").error, "no pod on this node waits for 2 units: ns/pod-a: "));
  rig.cluster.start();
  CHECK(rig.marked("pod-a"));
}

TEST_CASE("while the kubelet's pods API does not respond yet, waiting pods are read from the API server") {
  Rig rig(kGuess, "", Tells::kKubelet);
  rig.pods_api->refuse(grpc::StatusCode::FAILED_PRECONDITION, 1000);
  rig.pod("pod-a", "100", "1");
  const Admission admission = rig.admit("pod-a");
  CHECK(admission.error == "");
  CHECK(rig.cluster.asked(kPendingList) == 1);
  rig.cluster.stop();
  const std::string error = rig.admit("pod-b").error;
  CHECK_MESSAGE(has(error, "the pods of this node are unknown: the kubelet: as the test wants it; "), error);
}

TEST_CASE("the status reports the holder of each card by the response, not by the ids, with the pod's name") {
  Rig rig(kGuess);
  rig.put({.uid = "pod-a", .name = "trainer", .units = {2}, .annotations = gpushare_annotations("100", "1")});
  REQUIRE(rig.node.kubelet().allocate_named("pod-a", "c0", kMemory, {"GPU-a::0", "GPU-a::1"}).admitted());
  std::string status;
  CHECK(eventually(
      [&] {
        status = run_plughost({"status", "--control", rig.node.control(), "-o", "json"}).output;
        const Json json = Json::parse(status.substr(status.find('{')));
        for (const Json& resource : json["resources"].array()) {
          if (resource["name"].text() != kMemory) continue;
          bool on_b = false;
          for (const Json& device : resource["list"].array()) {
            const bool held = !device["holders"].array().empty();
            // The kubelet's checkpoint has only the UID.
            if (held && device["holders"].array()[0]["namespace"].text() != "ns") return false;
            if (held && device["holders"].array()[0]["pod"].text() != "trainer") return false;
            if (held && device["id"].text() != "GPU-b") return false;
            on_b = on_b || held;
          }
          return on_b;
        }
        return false;
      },
      kLong));
  CAPTURE(status);
}

TEST_CASE(
    "simulate --pod: the output has the card of each container of a pod, the whole response, and the mark") {
  for (const Tells tells : {Tells::kServer, Tells::kKubelet}) {
    CAPTURE(static_cast<int>(tells));
    Rig rig(kGuess, "", tells);
    rig.pod("trainer", "100", "1", {1, 2});
    const Finished words = rig.simulate(kMemory, "ns/trainer");
    CHECK_MESSAGE(words.exit_code == 0, words.output);
    for (
        const char* const line :
        {"gives pod ns/trainer\n", "  container   c0\n    units       1\n    card        GPU-b\n",
         "  container   c1\n", "    env         ALIYUN_COM_GPU_MEM_POD=3\n",
         R"(  mark        {"metadata":{"uid":"trainer","annotations":{"ALIYUN_COM_GPU_MEM_ASSIGNED":"true",)"})
      CHECK_MESSAGE(has(words.output, line), words.output);
    const Json told = Json::parse(rig.simulate(kMemory + "=2", "ns/trainer", "json").output);
    CHECK(told["uid"].text() == "trainer");
    REQUIRE(told["containers"].array().size() == 1);
    const Json& container = told["containers"].array()[0];
    CHECK(container["container"].text() == "c1");
    CHECK(container["card"].text() == "GPU-b");
    CHECK(container["answer"]["env"]["ALIYUN_COM_GPU_MEM_CONTAINER"].text() == "2");
    CHECK(told["mark"]["metadata"]["annotations"][kAssigned].text() == "true");
    CHECK(rig.patches() == 0);
  }
}

TEST_CASE(
    "simulate --pod: a pod that Allocate would mistake is reported, and a refused or an unknown pod is an "
    "error") {
  Rig rig(kGuess);
  rig.pod("young", "200", "0");
  rig.pod("old", "100", "1");
  rig.pod("lost", "100", "7", {3});
  const Finished young = rig.simulate(kMemory, "ns/young");
  CHECK(young.exit_code == 0);
  CHECK_MESSAGE(has(young.output, "    taken for   ns/old, which was assumed before it\n"), young.output);
  CHECK_FALSE(has(rig.simulate(kMemory, "ns/old").output, "taken for"));
  // The other candidate has been admitted.
  REQUIRE(rig.admit("old").admitted());
  CHECK_FALSE(has(rig.simulate(kMemory, "ns/young").output, "taken for"));
  const Finished lost = rig.simulate(kMemory, "ns/lost");
  CHECK(lost.exit_code == 1);
  CHECK_MESSAGE(has(lost.output, "refuses pod ns/lost\n"), lost.output);
  CHECK(has(lost.output, "and no card of this node is that; there are 0, 1"));
  CHECK_FALSE(has(lost.output, "mark"));
  const Finished nobody = rig.simulate(kMemory, "ns/nobody");
  CHECK(nobody.exit_code == 1);
  CHECK_MESSAGE(
      has(nobody.output, "no pod ns/nobody of this node asks for " + kMemory + "; there are ns/lost"),
      nobody.output);
  CHECK(has(rig.simulate(kMemory + "=9", "ns/old").output, "no container of pod ns/old asks for 9"));
  CHECK(has(rig.simulate(kMemory + "=GPU-a::1", "ns/old").output, "give a number of units"));
  CHECK(has(rig.simulate(kOther, "ns/old").output, "--pod is for an entry with `assume`"));
  const Finished by_ids =
      run_plughost({"simulate", "--config", rig.node.configuration(), kMemory + "=2"},
                   {"/usr/bin/env", std::string("LD_LIBRARY_PATH=") + kFakeNvmlDirectory});
  CHECK(by_ids.exit_code == 1);
  CHECK_MESSAGE(has(by_ids.output, "as in --pod default/trainer"), by_ids.output);
}

TEST_CASE(
    "simulate --pod: with `identify: late` a container gets the edits for which its CDI name will stand") {
  Rig rig(kLate, "cdi: true");
  rig.pod("trainer", "100", "1");
  const Json told = Json::parse(rig.simulate(kMemory, "ns/trainer", "json").output);
  REQUIRE(told["containers"].array().size() == 1);
  CHECK(told["containers"].array()[0]["answer"]["byCdi"]["env"]["ALIYUN_COM_GPU_MEM_IDX"].text() == "1");
  rig.cluster.refuse("GET /api/v1/pods", 403);
  const Finished forbidden = rig.simulate(kMemory, "ns/trainer");
  CHECK(forbidden.exit_code == 1);
  CHECK_MESSAGE(has(forbidden.output, "refused by the test"), forbidden.output);
}
