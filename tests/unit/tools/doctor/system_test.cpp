#include "unit/tools/doctor/made_node.hpp"

using namespace plughost;
using namespace plughost::test;

namespace {

constexpr const char* kUnit = "usr/lib/systemd/system/plughost.service";

void install_unit(const MadeNode& node) {
  node.tree.directory("run/systemd/system");
  node.tree.file(kUnit, "[Unit]\nBefore=kubelet.service\n");
  node.tree.link("etc/systemd/system/multi-user.target.wants/plughost.service",
                 "/usr/lib/systemd/system/plughost.service");
}

}  // namespace

TEST_CASE("a node without systemd, or without the unit, gets a finding with what is missing") {
  const MadeNode node;
  CHECK(node.one("systemd").level == Level::kNote);
  node.tree.directory("run/systemd/system");
  CHECK(contains(node.one("systemd").what, "no such unit"));
}

TEST_CASE("the unit must be enabled, and not masked") {
  const MadeNode node;
  install_unit(node);
  CHECK(node.one("systemd").what == "enabled, and it starts before kubelet.service");
  node.tree.remove("etc/systemd/system/multi-user.target.wants");
  CHECK(node.one("systemd").advice == "`systemctl enable plughost`");
  node.tree.link("etc/systemd/system/plughost.service", "/dev/null");
  CHECK(node.one("systemd").level == Level::kProblem);
  CHECK(contains(node.one("systemd").advice, "unmask"));
}

TEST_CASE("the unit must start before the kubelet's unit, whatever its name") {
  MadeNode node;
  install_unit(node);
  node.kubelet("/usr/local/bin/k3s server", "k3s.service");
  const Finding finding = node.one("systemd");
  CHECK(finding.level == Level::kWarning);
  CHECK(contains(finding.advice, "`Before=k3s.service`"));
  node.tree.file("etc/systemd/system/plughost.service.d/k3s.conf",
                 "[Unit]\nBefore=k3s.service other.service\n");
  CHECK(node.one("systemd").level == Level::kOk);
}

TEST_CASE("a node without udevd is a warning") {
  const MadeNode node;
  CHECK(node.one("udevd").level == Level::kWarning);
  node.tree.file("run/udev/control");
  CHECK(node.one("udevd").level == Level::kOk);
}

TEST_CASE(
    "an SELinux policy against devices in containers is a warning while SELinux enforces, and a note "
    "otherwise") {
  MadeNode node;
  CHECK(node.one("selinux").what == "SELinux is off");
  node.tree.file("sys/fs/selinux/enforce", "1");
  CHECK(node.one("selinux").level == Level::kOk);

  node.tree.file("sys/fs/selinux/booleans/container_use_devices", "0 0");
  CHECK(node.one("selinux").level == Level::kOk);  // no device node is given to containers
  node.observed.links = {{"/dev/ttyUSB0", "/dev/char/188:0"}};
  CHECK(node.one("selinux").level == Level::kWarning);
  CHECK(contains(node.one("selinux").advice, "setsebool -P container_use_devices 1"));
  node.tree.file("sys/fs/selinux/enforce", "0");
  CHECK(node.one("selinux").level == Level::kNote);
  node.tree.file("sys/fs/selinux/booleans/container_use_devices", "1 1");
  CHECK(node.one("selinux").level == Level::kOk);
}

TEST_CASE("an unknown SELinux label, and a plughost confined like any container, are reported") {
  MadeNode node;
  node.tree.file("sys/fs/selinux/enforce", "1");
  node.observed.labels[kPlugins] = "system_u:object_r:container_file_t:s0";
  CHECK(node.one("selinux").level == Level::kOk);
  node.observed.labels[kPlugins] = "system_u:object_r:unlabeled_t:s0";
  CHECK(contains(node.one("selinux").advice, "restorecon -Rv"));
  node.observed.labels.clear();
  node.daemon();
  node.tree.file("proc/4242/attr/current", std::string_view("system_u:system_r:container_t:s0:c1,c2\0", 39));
  CHECK(node.one("selinux").what == "plughost runs as container_t");
  CHECK(contains(node.one("selinux").advice, "{type: container_device_plugin_t, level: s0}"));
}

TEST_CASE(
    "an AppArmor profile that confines the kubelet or plughost is a warning, unless the profile only "
    "complains") {
  MadeNode node;
  CHECK(node.one("apparmor").what == "AppArmor is off");
  node.tree.file("sys/module/apparmor/parameters/enabled", "Y\n");
  node.kubelet();
  node.tree.file("proc/812/attr/current", "unconfined\n");
  CHECK(node.one("apparmor").level == Level::kOk);
  node.tree.file("proc/812/attr/apparmor/current", "snap.microk8s.daemon-kubelite (enforce)\n");
  const Finding finding = node.one("apparmor");
  CHECK(finding.level == Level::kWarning);
  CHECK(contains(finding.where, "process 812"));
  node.tree.file("proc/812/attr/apparmor/current", "snap.microk8s.daemon-kubelite (complain)\n");
  CHECK(node.one("apparmor").level == Level::kOk);
  node.daemon();
  node.tree.file("proc/4242/attr/apparmor/current", "plughost (enforce)\n");
  CHECK(contains(node.one("apparmor").where, "process 4242"));
}

