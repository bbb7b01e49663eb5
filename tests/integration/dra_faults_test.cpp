// Entries with `advertise: dra` where something goes wrong: with the API server, the devices, the kubelet,
// the node or the daemon itself. Nothing is lost, and the kubelet's resources never notice.

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <future>

#include "base/unique_fd.hpp"
#include "dra/names.hpp"
#include "integration/dra_rig.hpp"
#include "unit/fake_nvml.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

const std::string kSliceWrites = std::string("PUT ") + FakeObjects::kSlices;

// Beside all that is in trouble a pod gets its token, and ends.
bool is_plugin_served(DraRig& rig) {
  const bool admitted = rig.node.kubelet().allocate("beside", "main", kToken, 1).admitted();
  return admitted && rig.node.kubelet().free("beside");
}

bool is_waiting(const std::future<ClaimsAnswer>& answer) {
  return answer.wait_for(0s) != std::future_status::ready;
}

// What a pod's events would say; empty: the claim is prepared.
std::string error_of(std::future<ClaimsAnswer>& answer) {
  if (answer.wait_for(kLong) != std::future_status::ready) return "it was not answered";
  return answer.get().error;
}

std::size_t devices_shown(const DraRig& rig) {
  std::size_t count = 0;
  for (const Json& slice : rig.objects.all(FakeObjects::kSlices))
    count += slice["spec"]["devices"].array().size();
  return count;
}

}  // namespace

// The API server.

TEST_CASE("dra: a write that the API server refuses for now is made later, and plugins do not notice") {
  DraRig rig;
  REQUIRE(rig.published("a b"));
  std::string devices = "a b";
  for (const int code : {403, 409, 410, 429, 500, 503}) {
    CAPTURE(code);
    rig.objects.refuse(kSliceWrites, code, 1);
    const std::string device = "c" + std::to_string(code);
    rig.plug(device);
    CHECK(is_plugin_served(rig));
    devices += ' ' + device;
    CHECK(rig.published(devices));
  }
}

TEST_CASE("dra: a write that the API server refuses for good is told, and made when it is another") {
  DraRig rig;
  REQUIRE(rig.published("a b"));
  for (const int code : {400, 413, 422}) {
    CAPTURE(code);
    const std::size_t from = rig.node.daemon().mark();
    const std::size_t before = rig.objects.asked(kSliceWrites);
    rig.objects.refuse(kSliceWrites, code);
    rig.plug("c");
    CHECK(rig.node.daemon().wait_for_line({"a pool of devices is not published as it should be", kSerialPool},
                                          kLong, from));
    CHECK(is_plugin_served(rig));
    const Finished check = run_plughost({"status", "--check", "--control", rig.node.control()});
    CHECK_MESSAGE(check.exit_code == 1, check.output);
    rig.objects.refuse(kSliceWrites, 0);
    CHECK(rig.pool() == "a b");
    rig.plug("d");
    CHECK(rig.published("a b c d"));
    CHECK(rig.objects.asked(kSliceWrites) == before + 2);
    rig.unplug("c");
    rig.unplug("d");
    CHECK(rig.published("a b"));
  }
}

TEST_CASE("dra: while a write is not answered claims are prepared and plugins are served") {
  DraRig rig;
  REQUIRE(rig.published("a b"));
  rig.objects.hold(kSliceWrites);
  rig.plug("c");
  REQUIRE(eventually([&] { return rig.objects.asked(kSliceWrites) == 1; }));
  rig.allocate("one", {"a"});
  CHECK(rig.prepare("one").error.empty());
  CHECK(is_plugin_served(rig));
  CHECK(rig.pool() == "a b");
  rig.objects.release();
  CHECK(rig.published("a b c"));
  CHECK(rig.unprepare("one").error.empty());
}

