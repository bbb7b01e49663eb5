// Entries with `advertise: dra`: the daemon between a kubelet and an API server, from the device to the slice
// and from the claim to the container.

#include <doctest/doctest.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <set>

#include "dra/names.hpp"
#include "integration/dra_rig.hpp"
#include "unit/fake_nvml.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

TEST_CASE("dra: devices are in slices, and a claim gets one and gives it back") {
  DraRig rig;
  CHECK(rig.published("a b"));
  CHECK(rig.registered());
  CHECK(rig.node.of(kSerial).registrations.empty());
  for (const Json& slice : rig.objects.all(FakeObjects::kSlices))
    CHECK(slice["spec"]["nodeName"].text() == FakeObjects::kNode);

  rig.allocate("one", {"a"});
  const ClaimsAnswer answer = rig.prepare("one");
  REQUIRE(answer.error.empty());
  const auto devices = std::get<std::vector<PreparedDevice>>(answer.outcomes.at("uid-one"));
  REQUIRE(devices.size() == 1);
  CHECK(devices[0].pool == kSerialPool);
  CHECK(devices[0].device == "a");
  CHECK(devices[0].requests == std::vector<std::string>{"port"});
  REQUIRE_FALSE(devices[0].cdi.empty());
  CHECK(devices[0].cdi[0] == kSerial + "=a");
  // What the container runtime looks up is there.
  CHECK(text_of(specification(rig.node.files())).find(rig.node.path("serial/a")) != std::string::npos);
  CHECK_FALSE(rig.claim_file("one").empty());
  const Finished told = run_plughost({"status", "--control", rig.node.control()});
  CHECK(told.output.find("default/one") != std::string::npos);
  CHECK(told.output.find("pod-one") != std::string::npos);
  CHECK(told.output.find("published") != std::string::npos);
  CHECK_MESSAGE(told.output.find(kSerial + "/a") != std::string::npos, told.output);
  CHECK(told.output.find(kSerialPool) == std::string::npos);
  const Finished opened = run_plughost({"status", kSerial, "--control", rig.node.control()});
  CHECK_MESSAGE(opened.output.find(kSerialPool + ", 1 slice, generation 1") != std::string::npos,
                opened.output);
  CHECK(opened.output.find("default/one") != std::string::npos);
  const Finished check = run_plughost({"status", "--check", "--control", rig.node.control()});
  CHECK_MESSAGE(check.exit_code == 0, check.output);
  CHECK(check.output.find("1 pool published") != std::string::npos);

  CHECK(rig.unprepare("one").error.empty());
  CHECK(rig.claim_file("one").empty());
  CHECK(rig.pool() == "a b");
}

