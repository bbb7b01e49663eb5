// Checks NVIDIA's cards from the driver's library to a container, with a fake library whose cards a text file
// describes.

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "integration/node.hpp"
#include "integration/resource_names.hpp"
#include "places.hpp"
#include "unit/fake_nvml.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

const std::string kGpu = "nvidia.com/gpu";
const std::string kTwoCards = "card GPU-a minor=0 memory=81559\ncard GPU-b minor=1 memory=81559\n";
// Cards are scanned every 5 s.
constexpr std::chrono::milliseconds kLook = 5s + kLong;

void start(Node& node, const std::string& resources) {
  node.configure(resources);
  node.start_kubelet();
  node.start_daemon({std::string("LD_LIBRARY_PATH=") + kFakeNvmlDirectory});
}

std::string cards(const std::string& more = {}, const std::string& keys = "vendor: nvidia") {
  return "- {name: " + kGpu + ", gpu: {" + keys + "}" + (more.empty() ? "" : ", " + more) + "}\n";
}

std::string visible(const AllocateAnswer& answer) {
  return answer.containers.empty() ? answer.text : answer.containers[0].env.at("NVIDIA_VISIBLE_DEVICES");
}

std::size_t unhealthy_ids(const KubeletState& state, const std::string& beginning) {
  return static_cast<std::size_t>(std::ranges::count_if(
      *state.of(kGpu).devices,
      [&](const ListedDevice& device) { return !device.healthy && device.id.starts_with(beginning); }));
}

}  // namespace

TEST_CASE("cards are read from the library and listed, and given to a container") {
  const FakeNvml fake(kTwoCards);
  Node node;
  start(node, cards());
  REQUIRE(node.healthy(kGpu, "GPU-a"));
  CHECK(node.healthy(kGpu, "GPU-b"));
  CHECK(visible(node.kubelet().allocate_ids(kGpu, {"GPU-b", "GPU-a"})) == "GPU-b,GPU-a");
  CHECK(node.kubelet().allocate("pod", "main", kGpu, 2).admitted());
}

TEST_CASE("a card that is lost during Allocates affects no other card, and no response is wrong") {
  const FakeNvml fake(kTwoCards);
  Node node;
  start(node, cards());
  REQUIRE(node.healthy(kGpu, "GPU-a"));
  fake.show("card GPU-a minor=0 lost=1\ncard GPU-b minor=1\n");
  bool refused = false;
  CHECK(eventually(
      [&] {
        const AllocateAnswer lost = node.kubelet().allocate_ids(kGpu, {"GPU-a"});
        refused = lost.code != 0;
        if (refused)
          CHECK(lost.text.find("GPU is lost") != std::string::npos);
        else
          CHECK(visible(lost) == "GPU-a");
        CHECK(visible(node.kubelet().allocate_ids(kGpu, {"GPU-b"})) == "GPU-b");
        return refused;
      },
      kLook));
  CHECK(node.unhealthy(kGpu, "GPU-a"));
  CHECK(node.healthy(kGpu, "GPU-b"));
}

TEST_CASE("an error of a card makes all of its replicas Unhealthy, until `undrain` clears it") {
  const FakeNvml fake(kTwoCards);
  Node node;
  start(node, cards("replicas: 8"));
  REQUIRE(node.count(kGpu, 16));
  fake.show(kTwoCards + "event 1 0 8 79\n");
  REQUIRE(
      node.wait_for([](const KubeletState& state) { return unhealthy_ids(state, "GPU-a::") == 8; }, kLook));
  CHECK(unhealthy_ids(node.kubelet().state(), "GPU-b::") == 0);
  CHECK(node.daemon().wait_for_line({"devices turned Unhealthy", "XID 79: the GPU has fallen off the bus"},
                                    kLong));
  CHECK(node.kubelet().allocate_ids(kGpu, {"GPU-a::3"}).text.find("XID 79") != std::string::npos);
  const auto undrain = [&](const std::string& device) {
    return run_plughost({"undrain", kGpu + "=" + device, "--control", node.control()});
  };
  CHECK(undrain("GPU-b").output.find("there is no drained device") != std::string::npos);
  const auto done = undrain("GPU-a::3");
  CHECK(done.exit_code == 0);
  CHECK(done.output == kGpu + "=GPU-a is back in service\n");
  CHECK(node.count(kGpu, 16, kLook));
}

