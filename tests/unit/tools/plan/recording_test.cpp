#include "tools/plan/recording.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "config/selection.hpp"
#include "host/hardware/sysfs.hpp"
#include "tools/survey/survey.hpp"
#include "unit/config/config_of.hpp"
#include "unit/host/hardware/made_sysfs.hpp"

namespace plughost {
namespace {

using test::config_of;
using test::MadeSysfs;

const std::string kPci = "/sys/devices/pci0000:00/";

// Returns a simulated machine with a device for every kind.
MadeSysfs made_machine() {
  MadeSysfs made;
  const test::TempDir& tree = made.tree();
  tree.file("proc/sys/kernel/hostname", "gpu-7\n");
  tree.file("proc/sys/kernel/osrelease", "6.1.0-28-amd64\n");
  made.device("/sys/devices/virtual/dmi/id", "dmi",
              {{"sys_vendor", "ACME"}, {"product_name", "Anvil"}, {"product_serial", "SECRET-1"}});
  const std::string nvidia = kPci + "0000:00:01.0";
  made.device(nvidia, "pci",
              {{"vendor", "0x10de"}, {"device", "0x20b0"}, {"class", "0x030200"}, {"numa_node", "1"}});
  made.bind(nvidia, "nvidia");
  const std::string amd = kPci + "0000:00:02.0";
  made.device(amd, "pci",
              {{"vendor", "0x1002"}, {"device", "0x74a1"}, {"class", "0x120000"}, {"config", "binary"}});
  made.bind(amd, "amdgpu");
  made.device(amd + "/drm/renderD128", "drm", {},
              {{"DEVNAME", "dri/renderD128"}, {"MAJOR", "226"}, {"MINOR", "128"}});
  made.attribute(amd + "/ras", "umc_err_count", "ue: 3");
  tree.file("dev/kfd");
  const std::string hca = kPci + "0000:00:03.0";
  made.device(hca, "pci", {{"vendor", "0x15b3"}, {"device", "0x1017"}, {"class", "0x020700"}});
  made.bind(hca, "mlx5_core");
  made.device(hca + "/net/ib0", "net");
  made.device(hca + "/infiniband/mlx5_0", "infiniband", {{"node_guid", "506b:4b03:00c3:0001"}});
  made.attribute(hca + "/infiniband/mlx5_0/ports/1", "state", "4: ACTIVE");
  made.attribute(hca + "/infiniband/mlx5_0/ports/1", "link_layer", "InfiniBand");
  made.device(hca + "/infiniband_verbs/uverbs0", "infiniband_verbs", {{"ibdev", "mlx5_0"}},
              {{"DEVNAME", "infiniband/uverbs0"}});
  const std::string port = kPci + "0000:00:14.0/usb1/1-2";
  made.device(kPci + "0000:00:14.0", "pci", {{"vendor", "0x8086"}, {"class", "0x0c0330"}});
  made.device(port, "usb", {{"idVendor", "1a86"}, {"idProduct", "7523"}, {"serial", "A1"}},
              {{"DEVTYPE", "usb_device"}, {"DEVNAME", "bus/usb/001/002"}, {"MAJOR", "189"}, {"MINOR", "1"}});
  made.device(port + "/1-2:1.0/tty/ttyUSB0", "tty", {{"odd_attribute", "7"}},
              {{"DEVNAME", "ttyUSB0"}, {"MAJOR", "188"}, {"MINOR", "0"}});
  tree.file("run/udev/data/c188:0",
            "S:serial/by-id/usb-1a86-A1\nE:ID_SERIAL_SHORT=A1\nG:systemd\nV:1\nI:12345\n");
  tree.file("opt/gophers/amy", "the secret of amy");
  tree.file("opt/gophers/below/bob", "the secret of bob");
  tree.link("opt/current", "gophers");
  tree.file("etc/labels", R"({"metadata": {"name": "node-7", "labels": {"rack": "a1"},
                              "annotations": {"a": "SECRET-2"}}})");
  return made;
}

NvmlView made_nvml() {
  NvmlView view;
  NvmlView::Card& card = view.cards.emplace_back();
  card.uuid = "GPU-1";
  card.index = "0";
  card.name = "A100";
  card.pci = "0000:00:01.0";
  card.minor = 0;
  card.memory = 40u << 20;
  card.nodes = {"/dev/nvidia0"};
  card.mig_enabled = true;
  NvmlView::Unit& part = card.parts.emplace_back();
  part.uuid = "MIG-1";
  part.index = "0:0";
  part.pci = card.pci;
  part.profile = "1g.5gb";
  part.nodes = {"/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap66"};
  return view;
}

