// Remarks on mounts that are less useful in a container than expected.

#include <doctest/doctest.h>

#include "tools/survey/survey.hpp"
#include "unit/host/hardware/recorded.hpp"
#include "unit/temp_dir.hpp"
#include "unit/tools/plan/made_machines.hpp"

using namespace plughost;
using Texts = std::vector<std::string>;

namespace {

class Machine {
 public:
  Machine() { add("/etc/licence", FileType::kRegular, ""); }

  void add(const std::string& path, FileType type, const std::string& text) {
    machine_->tree.add(path, {.type = type, .text = text, .entries = {}});
  }
  // `number` is the device's number, such as "188:0".
  void node(const std::string& path, const std::string& number, FileType type = FileType::kCharacter) {
    add(path, type, number);
  }

  // Returns the remarks on an entry x.com/a with the keys `more`, whose only device is /etc/licence.
  Texts remarks(const std::string& more) const {
    return of("- {name: x.com/a, directory: {path: /etc, match: licence}, " + more + "}\n");
  }
  Texts of(const std::string& entry) const { return of(HostRoot(machine_), entry); }
  static Texts of(const HostRoot& host, const std::string& entry) {
    const test::TempDir files;
    files.file("config.yaml", "resources:\n" + entry);
    return remarks_on(host, survey(load_config(files.at("config.yaml")), host).snapshots);
  }

 private:
  std::shared_ptr<RecordedMachine> machine_ = std::make_shared<RecordedMachine>();
};

const std::string kNoRight =
    ": a mount gives a container no right to open it; give the node, by `nodes`, or by a path without "
    "`type: Mount`";
const std::string kPortIsMounted = "mounts: [{hostPath: /dev/port}]";

}  // namespace

TEST_CASE("a mounted device node leads to a remark, unless the container is given the node too") {
  Machine machine;
  machine.node("/dev/port", "188:0");
  machine.node("/dev/same", "188:0");
  machine.node("/dev/ram3", "1:3", FileType::kBlock);
  CHECK(machine.remarks(kPortIsMounted) == Texts{"x.com/a: /dev/port is a device node" + kNoRight});
  CHECK(machine.remarks("cdi: true, " + kPortIsMounted).size() == 1);
  CHECK(machine.remarks("mounts: [{hostPath: /dev/ram3}]").size() == 1);
  CHECK(machine.remarks(kPortIsMounted + ", nodes: [{hostPath: /dev/port}]").empty());
  CHECK(machine.remarks(kPortIsMounted + ", nodes: [{hostPath: /dev/same}]").empty());
  CHECK(machine.of("- {name: x.com/b, groups: [{paths: [{path: \"/dev/p*\", type: Mount}]}]}\n") ==
        Texts{"x.com/b: /dev/port is a device node" + kNoRight});
}

TEST_CASE("a mounted device node that every container may open leads to no remark") {
  Machine machine;
  for (const std::string number :
       {"1:3", "1:5", "1:7", "1:8", "1:9", "5:0", "5:1", "5:2", "10:200", "136:7"}) {
    CAPTURE(number);
    machine.node("/dev/port", number);
    CHECK(machine.remarks(kPortIsMounted).empty());
  }
}

TEST_CASE("a mounted device node has no remark if something else may grant access") {
  Machine machine;
  machine.node("/dev/port", "188:0");
  const auto remarks = [&](const std::string& more) { return machine.remarks(kPortIsMounted + ", " + more); };
  CHECK(remarks("allocate: {exec: [/bin/true]}").empty());
  CHECK(remarks("annotations: {cdi.k8s.io/a: 'vendor.com/class=a'}").empty());
  CHECK(remarks("env: {NVIDIA_VISIBLE_DEVICES: all}").empty());
  CHECK(remarks("env: {NVIDIA_DRIVER_CAPABILITIES: all}, annotations: {a: b}").size() == 1);
}