TEST_CASE("dra: a claim is asked for again, whatever the API server says instead of it") {
  DraRig rig;
  REQUIRE(rig.published("a b"));
  for (const int code : {401, 403, 409, 410, 422, 429, 500, 503}) {
    CAPTURE(code);
    const std::string claim = "of-" + std::to_string(code);
    rig.allocate(claim, {"a"});
    rig.objects.refuse("GET " + kClaims + '/' + claim, code, 1);
    CHECK(rig.prepare(claim).error.empty());
    CHECK(rig.unprepare(claim).error.empty());
  }
}

TEST_CASE("dra: a claim waits for an API server that is slow, or away, and nobody else does") {
  DraRig rig;
  REQUIRE(rig.published("a b"));
  rig.allocate("one", {"a"});
  rig.allocate("two", {"b"});
  REQUIRE(rig.prepare("two").error.empty());
  rig.objects.hold("GET " + kClaims + "/one");
  auto slow = rig.preparing("one");
  REQUIRE(rig.asked_for("one"));
  CHECK(is_plugin_served(rig));
  CHECK(rig.prepare("two").error.empty());
  CHECK(is_waiting(slow));
  rig.objects.release();
  CHECK(error_of(slow).empty());
  REQUIRE(rig.unprepare("one").error.empty());

  const std::size_t from = rig.node.daemon().mark();
  rig.objects.stop();
  REQUIRE(rig.node.daemon().wait_for_line({"no devices can be published"}, kLong, from));
  auto late = rig.preparing("one");
  CHECK(is_plugin_served(rig));
  CHECK(rig.prepare("two").error.empty());
  CHECK(is_waiting(late));
  rig.objects.start();
  CHECK(error_of(late).empty());
}

TEST_CASE("dra: features of the API server that go off and on again change what is offered, under a claim") {
  DraRig rig;
  REQUIRE(rig.published("a b"));
  rig.offer("replicas: 2");
  REQUIRE(eventually([&] { return rig.objects.written("PUT") > 0 && devices_shown(rig) == 2; }));
  const Json shares{{"shareID", "share-1"}, {"consumedCapacity", Json{{"shares", "1"}}}};
  rig.allocate("one", {"a"}, shares);
  REQUIRE(rig.prepare("one").error.empty());
  // As after an upgrade: the watch ends, and begins with a list.
  rig.objects.keep({.taints = false, .sharing = false, .partitions = false});
  rig.objects.end_watches(FakeObjects::Versions::kExpired);
  // Each replica is a device, but for the one that the claim has: that is there under its former name.
  CHECK(eventually([&] { return devices_shown(rig) == 4; }));
  CHECK(rig.node.daemon().wait_for_line({"DRADeviceTaints, DRAConsumableCapacity, DRAPartitionableDevices"},
                                        kLong));
  CHECK(rig.prepare("one").error.empty());
  // Nothing can be tainted.
  REQUIRE(run_plughost({"drain", kSerial + "=b", "--control", rig.node.control()}).exit_code == 0);
  CHECK(eventually([&] { return devices_shown(rig) == 2; }));
  rig.objects.keep({});
  rig.objects.end_watches(FakeObjects::Versions::kExpired);
  CHECK(rig.published("a b!drained"));
  CHECK(run_plughost({"undrain", kSerial + "=b", "--control", rig.node.control()}).exit_code == 0);
  CHECK(rig.published("a b"));
  CHECK(rig.unprepare("one").error.empty());
}