TEST_CASE("a driver can be replaced once its cards are drained: NVML is closed until one is undrained") {
  const FakeNvml fake(kTwoCards);
  Node node;
  start(node, cards());
  REQUIRE(node.healthy(kGpu, "GPU-a"));
  const auto order = [&](const char* word, const char* device) {
    return run_plughost({word, kGpu + "=" + device, "--control", node.control()}).exit_code;
  };
  REQUIRE(order("drain", "GPU-a") == 0);
  CHECK(node.unhealthy(kGpu, "GPU-a"));
  CHECK(fake.in_use());
  REQUIRE(order("drain", "GPU-b") == 0);
  CHECK(eventually([&] { return !fake.in_use(); }, 5s));
  fake.show("fail nvmlInit_v2 9\n");  // as while the driver is replaced
  CHECK(node.unhealthy(kGpu, "GPU-b"));
  fake.show(kTwoCards);
  REQUIRE(order("undrain", "GPU-b") == 0);
  CHECK(eventually([&] { return fake.in_use(); }));
  CHECK(node.healthy(kGpu, "GPU-b"));
  CHECK(node.unhealthy(kGpu, "GPU-a"));
}

TEST_CASE(
    "a driver can be replaced while its entry does not apply: NVML is closed until the entry applies again") {
  const FakeNvml fake(kTwoCards);
  Node node;
  node.files().file("labels", "nvidia.com/gpu.deploy.client=true\n");
  node.set_top("nodeLabels: " + node.path("labels") + '\n');
  start(node, cards("when: {not: {label: {nvidia.com/gpu.deploy.client: \"paused-*\"}}}"));
  REQUIRE(node.healthy(kGpu, "GPU-a"));
  CHECK(fake.in_use());
  node.files().file("labels", "nvidia.com/gpu.deploy.client=paused-for-driver-upgrade\n");
  CHECK(eventually([&] { return !fake.in_use(); }, 5s));
  node.files().file("labels", "");
  CHECK(eventually([&] { return fake.in_use(); }));
  CHECK(node.wait_for([](const KubeletState& state) { return state.of(kGpu).streams == 1; }));
  CHECK(node.healthy(kGpu, "GPU-a"));
}

TEST_CASE(
    "an entry lists the cards that `only` selects, with the replicas of each, and a reload can change both") {
  const FakeNvml fake(
      "card GPU-a minor=0 pci=0000:3b:00.0 name=NVIDIA_A100\n"
      "card GPU-b minor=1 pci=0000:86:00.0 name=Tesla_T4\n"
      "card GPU-c minor=2 pci=0000:af:00.0 name=NVIDIA_A100\n");
  const std::string replicas = R"(, replicas: {"*A100*": 2, "*T4*": 3})";
  Node node;
  start(node,
        cards(R"(only: [{name: "*A100*"}, {name: "*H100*"}], except: [{pci: "0000:af:00.0"}])" + replicas));
  REQUIRE(node.count(kGpu, 2));
  CHECK(ids_of(node.of(kGpu)) == std::vector<std::string>{"GPU-a::0", "GPU-a::1"});
  CHECK(visible(node.kubelet().allocate_ids(kGpu, {"GPU-a::1"})) == "GPU-a");
  CHECK(node.daemon().wait_for_line({"pattern matches no device on this node", "pattern=only[1]"}, kLong));

  CHECK(run_plughost({"status", "--control", node.control()})
            .output.find("no device matches: only[1] of " + kGpu) != std::string::npos);
  node.configure(cards(R"(only: [{name: "*"}, {name: "*H200*"}], except: [{index: 0}])" + replicas));
  REQUIRE(node.reload());
  CHECK(node.count(kGpu, 5));
  CHECK(node.healthy(kGpu, "GPU-b::2"));
  CHECK(node.healthy(kGpu, "GPU-c::1"));
  CHECK(node.unhealthy(kGpu, "GPU-a::0"));
  CHECK(node.kubelet().allocate_ids(kGpu, {"GPU-a::0"}).text.find("left out by its entry") !=
        std::string::npos);
  CHECK(node.of(kGpu).registrations.size() == 1);
  CHECK(node.daemon().comes_to_lines("pattern matches no device on this node", 3));
}