TEST_CASE("dra: a divided card is in the pool beside its parts, and has what all of them have") {
  const FakeNvml fake(
      "card GPU-a minor=0 memory=40960 mig=1 name=NVIDIA_A100\n"
      "mig 0 MIG-x gi=7 memory=4864 sms=14 slices=4:1 name=NVIDIA_A100_MIG_1g.5gb\n"
      "mig 0 MIG-y gi=8 memory=9856 sms=28 slices=0:2 name=NVIDIA_A100_MIG_2g.10gb\n"
      "card GPU-b minor=1 memory=40960 name=NVIDIA_A100\n");
  FakeObjects objects;
  Node node{{.pod_resources = true, .drivers = true}};
  node.set_top("apiServer: {kubeconfig: " + objects.kubeconfig(node.files()) +
               ", node: " + FakeObjects::kNode + "}\ncdi: {directory: " + node.path("cdi") +
               "}\ndra: {driver: " + kDriver + "}\n");
  node.configure(
      "- {name: nvidia.com/gpu, gpu: {vendor: nvidia, mig: mixed, whole: true}, advertise: dra}\n");
  node.start_kubelet();
  node.start_daemon({"LD_LIBRARY_PATH=" PLUGHOST_FAKE_NVML_DIRECTORY});

  // A device's counters, as many as there are of each in the pool, and those of the whole card.
  std::map<std::string, Json> devices;
  Json counters;
  REQUIRE(eventually([&] {
    devices.clear();
    for (const Json& slice : objects.all(FakeObjects::kSlices)) {
      for (const Json& device : slice["spec"]["devices"].array()) devices[device["name"].text()] = device;
      for (const Json& set : slice["spec"]["sharedCounters"].array()) counters = set;
    }
    return devices.size() == 4 && !counters.is_null();
  }));
  const std::string whole = device_label("GPU-a");
  const Json& used = devices.at(whole)["consumesCounters"].array().at(0);
  CHECK(used["counterSet"].text() == counters["name"].text());
  CHECK(used["counters"] == counters["counters"]);
  CHECK(counters["counters"]["memory-slice-4"]["value"].text() == "1");
  CHECK(counters["counters"]["multiprocessors"]["value"].text() == "42");
  CHECK(devices.at(device_label("MIG-x"))["consumesCounters"]
            .array()
            .at(0)["counters"]["multiprocessors"]["value"]
            .text() == "14");
  CHECK(devices.at(device_label("GPU-b"))["consumesCounters"].is_null());

  put_claim(objects, "one", std::string(FakeObjects::kNode) + "/nvidia.com/gpu", {whole});
  REQUIRE(node.wait_for([](const KubeletState& state) { return is_connected(state, kDriver); }, kLong));
  const ClaimsAnswer answer = node.kubelet().prepare(kDriver, {ref_of("one")});
  REQUIRE(answer.error.empty());
  REQUIRE(refusal_of(answer, "one").empty());
  const auto prepared = std::get<std::vector<PreparedDevice>>(answer.outcomes.at("uid-one"));
  REQUIRE(prepared.size() == 1);
  CHECK(prepared[0].cdi.at(0) == "nvidia.com/gpu=GPU-a");
  std::string files;
  for (const auto& entry : std::filesystem::directory_iterator(node.files().at("cdi")))
    files += text_of(entry.path());
  CHECK(files.find("NVIDIA_VISIBLE_DEVICES=MIG-x,MIG-y\"") != std::string::npos);
}

TEST_CASE("dra: what is plugged in is in the slice, and what was unplugged is not") {
  DraRig rig;
  REQUIRE(rig.published("a b"));
  rig.plug("c");
  CHECK(rig.published("a b c"));
  rig.unplug("a");
  CHECK(rig.published("b c"));
  rig.plug("a");
  CHECK(rig.published("a b c"));
}

TEST_CASE("dra: a device that a claim holds stays in its slice when it vanishes, and its pod hears of it") {
  DraRig rig;
  REQUIRE(rig.published("a b"));
  rig.allocate("one", {"a"});
  REQUIRE(rig.prepare("one").error.empty());
  CHECK(eventually([&] { return rig.health("a") == "Healthy"; }));
  rig.unplug("a");
  CHECK(rig.published("a!gone b"));
  CHECK(eventually([&] { return rig.health("a").starts_with("Unhealthy: "); }));
  rig.plug("a");
  CHECK(rig.published("a b"));
  CHECK(eventually([&] { return rig.health("a") == "Healthy"; }));
  rig.unplug("a");
  REQUIRE(rig.published("a!gone b"));
  CHECK(rig.unprepare("one").error.empty());
  CHECK(rig.published("b"));
}

TEST_CASE("dra: a drained device is tainted, and is free again afterwards") {
  DraRig rig;
  REQUIRE(rig.published("a b"));
  const Finished drained =
      run_plughost({"drain", kSerial + "=a", "--reason", "the fan", "--control", rig.node.control()});
  CHECK_MESSAGE(drained.exit_code == 0, drained.output);
  CHECK(rig.published("a!drained b"));
  CHECK(eventually([&] { return rig.health("a").find("the fan") != std::string::npos; }));
  CHECK(run_plughost({"undrain", kSerial + "=a", "--control", rig.node.control()}).exit_code == 0);
  CHECK(rig.published("a b"));
}

