#include "model/device/drain_set.hpp"
#include "unit/tools/doctor/made_node.hpp"

using namespace plughost;
using namespace plughost::test;

namespace {

const std::string kOther = std::string(kPlugins) + "/other.sock";
const std::string kOurs = std::string(kPlugins) + "/plughost-x-1234-1.sock";

std::string checkpoint(const std::string& pods, const std::string& registered) {
  return R"({"Data":{"PodDeviceEntries":[)" + pods + R"(],"RegisteredDevices":{)" + registered +
         R"(}},"Checksum":1})";
}

void write_checkpoint(const MadeNode& node, const std::string& text) {
  node.tree.file(std::string(kPlugins) + "/kubelet_internal_checkpoint", text);
}

}  // namespace

TEST_CASE("a plughost that does not run is a warning, and one with a different configuration is a note") {
  MadeNode node;
  node.configure("- {name: example.com/x, count: 1}\n");
  node.process(7, "/usr/bin/plughost doctor");
  CHECK(node.one("daemon").level == Level::kWarning);
  node.daemon();
  CHECK(node.one("daemon").level == Level::kOk);
  node.observed.sockets[node.observed.control()].state = SocketOwner::State::kNobody;
  CHECK(node.one("daemon").level == Level::kWarning);
  CHECK(contains(node.one("daemon").what, "does not answer on " + node.observed.control()));
  node.process(kDaemon, "/usr/bin/plughost run --config=/etc/other.yaml");
  CHECK(node.one("daemon").level == Level::kNote);
  CHECK(contains(node.one("daemon").advice, "--config /etc/other.yaml"));
}

TEST_CASE(
    "a stale socket is a warning if it is another plugin's, a note if it is plughost's, and not reported if "
    "it is the kubelet's") {
  MadeNode node;
  node.observed.sockets[kKubeletSocket] = {SocketOwner::State::kNobody};
  node.observed.sockets[kPodResources] = {SocketOwner::State::kNobody};
  node.observed.sockets[kOurs] = {SocketOwner::State::kListens, kDaemon};
  CHECK(node.one("stale-sockets").what == "no stale socket; plugins that listen: 1");
  node.observed.sockets[kOurs] = {SocketOwner::State::kNobody};
  CHECK(node.one("stale-sockets").level == Level::kNote);
  node.observed.sockets.erase(kOurs);
  node.observed.sockets[kOther] = {SocketOwner::State::kNobody};
  const Finding other = node.one("stale-sockets");
  CHECK(other.level == Level::kWarning);
  CHECK(contains(other.why, "does not run"));
  node.observed.sockets.erase(kOther);
  node.observed.sockets["/var/lib/kubelet/plugins_registry/csi.sock"] = {SocketOwner::State::kNobody};
  CHECK(contains(node.one("stale-sockets").why, "again and again"));
}

TEST_CASE("counted devices of other plugins that have fewer connections than resources are a warning") {
  MadeNode node;
  CHECK(node.look("served").empty());  // without the kubelet's count
  node.configure("- {name: example.com/x, count: 1}\n");
  node.observed.counted = {{"example.com/x", {"x-0"}}, {"their.com/a", {"1"}}, {"their.com/gone", {}}};
  node.observed.sockets[kOurs] = {SocketOwner::State::kListens, kDaemon, 1};
  const Finding none = node.one("served");
  CHECK(none.level == Level::kWarning);
  CHECK(none.where == "their.com/a");
  CHECK(none.what == "the kubelet counts devices, and no plugin serves them");
  CHECK(contains(none.advice, "restart the kubelet"));

  node.observed.sockets[kOther] = {SocketOwner::State::kListens, 99, 1};
  CHECK(node.one("served").what == "a plugin serves each of the others' resources: 1");
  (*node.observed.counted)["their.com/b"] = {"1", "2"};
  CHECK(node.one("served").where == "their.com/a, their.com/b");
  CHECK(node.one("served").what == "the kubelet counts devices of 2 resources, and plugins serve 1 of them");
  (*node.observed.counted)["their.com/c"] = {"1"};
  (*node.observed.counted)["their.com/d"] = {"1"};
  CHECK(node.one("served").where == "their.com/a, their.com/b, their.com/c ...");

  node.observed.sockets[kOther].connections = 4;  // one plugin may serve several resources
  CHECK(node.one("served").level == Level::kOk);
  node.observed.sockets[kOther] = {SocketOwner::State::kNobody};
  CHECK(node.one("served").level == Level::kWarning);
  node.observed.sockets[kOther] = {SocketOwner::State::kListens};  // its process is not visible
  CHECK(node.look("served").empty());
}