TEST_CASE("dra: no more claims than replicas share a device, whatever it is called when a feature goes") {
  DraRig rig({"a"});
  REQUIRE(rig.published("a"));
  rig.offer("replicas: 3");
  const auto share = [](unsigned n) { return device_label("a::" + std::to_string(n)); };
  const auto taken = [](int number) {
    return Json{{"shareID", "share-" + std::to_string(number)}, {"consumedCapacity", Json{{"shares", "1"}}}};
  };
  const auto pool_of = [](std::set<std::string> words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    return text;
  };
  rig.allocate("one", {"a"}, taken(1));
  rig.allocate("two", {"a"}, taken(2));
  REQUIRE(rig.prepare("one").error.empty());
  rig.objects.keep({.sharing = false});
  rig.objects.end_watches(FakeObjects::Versions::kExpired);
  // The scheduler knows nothing of shares that the former name has.
  REQUIRE(rig.published(pool_of({"a!gone", share(0), share(1), share(2) + "!held"})));
  // It was allocated before.
  const ClaimsAnswer second = rig.prepare("two");
  REQUIRE(second.error.empty());
  REQUIRE(rig.published(pool_of({"a!gone", share(0), share(1) + "!held", share(2) + "!held"})));
  rig.allocate("three", {share(1)});
  REQUIRE(rig.prepare("three").error.empty());
  rig.allocate("four", {share(0)});
  rig.node.daemon().signal(SIGKILL);
  REQUIRE(rig.node.daemon().wait_for_exit(kLong));
  rig.start();
  CHECK(rig.prepare("two").outcomes == second.outcomes);
  auto next = rig.preparing("four");
  REQUIRE(rig.asked_for("four"));
  rig.allocate("greedy", {"a"}, Json{{"shareID", "share-3"}, {"consumedCapacity", Json{{"shares", "4"}}}});
  CHECK(refusal_of(rig.prepare("greedy"), "greedy") ==
        "device \"a\" of example.com/serial is allocated to this claim more often than it can be had");
  CHECK(is_waiting(next));
  REQUIRE(rig.unprepare("one").error.empty());
  CHECK(error_of(next).empty());

  // Now two claims have shares of their own, and one has the device by its only name.
  rig.objects.keep({});
  rig.objects.end_watches(FakeObjects::Versions::kExpired);
  REQUIRE(rig.published(pool_of({"a", share(0) + "!gone", share(1) + "!gone"})));
  const auto shares_shown = [&] {
    for (const Json& slice : rig.objects.all(FakeObjects::kSlices)) {
      for (const Json& device : slice["spec"]["devices"].array())
        if (device["name"].text() == "a") return device["capacity"]["shares"]["value"].text();
    }
    return std::string();
  };
  CHECK(eventually([&] { return shares_shown() == "1"; }));
  rig.allocate("five", {"a"}, taken(4));
  auto last = rig.preparing("five");
  REQUIRE(rig.asked_for("five"));
  CHECK(is_waiting(last));
  REQUIRE(rig.unprepare("four").error.empty());
  CHECK(error_of(last).empty());
  CHECK(eventually([&] { return shares_shown() == "2"; }));
}

// Devices and claims.

TEST_CASE("dra: a claim waits for a device that is not there, and gets it when it comes") {
  DraRig rig;
  REQUIRE(rig.published("a b"));
  rig.allocate("one", {"c"});
  auto answer = rig.preparing("one");
  REQUIRE(rig.asked_for("one"));
  CHECK(is_waiting(answer));
  rig.plug("c");
  CHECK(error_of(answer).empty());
}

TEST_CASE("dra: a claim waits for a device that is sick, and gets it when it is well") {
  DraRig rig;
  REQUIRE(rig.published("a b"));
  rig.node.files().file("check", "[ ! -e \"$1/sick-$2\" ] || { cat \"$1/sick-$2\"; exit 1; }\n");
  rig.node.files().file("sick-a", "too hot\n");
  rig.offer("health: {exec: [/bin/sh, " + rig.node.path("check") + ", " + rig.node.files().path().string() +
            ", \"{id}\"], interval: 1s}");
  CHECK(rig.published("a!unhealthy b"));
  rig.allocate("one", {"a"});
  auto answer = rig.preparing("one");
  REQUIRE(rig.asked_for("one"));
  CHECK(is_waiting(answer));
  rig.node.files().remove("sick-a");
  CHECK(error_of(answer).empty());
  CHECK(rig.published("a b"));
}

TEST_CASE("dra: a claim waits for a device that is drained, and gets it afterwards") {
  DraRig rig;
  REQUIRE(rig.published("a b"));
  REQUIRE(run_plughost({"drain", kSerial + "=a", "--control", rig.node.control()}).exit_code == 0);
  REQUIRE(rig.published("a!drained b"));
  rig.allocate("one", {"a"});
  auto answer = rig.preparing("one");
  REQUIRE(rig.asked_for("one"));
  CHECK(is_waiting(answer));
  CHECK(run_plughost({"undrain", kSerial + "=a", "--control", rig.node.control()}).exit_code == 0);
  CHECK(error_of(answer).empty());
}