TEST_CASE("16 cards with 64 replicas each have 1,024 ids, and each id leads to its card") {
  std::string machine;
  for (int n = 0; n < 16; ++n)
    machine += "card GPU-" + std::to_string(n) + " minor=" + std::to_string(n) + '\n';
  const FakeNvml fake(machine);
  Node node;
  start(node, cards("replicas: 64, allocationPolicy: distributed"));
  REQUIRE(node.count(kGpu, 1024));
  const Admission admitted = node.kubelet().allocate("pod", "main", kGpu, 16);
  REQUIRE(admitted.admitted());
  std::set<std::string> own;
  for (const std::string& id : admitted.ids) own.insert(id.substr(0, id.find("::")));
  CHECK(own.size() == 16);
  CHECK(visible(node.kubelet().allocate_ids(kGpu, {"GPU-7::0", "GPU-7::63"})) == "GPU-7");
}

TEST_CASE("a library that stalls in any call affects no other resource, and is used when it responds") {
  for (const char* call : {"nvmlInit_v2",
                           "nvmlDeviceGetCount_v2",
                           "nvmlDeviceGetHandleByIndex_v2",
                           "nvmlDeviceGetUUID",
                           "nvmlDeviceGetName",
                           "nvmlDeviceGetMinorNumber",
                           "nvmlDeviceGetPciInfo_v3",
                           "nvmlDeviceGetMemoryInfo",
                           "nvmlDeviceGetMigMode",
                           "nvmlDeviceGetMaxMigDeviceCount",
                           "nvmlDeviceGetMigDeviceHandleByIndex",
                           "nvmlDeviceGetGpuInstanceId",
                           "nvmlDeviceGetComputeInstanceId",
                           "nvmlDeviceGetTopologyCommonAncestor",
                           "nvmlDeviceGetNvLinkState",
                           "nvmlDeviceGetFieldValues",
                           "nvmlEventSetCreate",
                           "nvmlDeviceGetSupportedEventTypes",
                           "nvmlDeviceRegisterEvents",
                           "nvmlEventSetWait_v2"}) {
    CAPTURE(call);
    const std::string machine = kTwoCards + "card GPU-c mig=1\nmig 2 MIG-x gi=1 name=A_MIG_1g.5gb\n";
    const FakeNvml fake(machine + "hang " + call + '\n');
    Node node;
    node.files().file("gophers/one");
    start(node, cards({}, "vendor: nvidia, mig: mixed") + listed(kToken, node.path("gophers")));
    REQUIRE(node.healthy(kToken, "one"));
    node.files().file("gophers/two");
    CHECK(node.healthy(kToken, "two"));
    CHECK(node.kubelet().allocate_ids(kToken, {"one"}).code == 0);
    CHECK_FALSE(node.of(kGpu).attached);
    fake.show(machine);
    CHECK(node.healthy(kGpu, "MIG-x"));
  }
}

TEST_CASE("while a library stalls after the start, requests for its cards are refused with that reason") {
  const FakeNvml fake(kTwoCards);
  Node node;
  start(node, cards() + counted(kToken, 2));
  REQUIRE(node.healthy(kGpu, "GPU-a"));
  fake.show(kTwoCards + "hang nvmlDeviceGetUUID\n");
  REQUIRE(node.daemon().wait_for_line({"device scan takes too long"}, 10s + kLong));
  CHECK(node.kubelet().allocate_ids(kGpu, {"GPU-a"}).text.find("a driver or a file system hangs") !=
        std::string::npos);
  CHECK(node.kubelet().allocate_ids(kToken, {kToken + "-0"}).code == 0);
  fake.show(kTwoCards);
  CHECK(eventually([&] { return node.kubelet().allocate_ids(kGpu, {"GPU-a"}).code == 0; }));
}

TEST_CASE("cards that are divided while the daemon runs are replaced by resources of their MIG devices") {
  const FakeNvml fake("card GPU-a minor=0 mig=0\n");
  Node node;
  start(node, "- {name: \"nvidia.com/{type}\", gpu: {vendor: nvidia, mig: mixed}, forgetAfter: 1s}\n");
  REQUIRE(node.healthy(kGpu, "GPU-a"));
  fake.show(
      "card GPU-a minor=0 mig=1\nmig 0 MIG-x gi=1 name=A_MIG_1g.5gb\nmig 0 MIG-y gi=2 name=A_MIG_1g.5gb\n");
  const std::string parts = "nvidia.com/mig-1g.5gb";
  CHECK(node.wait_for([&](const KubeletState& state) { return state.of(parts).allocatable == 2; }, kLook));
  CHECK(visible(node.kubelet().allocate_ids(parts, {"MIG-y"})) == "MIG-y");
  CHECK(node.wait_for([](const KubeletState& state) { return !state.of(kGpu).attached; }, kLook));
}