TEST_CASE("the mounts by which NVIDIA's runtime receives the cards have no remark") {
  const HostRoot host(test::made_machines().at("gpu-nvlink").machine);
  for (const std::string strategy : {"volume-mounts", "[volume-mounts, cdi-cri]"}) {
    CAPTURE(strategy);
    CHECK(Machine::of(host,
                      "- {name: x.com/gpu, gpu: {vendor: nvidia, imexChannels: [0], deviceListStrategy: " +
                          strategy + "}}\n")
              .empty());
  }
}

TEST_CASE("a directory with device nodes is judged by the first that the container may not open") {
  Machine machine;
  machine.node("/hostdev/null", "1:3");
  CHECK(machine.remarks("mounts: [{hostPath: /hostdev}]").empty());
  machine.node("/hostdev/port", "188:0");
  machine.node("/hostdev/zport", "188:1");
  CHECK(machine.of("- {name: x.com/a, count: 2, mounts: [{hostPath: /hostdev}]}\n") ==  // one for both
        Texts{"x.com/a: /hostdev has device nodes, such as /hostdev/port" + kNoRight});
  CHECK(machine.remarks("mounts: [{hostPath: /hostdev}], nodes: [{hostPath: /hostdev/port}]") ==
        Texts{"x.com/a: /hostdev has device nodes, such as /hostdev/zport" + kNoRight});
  machine.add("/links/port", FileType::kLink, "/hostdev/port");
  CHECK(machine.remarks("mounts: [{hostPath: /links}]").empty());  // perhaps only the links' names are used
}

TEST_CASE("a mounted socket leads to a remark, because its server may create it again") {
  Machine machine;
  machine.add("/run/server.sock", FileType::kSocket, "");
  CHECK(
      machine.remarks("mounts: [{hostPath: /run/server.sock}]") ==
      Texts{"x.com/a: /run/server.sock is a socket: if its server makes it again, a running container still "
            "has the old one; mount the directory that it is in"});
  CHECK(machine.remarks("mounts: [{hostPath: /run}]").empty());
}

TEST_CASE("missing files, directories and paths lead to no remark") {
  const Machine machine;
  CHECK(machine.remarks("mounts: [{hostPath: /etc}, {hostPath: /etc/licence}, {hostPath: /none}]").empty());
}

TEST_CASE("a container that would be refused two devices leads to a remark with the refusal") {
  Machine machine;
  machine.add("/etc/spare", FileType::kRegular, "");
  const auto licences = [&](const std::string& more) {
    return machine.of(
        "- {name: x.com/b, directory: {path: /etc}, mounts: [{hostPath: '{path}', containerPath: " + more +
        "}\n");
  };
  const std::string two =
      "a container that requests two devices is refused: resource x.com/b: /lic in the container";
  REQUIRE(licences("/lic}]").size() == 1);
  CHECK(licences("/lic}]")[0].substr(0, two.size()) == two);
  CHECK(licences("'/lic{n}'}]").empty());
  // The entry's own limit is no remark.
  CHECK(licences("'/lic{n}'}], replicas: 2, shares: oneDevice").empty());
}

TEST_CASE("hardware that two resources list leads to one remark, unless it is shared") {
  Machine machine;
  machine.node("/dev/a", "188:0");
  machine.node("/dev/b", "188:1");
  const auto entry = [](const std::string& name, const std::string& more) {
    return "- {name: x.com/" + name + ", groups: [{paths: [{path: '/dev/[ab]'}]}]" + more + "}\n";
  };
  CHECK(machine.of(entry("one", "") + entry("two", "")) ==
        Texts{"x.com/one=a and x.com/two=a are the same hardware: one container at a time gets it, and the "
              "scheduler counts it twice; leave it out of one of the entries with `except`, if that is not "
              "meant"});
  CHECK(machine.of(entry("one", "") + entry("two", ", replicas: 2")).empty());
  CHECK(machine.of(entry("one", ", only: [{id: a}]") + entry("two", ", only: [{id: b}]")).empty());
}