TEST_CASE("dra: a thousand hotplugs lose nothing, are few writes, and plugins do not notice") {
  DraRig rig;
  REQUIRE(rig.published("a b"));
  rig.allocate("one", {"a"});
  const ClaimsAnswer before = rig.prepare("one");
  REQUIRE(before.error.empty());
  const std::size_t writes = rig.objects.written().size();
  const std::size_t registrations = rig.node.of(kToken).registrations.size();
  const std::size_t lists = rig.node.of(kToken).lists;
  const auto begun = std::chrono::steady_clock::now();
  // What a claim has is among them. Each goes and comes 20 times, and every second one goes once more.
  std::set<std::string> there{"a", "b"};
  std::size_t events = 0;
  const auto toggle = [&](const std::string& device) {
    ++events;
    const bool is_there = there.erase(device) > 0;
    if (is_there)
      rig.unplug(device);
    else
      rig.plug(*there.insert(device).first);
  };
  for (int round = 0; round < 41; ++round) {
    for (int device = 0; device < 24; ++device)
      if (round < 40 || device % 2 == 0) toggle("storm" + std::to_string(device));
    toggle("a");
    if (round % 10 == 0) CHECK(is_plugin_served(rig));
  }
  CHECK(events >= 1000);
  toggle("a");
  std::string devices;
  for (const std::string& device : there) devices += (devices.empty() ? "" : " ") + device;
  CHECK(rig.published(devices));
  CHECK(there.size() == 14);
  // One at once, then one after 125 ms each at most.
  const auto took = std::chrono::steady_clock::now() - begun;
  CHECK(rig.objects.written().size() - writes <= 2 + static_cast<std::size_t>(took / 125ms));
  CHECK(rig.prepare("one").outcomes == before.outcomes);
  CHECK(rig.objects.asked("GET " + kClaims + "/one") == 1);
  rig.allocate("two", {"storm22"});
  CHECK(rig.prepare("two").error.empty());
  CHECK(rig.node.of(kToken).registrations.size() == registrations);
  CHECK(rig.node.of(kToken).lists == lists);
}

TEST_CASE("dra: what can never be prepared is refused at once, with the reason") {
  DraRig rig;
  REQUIRE(rig.published("a b"));
  rig.allocate("foreign", {"a"}, Json{{"driver", "other.example.com"}});
  CHECK(refusal_of(rig.prepare("foreign"), "foreign").find("no device of the driver " + kDriver) !=
        std::string::npos);
  rig.allocate("nothing", {});
  CHECK(refusal_of(rig.prepare("nothing"), "nothing").find("no device of the driver") != std::string::npos);
  // It was deleted and made again, and the kubelet does not know it yet.
  rig.allocate("again", {"a"});
  const ClaimRef former{.uid = "uid-former", .name_space = "default", .name = "again"};
  const ClaimsAnswer answer = rig.node.kubelet().prepare(kDriver, {former});
  CHECK(answer.error.find("has another claim default/again by now, with the UID uid-again") !=
        std::string::npos);
  CHECK(rig.prepare("again").error.empty());
}

TEST_CASE("dra: two pods with one claim that start at once have one answer") {
  DraRig rig;
  REQUIRE(rig.published("a b"));
  rig.allocate("shared", {"a"});
  rig.objects.hold("GET " + kClaims + "/shared");
  auto one = rig.preparing("shared");
  auto other = rig.preparing("shared");
  REQUIRE(rig.asked_for("shared"));
  rig.objects.release();
  const ClaimsAnswer first = one.get();
  const ClaimsAnswer second = other.get();
  CHECK(first.error.empty());
  CHECK(std::get<std::vector<PreparedDevice>>(first.outcomes.at("uid-shared")).size() == 1);
  CHECK(first.outcomes == second.outcomes);
  CHECK(rig.objects.asked("GET " + kClaims + "/shared") == 1);
  CHECK(rig.unprepare("shared").error.empty());
  CHECK(rig.unprepare("shared").error.empty());
}