TEST_CASE("units that are too small for a message are refused, with the smallest unit that fits") {
  std::string machine;
  for (int n = 0; n < 4; ++n)
    machine += "card GPU-00000000-0000-0000-0000-00000000000" + std::to_string(n) + " memory=81559\n";
  const FakeNvml fake(machine);
  Node node;
  start(node, cards({}, "vendor: nvidia, unit: {memory: 1MiB}") + counted(kToken, 1));
  REQUIRE(node.attached({kToken}));
  CHECK(node.daemon().wait_for_line({"do not fit into one message to the kubelet", "would fit"}, kLong));
  CHECK_FALSE(node.of(kGpu).attached);
}

TEST_CASE("cards for MPS are not offered before the MPS daemon is ready, and are Unhealthy when it ends") {
  const FakeNvml fake(kTwoCards);
  Node node;
  start(node, cards({}, "vendor: nvidia, mps: true, mpsRoot: " + node.path("mps")) + counted(kToken, 1));
  REQUIRE(node.attached({kToken}));
  REQUIRE(
      node.daemon().wait_for_line({"nothing is offered yet", "the MPS control daemon is not ready"}, kLong));
  CHECK_FALSE(node.of(kGpu).attached);
  const std::string control = "mps/nvidia.com/gpu/pipe/control";
  node.files().file(control);
  REQUIRE(node.healthy(kGpu, "GPU-a"));
  node.files().remove(control);
  CHECK(node.unhealthy(kGpu, "GPU-a", kLook));
  CHECK(node.kubelet().allocate_ids(kGpu, {"GPU-a"}).text.find("the MPS control daemon is not ready") !=
        std::string::npos);
}

TEST_CASE("the CDI specification of NVIDIA's tool is written before the cards are offered") {
  const FakeNvml fake("card GPU-a minor=0\n");
  Node node;
  const std::string text = R"({"cdiVersion":"0.5.0","devices":[{"name":"GPU-a"}]})";
  node.files().file("ctk", "#!/bin/sh\necho '" + text + "'\n");
  std::filesystem::permissions(node.files().at("ctk"), std::filesystem::perms(0755));
  start(node, cards({}, "vendor: nvidia, deviceListStrategy: cdi-cri, nvidiaCtk: " + node.path("ctk")) +
                  "cdi: {directory: " + node.path("cdi") + "}\n");
  REQUIRE(node.healthy(kGpu, "GPU-a"));
  std::ifstream file(node.files().at("cdi/k8s.device-plugin.nvidia.com-gpu.json"));
  std::string line;
  std::getline(file, line);
  CHECK(line == text);
  CHECK(node.kubelet().allocate_ids(kGpu, {"GPU-a"}).containers.at(0).cdi ==
        std::vector<std::string>{"k8s.device-plugin.nvidia.com/gpu=GPU-a"});
}

TEST_CASE("two entries that list one card are reported in the log, with the positions of both") {
  const FakeNvml fake(kTwoCards);
  Node node;
  // With CDI, a container that has cards of both entries can see all of them.
  const std::string by_cdi = "vendor: nvidia, deviceListStrategy: cdi-cri";
  start(node, cards() + "- {name: nvidia.com/gpu.shared, gpu: {" + by_cdi + "}}\n");
  REQUIRE(node.attached({kGpu, "nvidia.com/gpu.shared"}));
  CHECK(node.daemon().wait_for_line({"two entries list the same id", "GPU-a", kGpu, "nvidia.com/gpu.shared",
                                     " at=" + node.configuration(), "other_at=" + node.configuration()},
                                    kLong));
}