TEST_CASE("dra: a killed plughost leaves its slices, and the next one answers what was prepared") {
  DraRig rig;
  REQUIRE(rig.published("a b"));
  rig.allocate("one", {"a"});
  REQUIRE(rig.prepare("one").error.empty());
  const std::string file = text_of(rig.claim_file("one"));
  const std::size_t writes = rig.objects.written("POST") + rig.objects.written("PUT");
  rig.node.daemon().signal(SIGKILL);
  REQUIRE(rig.node.daemon().wait_for_exit(kLong));
  CHECK(rig.pool() == "a b");
  // Nobody has to be asked about it.
  rig.objects.refuse("GET " + kClaims, 503);
  rig.start();
  const ClaimsAnswer again = rig.prepare("one");
  CHECK(again.error.empty());
  CHECK(text_of(rig.claim_file("one")) == file);
  // Another device would be written, and nothing is that did not change.
  rig.plug("c");
  CHECK(rig.published("a b c"));
  CHECK(rig.objects.written("DELETE") == 0);
  CHECK(rig.objects.written("POST") + rig.objects.written("PUT") == writes + 1);
  // What the claim holds is known of the file.
  rig.unplug("a");
  CHECK(rig.published("a!gone b c"));
  CHECK(rig.unprepare("one").error.empty());
  CHECK(rig.published("b c"));
}

TEST_CASE("dra: while the API server is away devices are served, and come to it when it is back") {
  DraRig rig;
  REQUIRE(rig.published("a b"));
  rig.allocate("one", {"a"});
  REQUIRE(rig.prepare("one").error.empty());
  rig.objects.stop();
  rig.plug("c");
  CHECK(rig.prepare("one").error.empty());
  CHECK(rig.node.kubelet().allocate("pod", "main", kToken, 1).admitted());
  CHECK(rig.unprepare("one").error.empty());
  rig.objects.start();
  CHECK(rig.published("a b c"));
}

TEST_CASE("dra: what a kubelet wipes when it starts is there again, and it knows the driver") {
  DraRig rig;
  REQUIRE(rig.published("a b"));
  REQUIRE(rig.registered());
  const auto registrations = [&] { return rig.node.kubelet_state().driver(kDriver).registrations; };
  const std::size_t before = registrations();
  rig.node.kubelet().restart();
  rig.objects.wipe(FakeObjects::kSlices);
  CHECK(rig.published("a b"));
  CHECK(eventually([&] { return registrations() > before; }));
  CHECK(rig.registered());
  rig.objects.wipe(FakeObjects::kSlices);
  CHECK(rig.published("a b"));
}

TEST_CASE("dra: an entry that moves from plugin to dra and back leaves each device with who has it") {
  DraRig rig;
  REQUIRE(rig.published("a b"));
  rig.advertise("plugin");
  REQUIRE(rig.node.reload());
  REQUIRE(rig.node.attached({kSerial}));
  CHECK(rig.published(""));
  CHECK(rig.node.healthy(kSerial, "a"));
  REQUIRE(rig.node.kubelet().allocate_named("old", "main", kSerial, {"a"}).admitted());

  // To DRA, under the pod.
  rig.advertise("dra");
  REQUIRE(rig.node.reload());
  CHECK(rig.published("a!held b"));
  CHECK(rig.registered());
  const Finished tainted = run_plughost({"status", kSerial, "--control", rig.node.control()});
  CHECK_MESSAGE(tainted.output.find("plughost.io/unhealthy=held:NoSchedule") != std::string::npos,
                tainted.output);
  rig.allocate("one", {"b"});
  CHECK(rig.prepare("one").error.empty());
  REQUIRE(rig.node.kubelet().free("old"));
  CHECK(rig.published("a b"));

  // And back, under the claim.
  rig.advertise("plugin");
  REQUIRE(rig.node.reload());
  REQUIRE(rig.node.attached({kSerial}));
  CHECK(rig.node.healthy(kSerial, "a"));
  CHECK(rig.node.unhealthy(kSerial, "b"));
  CHECK(rig.published("b!gone"));
  const Finished told = run_plughost({"status", kSerial, "--control", rig.node.control()});
  CHECK(told.output.find("held by claim default/one") != std::string::npos);
  CHECK(rig.registered());
  CHECK(rig.unprepare("one").error.empty());
  CHECK(rig.node.healthy(kSerial, "b"));
  CHECK(rig.published(""));
  // Nobody needs the driver any more.
  CHECK(rig.node.wait_for([](const KubeletState& state) { return !state.driver(kDriver).registered(); },
                          kLong));
}