TEST_CASE("dra: a device has as many claims as replicas, and the next one waits for one that ends") {
  DraRig rig;
  REQUIRE(rig.published("a b"));
  rig.offer("replicas: 2");
  const auto shares = [](int number, const std::string& count) {
    return Json{{"shareID", "share-" + std::to_string(number)},
                {"consumedCapacity", Json{{kDriver + "/shares", count}}}};
  };
  rig.allocate("one", {"a"}, shares(1, "1"));
  rig.allocate("two", {"a"}, shares(2, "1"));
  rig.allocate("three", {"a"}, shares(3, "2"));
  const ClaimsAnswer answer = rig.prepare("one");
  REQUIRE(answer.error.empty());
  CHECK(std::get<std::vector<PreparedDevice>>(answer.outcomes.at("uid-one"))[0].share_id == "share-1");
  REQUIRE(rig.prepare("two").error.empty());
  auto next = rig.preparing("three");
  REQUIRE(rig.asked_for("three"));
  REQUIRE(rig.unprepare("one").error.empty());
  CHECK(is_waiting(next));
  REQUIRE(rig.unprepare("two").error.empty());
  CHECK(error_of(next).empty());
}

TEST_CASE("dra: claims have units of a card, as many as it has") {
  const FakeNvml fake("card GPU-a minor=0 memory=81920\n");
  DraRig rig;
  REQUIRE(rig.published("a b"));
  rig.node.configure(
      "- {name: example.com/serial, gpu: {vendor: nvidia, unit: {memory: 40GiB}}, advertise: dra}\n" +
      counted(kToken, 1));
  rig.node.start_daemon({"LD_LIBRARY_PATH=" PLUGHOST_FAKE_NVML_DIRECTORY});
  std::string card;
  REQUIRE(eventually([&] {
    for (const Json& slice : rig.objects.all(FakeObjects::kSlices)) {
      const Json& device = slice["spec"]["devices"].array()[0];
      if (device["capacity"]["memory"]["value"].text() == "80Gi" &&
          device["capacity"]["memory"]["requestPolicy"]["default"].text() == "40Gi")
        card = device["name"].text();
    }
    return !card.empty();
  }));
  const Json unit{{"shareID", "share-1"}, {"consumedCapacity", Json{{"memory", "40Gi"}}}};
  for (const char* claim : {"one", "two", "three"}) rig.allocate(claim, {card}, unit);
  CHECK(rig.prepare("one").error.empty());
  CHECK(rig.prepare("two").error.empty());
  auto next = rig.preparing("three");
  REQUIRE(rig.asked_for("three"));
  CHECK(is_waiting(next));
  CHECK(rig.unprepare("one").error.empty());
  CHECK(error_of(next).empty());
}

// plughost, the kubelet and the node.

TEST_CASE("dra: a program of preStart runs before a claim is answered, and for each of its preparations") {
  DraRig rig;
  REQUIRE(rig.published("a b"));
  rig.node.files().file("prepare",
                        "[ ! -e \"$1/broken\" ] || { cat \"$1/broken\"; exit 1; }\n"
                        "echo \"$2\" >> \"$1/prepared\"\n");
  rig.offer("preStart: {exec: [/bin/sh, " + rig.node.path("prepare") + ", " +
            rig.node.files().path().string() + ", \"{id}\"]}");
  rig.allocate("one", {"a"});
  rig.node.files().file("broken", "no key for it\n");
  CHECK(rig.prepare("one").error.find("no key for it") != std::string::npos);
  rig.node.files().remove("broken");
  CHECK(rig.prepare("one").error.empty());
  CHECK(text_of(rig.node.files().at("prepared")) == "a\n");
  CHECK(rig.prepare("one").error.empty());
  CHECK(text_of(rig.node.files().at("prepared")) == "a\na\n");
}