constexpr const char* kEveryKind = R"(
domain: x.com
nodeLabels: /etc/labels
resources:
- {name: gpu, gpu: {mig: mixed}}
- {name: pci, pci: {vendors: [1002]}}
- {name: rdma, rdma: {portState: any}}
- {name: usb, groups: [{usb: [{vendor: 1a86, nodes: [usb, tty]}]}]}
- {name: udev, udev: {subsystem: tty, attributes: {odd_attribute: "7"}, links: true}}
- {name: gopher, directory: {path: /opt/current, recursive: true}}
- {name: mount, groups: [{paths: [{path: /opt/*/amy, type: Mount}]}]}
- {name: here, count: 1, when: {hostname: gpu-*, kernel: 6.*, dmi: {vendor: ACME, product: Anvil}}}
- {name: rack, count: 1, when: {label: {rack: a*}, node: node-7, exists: /opt/gophers/below}}
- {name: rack-b, count: 1, when: {label: {rack: b*}}}
- {name: program, exec: {discover: /bin/false, interval: 5s}}
)";

Recording record_made(const MadeSysfs& made, const Config* config, std::vector<std::string> paths = {}) {
  return record(
      made.host(),
      {.config = config, .paths = std::move(paths), .now = "2026-01-31T12:00:00Z", .nvml = made_nvml()});
}

// Returns the survey's remarks, errors, undecided and unmatched entries, and entries that are not here.
std::vector<std::string> words_of(const Survey& survey) {
  std::vector<std::string> words = survey.remarks;
  for (const auto* more : {&survey.errors, &survey.undecided, &survey.unmatched})
    words.insert(words.end(), more->begin(), more->end());
  for (const NotHere& other : survey.others) words.push_back(other.text());
  return words;
}

TEST_CASE("a virtual function is recorded with the link to its physical function") {
  const MadeSysfs made;
  const std::string whole = kPci + "0000:00:03.0";
  const std::string part = kPci + "0000:00:03.1";
  for (const std::string& each : {whole, part})
    made.device(each, "pci", {{"vendor", "0x15b3"}, {"device", "0x1018"}, {"class", "0x020000"}});
  made.tree().link(whole.substr(1) + "/virtfn0", "../0000:00:03.1");
  made.tree().link(part.substr(1) + "/physfn", "../0000:00:03.0");
  const Config config = config_of("resources:\n- {name: x.com/nic, pci: {vendors: ['15b3']}}\n");
  const Survey expected = survey(config, made.host());
  const Survey found = survey(config, HostRoot(record_made(made, nullptr).facts.machine));
  CHECK(words_of(expected).size() == 1);
  CHECK(words_of(found) == words_of(expected));
  REQUIRE(found.snapshots.size() == 1);
  CHECK(found.snapshots[0].inventory == expected.snapshots.at(0).inventory);
}

TEST_CASE("a configuration finds the same devices on recorded facts as on the machine") {
  const MadeSysfs made = made_machine();
  const Config config = config_of(kEveryKind);
  const HostRoot machine = made.host().noted([](HostRoot::Look, const std::string&) {},
                                             std::make_shared<const NvmlView>(made_nvml()));
  const Survey expected = survey(config, machine);
  // Because the configuration uses unusual attributes and labels, these are recorded.
  const Facts facts = read_facts(text_of(record_made(made, &config).facts));
  const Survey found = survey(config, HostRoot(facts.machine));
  CHECK(words_of(found) == words_of(expected));
  REQUIRE(found.snapshots.size() == expected.snapshots.size());
  for (std::size_t i = 0; i < found.snapshots.size(); ++i) {
    CAPTURE(found.snapshots[i].resource);
    CHECK(found.snapshots[i].resource == expected.snapshots[i].resource);
    CHECK(found.snapshots[i].inventory == expected.snapshots[i].inventory);
  }
  const auto count_of = [&](const std::string& name) {
    const auto snapshot = std::ranges::find(found.snapshots, "x.com/" + name, &ResourceSnapshot::resource);
    return snapshot == found.snapshots.end() ? -1 : static_cast<int>(snapshot->inventory.id_count());
  };
  CHECK(count_of("gpu") == 2);
  CHECK(count_of("pci") == 1);
  CHECK(count_of("rdma") == 1);
  CHECK(count_of("usb") == 1);
  CHECK(count_of("udev") == 1);
  CHECK(count_of("gopher") == 2);
  CHECK(count_of("mount") == 2);
  CHECK(count_of("here") == 1);
  CHECK(count_of("rack") == 1);
  CHECK(count_of("rack-b") == -1);
  CHECK(found.undecided == std::vector<std::string>{"x.com/program"});
}

TEST_CASE("without a configuration hardware is recorded, and files that only a configuration names are not") {
  const MadeSysfs made = made_machine();
  const Config config = config_of(kEveryKind);
  const Facts facts = record_made(made, nullptr).facts;
  const HostRoot host(facts.machine);
  const Survey found = survey(config, host);
  const auto devices_of_resource = [&](const std::string& name) -> std::size_t {
    const auto snapshot = std::ranges::find(found.snapshots, "x.com/" + name, &ResourceSnapshot::resource);
    return snapshot == found.snapshots.end() ? 0 : snapshot->inventory.id_count();
  };
  CHECK(facts.node == "gpu-7");
  CHECK(facts.recorded == "2026-01-31T12:00:00Z");
  CHECK(devices_of_resource("gpu") == 2);
  CHECK(devices_of_resource("rdma") == 1);
  CHECK(devices_of_resource("usb") == 1);
  CHECK(devices_of_resource("udev") == 0);  // its unusual attribute is not recorded
  CHECK(devices_of_resource("gopher") == 0);
  CHECK_FALSE(host.exists("/opt"));
  CHECK_FALSE(host.exists("/etc/labels"));
  CHECK_FALSE(host.text("/proc/sys/kernel/arch").value_or("").empty());
}

TEST_CASE("serial numbers, annotations, texts of users' files and binary attributes are not recorded") {
  const MadeSysfs made = made_machine();
  const Config config = config_of(kEveryKind);
  const std::string text =
      text_of(record_made(made, &config, {"/opt/*", "/etc/*", "/sys/class/dmi/id/*"}).facts);
  for (const char* secret : {"SECRET", "the secret", "binary"}) {
    CAPTURE(secret);
    CHECK(text.find(secret) == std::string::npos);
  }
  CHECK(text.find("rack") != std::string::npos);
  CHECK(text.find("ACME") != std::string::npos);
  CHECK(text.find("12345") == std::string::npos);  // the time at which udev handled a device
}

TEST_CASE("a path pattern adds the matching files to the facts by name, without their texts") {
  const MadeSysfs made = made_machine();
  const Facts facts = record_made(made, nullptr, {"/opt/current/a*", "/none/*"}).facts;
  const HostRoot host(facts.machine);
  CHECK(host.type("/opt/current/amy") == FileType::kRegular);
  CHECK(host.text("/opt/current/amy") == std::nullopt);
  CHECK(host.canonical("/opt/current/amy") == "/opt/gophers/amy");
  CHECK_FALSE(host.exists("/opt/gophers/below"));
}

TEST_CASE("state that comes and goes with pods is not recorded") {
  MadeSysfs made = made_machine();
  const std::string virtual_net = "/sys/devices/virtual/net/";
  made.device(virtual_net + "veth1a2b", "net");
  made.device(virtual_net + "bond0", "net", {}, {{"DEVTYPE", "bond"}});
  for (const char* block : {"loop0", "dm-3"})
    made.device("/sys/devices/virtual/block/" + std::string(block), "block");
  made.device(kPci + "0000:00:05.0/nvme/nvme0/nvme0n1", "block", {{"size", "1"}});
  made.device(kPci + "0000:00:05.0/nvme/nvme0/nvme0n1/nvme0n1p1", "block", {{"partition", "1"}});
  made.device("/sys/devices/virtual/bdi/0:45", "bdi");
  made.device("/sys/devices/virtual/tty/tty7", "tty");
  for (const char* node : {"pts/3", "shm/x", "loop0", "dm-3", "sda"})
    made.tree().file("dev/" + std::string(node));
  const Facts facts = record_made(made, nullptr).facts;
  const HostRoot host(facts.machine);
  for (const char* path : {"/sys/class/net/veth1a2b", "/sys/class/block/loop0", "/sys/class/block/dm-3",
                           "/sys/class/block/nvme0n1p1", "/sys/class/bdi/0:45", "/sys/class/tty/tty7",
                           "/dev/pts", "/dev/shm", "/dev/loop0", "/dev/dm-3"}) {
    CAPTURE(path);
    CHECK_FALSE(host.exists(path));
  }
  for (const char* path : {"/sys/class/net/bond0", "/sys/class/block/nvme0n1", "/sys/class/net/ib0",
                           "/dev/sda", "/sys/class/bdi"}) {
    CAPTURE(path);
    CHECK(host.exists(path));
  }
}

TEST_CASE(
    "without a configuration, it is recorded which devices udev has processed, and which device has which "
    "number") {
  const MadeSysfs made;
  const std::string tty = kPci + "0000:00:14.0/tty/tty";
  for (const char* number : {"0", "1", "2", "3"})
    made.device(tty + "USB" + number, "tty", {},
                {{"DEVNAME", "ttyUSB" + std::string(number)}, {"MAJOR", "188"}, {"MINOR", number}});
  made.device(kPci + "0000:00:15.0/block/sdz", "block", {},
              {{"DEVNAME", "sdz"}, {"MAJOR", "65"}, {"MINOR", "144"}});
  made.tree().file("run/udev/control");
  made.tree().file("run/udev/data/c188:0", "E:ID_SERIAL_SHORT=A1\n");
  made.tree().file("run/udev/data/c188:1", "E:A=" + std::string(kMostRecordedText, 'x') + '\n');
  made.tree().file("run/udev/data/c188:2", "E:ID_SERIAL_SHORT=\xFF\n");
  const HostRoot host(read_facts(text_of(record_made(made, nullptr).facts)).machine);
  for (const char* number : {"0", "1", "2", "3"}) {
    CAPTURE(number);
    const auto device = SysDevice::at(host, tty + "USB" + number);
    REQUIRE(device);
    CHECK(device->finished() == (number != std::string("3")));
    CHECK(host.canonical("/sys/dev/char/188:" + std::string(number)) == device->path());
  }
  CHECK(host.exists("/sys/dev/block/65:144"));
}

TEST_CASE("a text that is too large or not UTF-8 is recorded as a file without text") {
  const MadeSysfs made;
  made.tree().file("sys/devices/soc0/family", std::string(kMostRecordedText, 'x'));
  made.tree().file("sys/devices/soc0/machine", std::string(kMostRecordedText + 1, 'x'));
  made.tree().file("etc/nv_tegra_release", "bytes \xFF\xFE");
  const Facts facts = record_made(made, nullptr).facts;
  const HostRoot host(facts.machine);
  CHECK(host.text("/sys/devices/soc0/family").has_value());
  CHECK(host.exists("/sys/devices/soc0/machine"));
  CHECK(host.text("/sys/devices/soc0/machine") == std::nullopt);
  CHECK(host.exists("/etc/nv_tegra_release"));
  CHECK(host.text("/etc/nv_tegra_release") == std::nullopt);
}

TEST_CASE("a limited number of a subsystem's devices is recorded, and the rest is reported") {
  const MadeSysfs made;
  RecordingTerms terms{.nvml = made_nvml()};
  CHECK(terms.most_devices == 2000);
  terms.most_devices = 20;
  const auto add = [&](std::size_t n) { made.device("/sys/devices/d/x" + std::to_string(100 + n), "misc"); };
  for (std::size_t n = 0; n < 20; ++n) add(n);
  CHECK(record(made.host(), terms).remarks.empty());
  add(20);
  const Recording recording = record(made.host(), terms);
  CHECK(recording.remarks ==
        std::vector<std::string>{"of 21 devices in /sys/class/misc the first 20 are recorded"});
  const HostRoot host(recording.facts.machine);
  CHECK(host.exists("/sys/class/misc/x119/uevent"));
  CHECK_FALSE(host.exists("/sys/class/misc/x120"));
}

TEST_CASE("a limited number of files other than hardware is recorded, and the rest is reported") {
  const MadeSysfs made;
  const Config config = config_of("resources: [{name: x.com/a, directory: {path: /d}}]");
  RecordingTerms terms{.config = &config, .nvml = made_nvml()};
  CHECK(terms.most_names == 20'000);
  terms.most_names = 200;
  const auto add = [&](std::size_t n) { made.tree().file("d/" + std::to_string(1000 + n)); };
  // The directory and udevd's socket count too, which makes 200.
  for (std::size_t n = 1; n < 199; ++n) add(n);
  CHECK(record(made.host(), terms).remarks.empty());
  add(199);
  CHECK(record(made.host(), terms).remarks ==
        std::vector<std::string>{"of files that are no hardware 1 are left out: there are more than 200"});
}

}  // namespace
}  // namespace plughost