TEST_CASE("a different plugin with a resource's name in its command line is a problem") {
  MadeNode node;
  node.configure("- {name: example.com/x, count: 1}\n");
  node.listens(kOther, 99);
  node.process(99, "/bin/other-plugin --resource=example.com/y");
  CHECK(node.one("owners").level == Level::kOk);
  node.process(99, "/bin/other-plugin --resource=example.com/x");
  const Finding finding = node.one("owners");
  CHECK(finding.level == Level::kProblem);
  CHECK(finding.where == "example.com/x");
  CHECK(contains(finding.what, kOther + " of process 99 (/bin/other-plugin --resource=example.com/x)"));
}

TEST_CASE(
    "a different plugin's resource is recognized by the plugin's command line or by its socket's name") {
  MadeNode node;
  node.configure("- {name: example.com/serial, count: 1}\n");
  std::string socket = kOther;
  std::string line = "/bin/other-plugin";
  bool known = true;
  SUBCASE("the command line has the domain and the name apart") {
    line += R"( --domain=example.com --device={"name":"serial","groups":[]})";
  }
  SUBCASE("a longer name is a different resource, and does not match") {
    line += " --domain=example.com --device=name:serials";
    known = false;
  }
  SUBCASE("a longer domain is a different resource, and does not match") {
    line += " --domain=my-example.com --device=name:serial";
    known = false;
  }
  SUBCASE("the socket's name has the resource's name in base64") {
    socket = std::string(kPlugins) + "/gdp-ZXhhbXBsZS5jb20vc2VyaWFs-1763745000.sock";
  }
  SUBCASE("the socket's name has a different character for the slash") {
    socket = std::string(kPlugins) + "/example.com_serial.sock";
  }
  SUBCASE("the socket's name has a different resource's name in base64, and does not match") {
    socket = std::string(kPlugins) + "/gdp-ZXhhbXBsZS5jb20vc2VyaWFscw==-1763745000.sock";
    known = false;
  }
  node.listens(socket, 99);
  node.process(99, line);
  CHECK(node.one("owners").level == (known ? Level::kProblem : Level::kOk));
}

TEST_CASE("the advice about a different plugin is to stop its pod, its unit or its process") {
  MadeNode node;
  node.configure("- {name: example.com/x, count: 1}\n");
  node.listens(kOther, 99);
  node.process(99, "/bin/other-plugin --resource=example.com/x");
  CHECK(contains(node.one("owners").advice, "`kill 99`"));
  node.process(99, "/bin/other-plugin --resource=example.com/x", "other.service");
  CHECK(contains(node.one("owners").advice, "`systemctl disable --now other.service`"));
  const std::string uid = "6c5c2a3e-7f7c-4e7a-9a51-0d8b7c5d1f10";
  SUBCASE("the pod is found by the control group's name in the systemd driver's form") {
    node.tree.file(
        "proc/99/cgroup",
        "0::/kubepods.slice/kubepods-besteffort.slice/"
        "kubepods-besteffort-pod6c5c2a3e_7f7c_4e7a_9a51_0d8b7c5d1f10.slice/cri-containerd-ab.scope\n");
  }
  SUBCASE("the pod is found by the control group's name in the cgroupfs driver's form") {
    node.tree.file("proc/99/cgroup", "12:cpu:/kubepods/burstable/pod" + uid + "/ab\n0::/\n");
  }
  CHECK(contains(node.one("owners").advice, "the pod with the UID " + uid));
  CHECK(contains(node.one("owners").advice, "| grep " + uid + "` names"));
  node.process(99, "/bin/other-plugin");
  write_checkpoint(node, checkpoint("", R"("example.com/x":["theirs"])"));
  CHECK(node.one("owners").level == Level::kWarning);
  CHECK(contains(node.one("owners").advice, "the pod with the UID " + uid));
}