TEST_CASE("dra: a plughost that is killed between a claim's file and the answer has prepared it") {
  DraRig rig;
  REQUIRE(rig.published("a b"));
  // Until somebody writes there.
  rig.node.files().file("prepare", "[ ! -p \"$1/hold\" ] || read -r word < \"$1/hold\"\n");
  const std::filesystem::path hold = rig.node.path("hold");
  REQUIRE(::mkfifo(hold.c_str(), 0600) == 0);
  rig.offer("preStart: {exec: [/bin/sh, " + rig.node.path("prepare") + ", " +
            rig.node.files().path().string() + "]}");
  rig.allocate("one", {"a"});
  auto answer = rig.preparing("one");
  REQUIRE(eventually([&] { return !rig.claim_file("one").empty(); }));
  const std::string file = text_of(rig.claim_file("one"));
  CHECK(is_waiting(answer));
  rig.node.daemon().signal(SIGKILL);
  REQUIRE(rig.node.daemon().wait_for_exit(kLong));
  const UniqueFd end(::open(hold.c_str(), O_RDWR | O_CLOEXEC));  // waits for no reader
  REQUIRE(end);
  CHECK(::write(end.get(), "\n", 1) == 1);
  rig.node.files().remove("hold");
  CHECK_FALSE(error_of(answer).empty());
  rig.start();
  CHECK(rig.prepare("one").error.empty());
  CHECK(text_of(rig.claim_file("one")) == file);
  CHECK(rig.objects.asked("GET " + kClaims + "/one") == 1);
  CHECK(rig.unprepare("one").error.empty());
  CHECK(rig.claim_file("one").empty());
}

TEST_CASE("dra: after a reboot, with /run empty, claims are given back and prepared again in any order") {
  DraRig rig;
  REQUIRE(rig.published("a b"));
  rig.allocate("one", {"a"});
  rig.allocate("two", {"b"});
  REQUIRE(rig.prepare("one").error.empty());
  const ClaimsAnswer before = rig.prepare("two");
  REQUIRE(before.error.empty());
  rig.node.daemon().signal(SIGKILL);
  REQUIRE(rig.node.daemon().wait_for_exit(kLong));
  rig.node.files().remove("cdi");
  rig.node.files().remove("run");
  rig.objects.wipe(FakeObjects::kSlices);
  rig.node.kubelet().restart();
  rig.start();
  // The kubelet's own list has them yet. One pod is gone, and the other one starts again.
  CHECK(rig.unprepare("one").error.empty());
  const ClaimsAnswer again = rig.prepare("two");
  CHECK(again.outcomes == before.outcomes);
  CHECK(rig.claim_file("one").empty());
  CHECK_FALSE(rig.claim_file("two").empty());
  CHECK(text_of(specification(rig.node.files())).find(rig.node.path("serial/b")) != std::string::npos);
  CHECK(rig.published("a b"));
  CHECK(rig.prepare("one").error.empty());
}

TEST_CASE("dra: a Node that is deleted and made again owns the slices, and the claims stay") {
  DraRig rig;
  REQUIRE(rig.published("a b"));
  rig.allocate("one", {"a"});
  REQUIRE(rig.prepare("one").error.empty());
  const auto owners = [&] {
    std::set<std::string> uids;
    for (const Json& slice : rig.objects.all(FakeObjects::kSlices))
      uids.insert(slice["metadata"]["ownerReferences"].array().at(0)["uid"].text());
    return uids;
  };
  CHECK(owners() == std::set<std::string>{"node-uid"});
  Json made = rig.objects.get(FakeObjects::kNodes, FakeObjects::kNode);
  rig.objects.remove(FakeObjects::kNodes, FakeObjects::kNode);
  rig.objects.wipe(FakeObjects::kSlices);
  made["metadata"]["uid"] = "node-uid-2";
  rig.objects.put(FakeObjects::kNodes, made);
  CHECK(rig.published("a b"));
  CHECK(eventually([&] { return owners() == std::set<std::string>{"node-uid-2"}; }));
  CHECK(rig.prepare("one").error.empty());
  CHECK(rig.objects.asked("GET " + kClaims + "/one") == 1);
  CHECK(rig.unprepare("one").error.empty());
}