TEST_CASE("a container's units belong to the best fitting card, and to several cards only with spanCards") {
  const std::string units = "vendor: nvidia, unit: {memory: 1GiB}";
  const std::string counts = R"(env: {UNITS: "{units} of {cardUnits}, {totalUnits}"})";
  const FakeNvml fake("card GPU-a minor=0 memory=8192\ncard GPU-b minor=1 memory=4096\n");
  Node node;
  start(node, cards(counts, units));
  REQUIRE(node.count(kGpu, 12));
  const auto ask = [&](const std::string& pod, std::size_t count) {
    const Admission admission = node.kubelet().allocate(pod, "main", kGpu, count);
    return admission.admitted() ? admission.answer.env.at("NVIDIA_VISIBLE_DEVICES") : admission.error;
  };
  const Finished simulated =
      run_plughost({"simulate", "--config", node.configuration(), kGpu + "=4"},
                   {"/usr/bin/env", std::string("LD_LIBRARY_PATH=") + kFakeNvmlDirectory});
  CHECK_MESSAGE(simulated.output.find("NVIDIA_VISIBLE_DEVICES=GPU-b") != std::string::npos, simulated.output);
  CHECK(ask("one", 3) == "GPU-b");
  const std::string big = ask("big", 9);
  CAPTURE(big);
  CHECK(big.find("the units of a container are one card's, and of nvidia.com/gpu it would get") !=
        std::string::npos);
  CHECK(big.ends_with(". Free are 8 on GPU-a, 1 on GPU-b"));
  CHECK(ask("two", 3) == "GPU-a");
  CHECK(ask("three", 1) == "GPU-b");
  const std::vector<std::string> two_cards{"GPU-b::0", "GPU-a::7"};
  for (const char* pod : {"one", "two", "three"}) node.kubelet().free(pod);
  CHECK(node.kubelet().allocate_named("five", "main", kGpu, two_cards).error.find("1 of GPU-b, 1 of GPU-a") !=
        std::string::npos);

  node.configure(cards("allocationPolicy: distributed", units));
  REQUIRE(node.reload());
  // Two units of each card are in use. Without `units`, the policy would use one of each.
  const std::vector<std::string> free{"GPU-a::0", "GPU-a::1", "GPU-a::2", "GPU-a::3",
                                      "GPU-a::4", "GPU-a::5", "GPU-b::0", "GPU-b::1"};
  CHECK(eventually([&] {
    return node.kubelet().preferred_ids(kGpu, free, {}, 2).containers.at(0) ==
           std::vector<std::string>{"GPU-a::0", "GPU-a::1"};
  }));

  node.configure(cards(counts, units + ", spanCards: true"));
  REQUIRE(node.reload());
  Admission spanning;
  REQUIRE(eventually([&] {
    spanning = node.kubelet().allocate_named("six", "main", kGpu, two_cards);
    return spanning.admitted();
  }));
  CHECK(spanning.answer.env.at("NVIDIA_VISIBLE_DEVICES") == "GPU-b,GPU-a");
  CHECK(spanning.answer.env.at("UNITS") == "2 of 4,8, 12");
}

TEST_CASE("entries with `sameCard` give a container one card under different ids, or refuse it") {
  const std::string memory = "example.com/memory";
  const std::string cores = "example.com/cores";
  const auto entry = [](const std::string& name, const std::string& unit, const std::string& near) {
    const std::string word = name.substr(name.find('/') + 1);
    return "- {name: " + name + ", gpu: {vendor: nvidia, unit: {" + unit + "}}, id: \"" + word +
           "-{index}\", near: " + near + ", sameCard: true}\n";
  };
  const FakeNvml fake("card GPU-a minor=0 memory=8192\ncard GPU-b minor=1 memory=4096\n");
  Node node;
  start(node, "- {name: " + memory + ", gpu: {unit: {memory: 1GiB}}, id: \"memory-{index}\"}\n");
  REQUIRE(node.count(memory, 12));
  node.configure(entry(memory, "memory: 1GiB", cores) + entry(cores, "cores: 10", memory));
  REQUIRE(node.reload());
  REQUIRE(node.count(cores, 20));
  const auto card = [](const Admission& admission) {
    return admission.admitted() ? admission.answer.env.at("NVIDIA_VISIBLE_DEVICES") : admission.error;
  };
  // Two requests within a second count as those of one container, so a slow machine repeats them.
  CHECK(eventually([&] {
    node.kubelet().free("follows");
    const std::string first = card(node.kubelet().allocate_named("follows", "main", memory, {"memory-1::3"}));
    return first == "GPU-b" && card(node.kubelet().allocate("follows", "main", cores, 6)) == "GPU-b";
  }));
  CHECK(eventually([&] {
    node.kubelet().free("refused");
    node.kubelet().allocate_named("refused", "main", cores, {"cores-0::9"});
    const std::string second =
        card(node.kubelet().allocate_named("refused", "main", memory, {"memory-1::0"}));
    return second.find("the container would get GPU-b, and what it has of " + cores) != std::string::npos &&
           second.find("is of GPU-a") != std::string::npos;
  }));
  // The pod of the refused container has ended, and a new pod follows.
  node.kubelet().free("refused");
  CHECK(card(node.kubelet().allocate_named("next", "main", memory, {"memory-1::0"})) == "GPU-b");
}