TEST_CASE(
    "ids in the checkpoint that the configuration lacks are a note, or a warning if a different plugin "
    "runs") {
  MadeNode node;
  node.configure("- {name: example.com/x, count: 2, id: 'x{n}', replicas: 2}\n");
  write_checkpoint(node, checkpoint("", R"("example.com/x":["x0::0","x1::1"],"example.com/y":["q"])"));
  CHECK(node.one("owners").level == Level::kOk);

  const std::string pod =
      R"({"PodUID":"u","ContainerName":"c","ResourceName":"example.com/x","DeviceIDs":{"-1":["a","b","c"]},"AllocResp":""})";
  write_checkpoint(node, checkpoint(pod, R"("example.com/x":["d"])"));
  CHECK(node.one("owners").level == Level::kNote);
  CHECK(contains(node.one("owners").what, "has not: a, b, c and 1 more"));

  node.listens(kOther, 99);
  node.process(99, "/bin/other-plugin");
  CHECK(node.one("owners").level == Level::kWarning);
  CHECK(contains(node.one("owners").advice, "/bin/other-plugin"));
}

TEST_CASE("an unreadable checkpoint is reported, and the other checks continue") {
  MadeNode node;
  node.configure("- {name: example.com/x, count: 1}\n");
  write_checkpoint(node, "{");
  const Findings all = examine(node.host, node.observed);
  const auto owners = std::ranges::find(all, "owners", &Finding::check);
  REQUIRE(owners != all.end());
  CHECK(owners->level == Level::kWarning);
  CHECK(contains(owners->what, "this is not a kubelet's checkpoint"));
  CHECK(all.back().check == checks().back().name);
}

TEST_CASE("while plughost runs, it is a warning if the kubelet does not count all Healthy devices") {
  MadeNode node;
  node.configure("- {name: example.com/x, count: 2, id: 'x{n}'}\n");
  node.observed.counted = Allocatable::Ids{{"example.com/x", {"x0"}}};
  CHECK(node.look("counts").empty());
  node.daemon();
  const Finding finding = node.one("counts");
  CHECK(finding.level == Level::kWarning);
  CHECK(finding.where == "example.com/x");
  CHECK(contains(finding.what, "of 2 Healthy devices it does not count 1 (x1)"));
  node.observed.counted->clear();
  CHECK(contains(node.one("counts").what, "it does not count 2 (x0, x1)"));
  (*node.observed.counted)["example.com/x"] = {"x0", "x1"};
  CHECK(node.one("counts").level == Level::kOk);
  node.observed.counted.reset();
  CHECK(node.look("counts").empty());
}

TEST_CASE("a drain is a note, and lost names of drained devices are a problem with the way out") {
  const MadeNode node;
  const std::string file = "/var/lib/plughost/drains.json";
  CHECK(node.look("drains").empty());
  node.tree.file(file, DrainSet().text());
  CHECK(node.look("drains").empty());
  DrainSet drains;
  for (const char* id : {"0", "1", "2", "3"}) drains.set({"x.com/a", id}, Drain{});
  node.tree.file(file, drains.text());
  CHECK(node.one("drains").level == Level::kNote);
  CHECK(node.one("drains").what == "drained: x.com/a=0, x.com/a=1, x.com/a=2 and 1 more");
  drains.set({}, Drain{});
  for (const std::string& text : {drains.text(), std::string("{")}) {
    node.tree.file(file, text);
    CHECK(node.one("drains").level == Level::kProblem);
    CHECK(node.one("drains").where == file);
    CHECK(contains(node.one("drains").advice, "`plughost undrain --unreadable`"));
  }
}