TEST_CASE("dra: a node that is renamed has pools of its new name, and gives back claims of the former one") {
  DraRig rig;
  REQUIRE(rig.published("a b"));
  rig.allocate("one", {"a"});
  REQUIRE(rig.prepare("one").error.empty());
  Json renamed = rig.objects.get(FakeObjects::kNodes, FakeObjects::kNode);
  renamed["metadata"] = Json{{"name", "worker-2"}, {"uid", "uid-2"}, {"labels", Json::Object()}};
  rig.objects.put(FakeObjects::kNodes, renamed);
  rig.use({.name = "worker-2"});
  rig.advertise("dra");
  REQUIRE(rig.node.reload());
  const auto shown = [&] {
    std::size_t devices = 0;
    for (const Json& slice : rig.objects.all(FakeObjects::kSlices))
      if (slice["spec"]["nodeName"].text() == "worker-2") devices += slice["spec"]["devices"].array().size();
    return devices;
  };
  CHECK(eventually([&] { return shown() == 2; }));
  CHECK(rig.prepare("one").error.empty());
  // What it holds nobody else gets before it is given back.
  rig.allocate("two", {"a"}, Json{{"pool", "worker-2/" + kSerial}});
  auto next = rig.preparing("two");
  REQUIRE(rig.asked_for("two"));
  CHECK(is_waiting(next));
  CHECK(rig.unprepare("one").error.empty());
  CHECK(error_of(next).empty());
  CHECK(rig.claim_file("one").empty());
  CHECK_FALSE(rig.claim_file("two").empty());
}

// Reloads.

TEST_CASE("dra: another CDI directory has what is prepared, and the claim is given back there") {
  DraRig rig;
  REQUIRE(rig.published("a b"));
  rig.allocate("one", {"a"});
  const ClaimsAnswer before = rig.prepare("one");
  REQUIRE(before.error.empty());
  const std::string file = text_of(rig.claim_file("one"));
  rig.use({.cdi = "cdi2"});
  rig.advertise("dra");
  REQUIRE(rig.node.reload());
  CHECK(eventually([&] { return text_of(rig.claim_file("one", "cdi2")) == file; }));
  CHECK(rig.prepare("one").outcomes == before.outcomes);
  CHECK(rig.unprepare("one").error.empty());
  CHECK(rig.claim_file("one", "cdi2").empty());
  CHECK(rig.published("a b"));
}

TEST_CASE("dra: another plugins_registry has the driver's socket, and claims are known there") {
  DraRig rig;
  REQUIRE(rig.published("a b"));
  rig.allocate("one", {"a"});
  const ClaimsAnswer before = rig.prepare("one");
  REQUIRE(before.error.empty());
  const auto sockets = [&](const std::string& directory) {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(rig.node.files().at(directory)))
      count += entry.path().filename().string().find(kDriver) == std::string::npos ? 0 : 1;
    return count;
  };
  rig.node.files().directory("registry2");
  rig.node.set_plugins_registry("registry2");
  rig.advertise("dra");
  REQUIRE(rig.node.reload());
  CHECK(eventually([&] { return sockets("registry2") == 1 && sockets("registry") == 0; }));
  CHECK(rig.node.wait_for([](const KubeletState& state) { return !state.driver(kDriver).registered(); },
                          kLong));
  rig.unplug("a");
  CHECK(rig.published("a!gone b"));
  rig.plug("a");
  CHECK(rig.published("a b"));
  rig.node.set_plugins_registry("registry");
  rig.advertise("dra");
  REQUIRE(rig.node.reload());
  CHECK(rig.registered());
  CHECK(sockets("registry2") == 0);
  CHECK(rig.prepare("one").outcomes == before.outcomes);
  CHECK(rig.objects.asked("GET " + kClaims + "/one") == 1);
  CHECK(rig.unprepare("one").error.empty());
  CHECK(rig.published("a b"));
}