TEST_CASE("dra: an entry that moves and is renamed in one reload leaves each device with who has it") {
  const std::string port = "example.com/port";
  DraRig rig;
  const auto use = [&](const std::string& name, const std::string& way) {
    rig.node.configure(
        listed(name, rig.node.path("serial"),
               "mounts: [{hostPath: \"{path}\", containerPath: /dev/port}], advertise: " + way) +
        counted(kToken, 1));
    REQUIRE(rig.node.reload());
  };
  REQUIRE(rig.published("a b"));
  use(kSerial, "plugin");
  REQUIRE(rig.node.attached({kSerial}));
  REQUIRE(rig.node.kubelet().allocate_named("old", "main", kSerial, {"a"}).admitted());

  // To DRA, under the pod.
  use(port, "dra");
  CHECK(rig.published("a!held b", kDriver, port));
  put_claim(rig.objects, "one", std::string(FakeObjects::kNode) + '/' + port, {"b"});
  CHECK(refusal_of(rig.prepare("one"), "one").empty());
  REQUIRE(rig.node.kubelet().free("old"));
  CHECK(rig.published("a b", kDriver, port));

  // And back, under the claim; the next plughost knows it by the claim's file.
  use(kSerial, "plugin");
  REQUIRE(rig.node.attached({kSerial}));
  CHECK(rig.node.healthy(kSerial, "a"));
  CHECK(rig.node.unhealthy(kSerial, "b"));
  rig.node.daemon().signal(SIGKILL);
  REQUIRE(rig.node.daemon().wait_for_exit(kLong));
  rig.start();
  CHECK(rig.node.healthy(kSerial, "a"));
  CHECK(rig.node.unhealthy(kSerial, "b"));
  CHECK(rig.unprepare("one").error.empty());
  CHECK(rig.node.healthy(kSerial, "b"));
}

TEST_CASE("dra: a claim of an entry that is no more can be given back, also by the next plughost") {
  DraRig rig;
  REQUIRE(rig.published("a b"));
  rig.allocate("one", {"a"});
  REQUIRE(rig.prepare("one").error.empty());
  rig.node.configure(counted(kToken, 1));
  REQUIRE(rig.node.reload());
  CHECK(rig.published("a!gone"));
  // A container of the pod that is started again needs it.
  CHECK_FALSE(specification(rig.node.files()).empty());
  rig.node.daemon().signal(SIGKILL);
  REQUIRE(rig.node.daemon().wait_for_exit(kLong));
  rig.start();
  REQUIRE(rig.node.daemon().wait_for_line({"claims of a DRA driver are left"}, kLong));
  CHECK(rig.unprepare("one").error.empty());
  CHECK(rig.published(""));
  CHECK(rig.claim_file("one").empty());
  CHECK(eventually([&] { return specification(rig.node.files()).empty(); }));
}

TEST_CASE("dra: of a list and a pool over one device the first one has it, and the other says who") {
  DraRig rig;
  REQUIRE(rig.published("a b"));
  // The same files, but that is not known before a look.
  const std::string other =
      "- {name: " + kOther + ", directory: {path: " + rig.node.path("serial") + ", match: \"?\"}}\n";
  rig.advertise("dra", other);
  REQUIRE(rig.node.reload());
  REQUIRE(rig.node.attached({kOther}));
  CHECK(rig.node.unhealthy(kOther, "a"));
  CHECK(rig.node.unhealthy(kOther, "b"));
  CHECK(rig.pool() == "a b");
  const Finished told = run_plughost({"status", kOther, "--control", rig.node.control()});
  CHECK(told.output.find("it is " + kSerial + "'s") != std::string::npos);
  CHECK_FALSE(rig.node.kubelet().allocate("pod", "main", kOther, 1).admitted());
  // When the pool has gone they are the list's.
  rig.node.configure(other + counted(kToken, 1));
  REQUIRE(rig.node.reload());
  CHECK(rig.node.healthy(kOther, "a"));
  CHECK(rig.node.healthy(kOther, "b"));
}