TEST_CASE(
    "too few file descriptors are a problem, and the limit of a running plughost is the one that counts") {
  MadeNode node;
  node.configure("- {name: 'example.com/x', count: 1}\n");
  CHECK(node.one("descriptors").level == Level::kOk);
  node.observed.descriptors = 64;
  const Finding finding = node.one("descriptors");
  CHECK(finding.level == Level::kProblem);
  CHECK(contains(finding.advice, "LimitNOFILE=136"));
  node.daemon();
  node.tree.file("proc/4242/limits",
                 "Limit  Soft Limit  Hard Limit  Units\nMax open files            1024                 4096"
                 "                 files     \n");
  CHECK(node.one("descriptors").level == Level::kOk);
  node.tree.file("proc/4242/limits",
                 "Max open files            10                 20                 files\n");
  CHECK(contains(node.one("descriptors").what, "the hard limit is 20"));
  node.tree.file("proc/4242/limits",
                 "Max open files            unlimited            unlimited            files\n");
  CHECK(node.one("descriptors").level == Level::kOk);
}

TEST_CASE("inotify's watches and instances in use are counted, and it is a warning if few are left") {
  const MadeNode node;
  CHECK(node.look("inotify").empty());
  node.tree.file("proc/sys/fs/inotify/max_user_watches", "600\n");
  node.tree.file("proc/sys/fs/inotify/max_user_instances", "2\n");
  CHECK(node.one("inotify").what == "0 of 600 watches in use, and 0 of 2 instances");
  node.process(9, "watcher");
  node.tree.link("proc/9/fd/4", "anon_inode:inotify");
  node.tree.link("proc/9/fd/5", "/dev/null");
  std::string info = "pos:\t0\nflags:\t02004000\n";
  for (int i = 0; i < 50; ++i) info += "inotify wd:1 ino:1 sdev:1 mask:1 ignored_mask:0 fhandle-bytes:8\n";
  node.tree.file("proc/9/fdinfo/4", info);
  CHECK(node.one("inotify").what == "50 of 600 watches in use, and 1 of 2 instances");
  const std::string line = "inotify wd:1 ino:1 sdev:1 mask:1 ignored_mask:0 fhandle-bytes:8\n";
  for (int i = 50; i < 600 - 512; ++i) info += line;
  node.tree.file("proc/9/fdinfo/4", info);
  CHECK(node.one("inotify").what == "88 of 600 watches in use, and 1 of 2 instances");
  info += line;
  node.tree.file("proc/9/fdinfo/4", info);
  CHECK(contains(node.one("inotify").where, "max_user_watches"));
  CHECK(node.one("inotify").level == Level::kWarning);
  node.tree.link("proc/9/fd/6", "anon_inode:inotify");
  CHECK(node.look("inotify").size() == 2);
}

TEST_CASE("a clock in the past is a problem, and an unsynchronised one a note") {
  MadeNode node;
  CHECK(node.one("clock").level == Level::kOk);
  node.observed.clock_is_set = false;
  CHECK(node.one("clock").level == Level::kNote);
  node.observed.now = 1000;
  CHECK(node.one("clock").level == Level::kProblem);
}

TEST_CASE("each setting that the configuration needs and the unit's sandbox lacks is a warning") {
  MadeNode node;
  CHECK(node.look("sandbox").empty());  // no unit exists
  install_unit(node);
  CHECK(node.look("sandbox").empty());  // no configuration exists
  node.tree.file("usr/lib/systemd/system/plughost.service",
                 "[Unit]\nBefore=kubelet.service\n[Service]\n"
                 "DevicePolicy=closed\nIPAddressDeny=any\nProtectSystem=strict\n"
                 "ReadWritePaths=-/var/lib/kubelet -/run/cdi\n");
  node.configure("- {name: example.com/x, count: 1}\n");
  CHECK(node.one("sandbox").level == Level::kOk);
  node.configure("- {name: example.com/x, count: 1, health: {exec: [/bin/true]}}\n", "listen: 0.0.0.0:1\n");
  const Findings found = node.look("sandbox");
  REQUIRE(found.size() == 2);
  CHECK(found[0].level == Level::kWarning);
  CHECK(found[0].what ==
        "it lacks DeviceAllow=block-* rw for programs of this configuration: they may open device nodes");
  CHECK(contains(found[0].advice, "`plughost setup`"));
  CHECK(contains(found[1].what, "it lacks IPAddressAllow=any"));
  node.tree.file("etc/systemd/system/plughost.service.d/10-setup.conf",
                 "[Service]\nDeviceAllow=char-* rw\nDeviceAllow=block-* rw\nIPAddressAllow=any\n");
  CHECK(node.one("sandbox").level == Level::kOk);
  // The missing Before= is reported by the check `systemd`, not by this one.
  node.process(812, "/usr/local/bin/k3s", "k3s.service");
  CHECK(node.one("sandbox").level == Level::kOk);
  node.tree.link("etc/systemd/system/plughost.service", "/dev/null");
  CHECK(node.look("sandbox").empty());
}

TEST_CASE(
    "if no kubelet runs, the kubelet's unit is the one that is enabled, or else each that is installed") {
  MadeNode node;
  install_unit(node);
  node.tree.file("etc/systemd/system/rke2-server.service");
  node.tree.file("etc/systemd/system/rke2-agent.service");
  CHECK(node.look("systemd").size() == 2);
  node.tree.link("etc/systemd/system/multi-user.target.wants/rke2-agent.service", "../rke2-agent.service");
  const Finding finding = node.one("systemd");
  CHECK(contains(finding.what, "rke2-agent.service"));
  CHECK(contains(finding.advice, "`plughost setup` writes it"));
  // The unit of the process that listens on the kubelet's socket counts, whatever is enabled.
  node.kubelet();
  CHECK(node.one("systemd").what == "enabled, and it starts before kubelet.service");
}