TEST_CASE("dra: a plughost that is stopped takes its socket away and leaves its slices") {
  DraRig rig;
  REQUIRE(rig.published("a b"));
  REQUIRE(rig.registered());
  const std::size_t deletions = rig.objects.written("DELETE");
  rig.node.daemon().signal(SIGTERM);
  REQUIRE(rig.node.daemon().wait_for_exit(kLong) == 0);
  CHECK(std::filesystem::is_empty(rig.node.files().at("registry")));
  CHECK(rig.pool() == "a b");
  CHECK(rig.objects.written("DELETE") == deletions);
}

TEST_CASE(
    "dra: without credentials the kubelet's resources are served, and pools come with the credentials") {
  DraRig rig;
  REQUIRE(rig.published("a b"));
  rig.node.end_daemon();
  rig.objects.wipe(FakeObjects::kSlices);
  const std::string file = rig.node.path("kubeconfig");
  std::filesystem::rename(file, file + ".later");
  rig.start();
  CHECK(rig.node.kubelet().allocate("pod", "main", kToken, 1).admitted());
  const Finished check = run_plughost({"status", "--check", "--control", rig.node.control()});
  CHECK(check.exit_code == 1);
  CHECK(rig.pool().empty());
  std::filesystem::rename(file + ".later", file);
  CHECK(rig.published("a b"));
}

TEST_CASE("dra: a storm of hotplugs ends with the devices that are there") {
  DraRig rig;
  REQUIRE(rig.published("a b"));
  const std::size_t before = rig.objects.written("PUT");
  for (int round = 0; round < 50; ++round) {
    rig.plug("storm" + std::to_string(round));
    if (round % 2 == 1) rig.unplug("storm" + std::to_string(round - 1));
  }
  rig.unplug("a");
  std::string devices = "b";
  std::set<std::string> left;
  for (int round = 1; round < 50; round += 2) left.insert("storm" + std::to_string(round));
  for (const std::string& device : left) devices += ' ' + device;
  CHECK(rig.published(devices));
  CHECK(rig.objects.written("PUT") - before <= 10);
}

TEST_CASE("dra: a claim that cannot be is refused with a sentence, and the others are not") {
  DraRig rig;
  REQUIRE(rig.published("a b"));
  rig.allocate("one", {"a"});
  const ClaimsAnswer answer = rig.node.kubelet().prepare(kDriver, {ref_of("one"), ref_of("nobody")});
  CHECK(refusal_of(answer, "one").empty());
  CHECK_FALSE(refusal_of(answer, "nobody").empty());
  // Giving back what was never had is no error.
  CHECK(rig.unprepare("nobody").error.empty());
}

TEST_CASE("dra: the driver's name is another after a reload, and the former one keeps its claims") {
  DraRig rig;
  REQUIRE(rig.published("a b"));
  rig.allocate("one", {"a"});
  REQUIRE(rig.prepare("one").error.empty());
  rig.use({.more = "dra: {driver: second.example.com}\n"});
  rig.advertise("dra");
  REQUIRE(rig.node.reload());
  CHECK(rig.node.wait_for([](const KubeletState& state) { return is_connected(state, "second.example.com"); },
                          kLong));
  CHECK(rig.published("a!gone"));
  CHECK(rig.published("a!held b", "second.example.com"));
  CHECK(rig.node.kubelet().unprepare(kDriver, {ref_of("one")}).error.empty());
  CHECK(rig.published(""));
  CHECK(rig.published("a b", "second.example.com"));
  CHECK(rig.node.wait_for([](const KubeletState& state) { return !state.driver(kDriver).registered(); },
                          kLong));
}
