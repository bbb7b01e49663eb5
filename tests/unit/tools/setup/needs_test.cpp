#include "tools/setup/needs.hpp"
#include "places.hpp"

#include "unit/tools/doctor/made_node.hpp"

using namespace plughost;
using namespace plughost::test;
using Lines = std::vector<std::string>;

namespace {

// Returns the settings of plughost's own unit together with a drop-in.
UnitSettings unit(const std::string& drop_in = {}) {
  const HostRoot source(in_source(""));
  UnitSettings settings;
  settings.read(source.text("/systemd/plughost.service").value());
  settings.read(drop_in);
  return settings;
}

Config config_of(const std::string& text) {
  const TempDir directory;
  directory.file("config.yaml", text);
  return load_config(directory.at("config.yaml"));
}

Config entry(const std::string& text) {
  return config_of("resources:\n- name: example.com/x\n  " + text + "\n");
}

// Returns the lines that the configuration needs and the unit lacks.
Lines lacking(const Config& config, const UnitSettings& settings = unit(),
              const NodeTerms& node = {.kubernetes = {.units = {"kubelet.service"}}}) {
  Lines lines;
  for (const Need& need : unmet(needs_of(config, node), settings)) {
    CHECK_FALSE(need.what.empty());
    CHECK_FALSE(need.what.ends_with('.'));
    for (const Setting& setting : need.settings) lines.push_back(setting.section + ": " + setting.text());
  }
  return lines;
}

Lines writing_to(const std::string& path, const std::string& mode = "0755") {
  return {"Unit: RequiresMountsFor=" + path,
          "Service: ExecStartPre=+/usr/bin/install -d -m " + mode + ' ' + path,
          "Service: ReadWritePaths=-" + path};
}

constexpr const char* kCharacters = "Service: DeviceAllow=char-* rw";
constexpr const char* kBlocks = "Service: DeviceAllow=block-* rw";

}  // namespace

TEST_CASE(
    "a configuration that only reads, or listens on loopback, needs no change of the unit on a usual node") {
  CHECK(lacking(config_of("resources: []\n")).empty());
  CHECK(lacking(entry("directory: {path: /dev/serial/by-id}")).empty());
  CHECK(lacking(config_of("listen: 127.0.0.1:9464\nresources: []\n")).empty());
  CHECK(lacking(config_of("listen: '[::1]:9464'\nresources: []\n")).empty());
  CHECK(lacking(config_of("listen: '[0:0:0:0:0:0:0:1]:9464'\nresources: []\n")).empty());
}

TEST_CASE("plughost starts before every unit that the kubelet may run in") {
  const Config config = config_of("resources: []\n");
  const NodeTerms node{
      .kubernetes = {.name = "rke2", .units = {"rke2-server.service", "rke2-agent.service"}}};
  CHECK(lacking(config, unit(), node) == Lines{"Unit: Before=rke2-server.service rke2-agent.service"});
  CHECK(lacking(config, unit("[Unit]\nBefore=rke2-agent.service\n"), node).size() == 1);
  CHECK(lacking(config, unit("[Unit]\nBefore=rke2-agent.service x\nBefore=rke2-server.service\n"), node)
            .empty());
}

TEST_CASE("an entry for NVIDIA's cards needs access to device nodes, and one for AMD's does not") {
  CHECK(lacking(entry("gpu: {vendor: nvidia}")) == Lines{kCharacters});
  CHECK(lacking(entry("gpu: {vendor: auto}")) == Lines{kCharacters});
  CHECK(lacking(entry("gpu: {vendor: amd}")).empty());
  CHECK(lacking(entry("gpu: {vendor: nvidia}"), unit("[Service]\nDeviceAllow=char-* rw\n")).empty());
  CHECK(lacking(entry("gpu: {vendor: nvidia}"), unit("[Service]\nDeviceAllow=char-* r\n")).size() == 1);
}

TEST_CASE("every program of an entry needs access to device nodes") {
  for (const std::string program :
       {"count: 1\n  health: {exec: [/bin/true]}", "count: 1\n  preStart: {exec: [/bin/true]}",
        "count: 1\n  allocate: {exec: [/bin/true]}", "count: 1\n  onRemove: {exec: [/bin/true]}",
        "count: 1\n  whenUnhealthy: {exec: [/bin/true]}", "exec: {discover: [/bin/true]}",
        "exec: {watch: [/bin/true]}"}) {
    CAPTURE(program);
    CHECK(lacking(entry(program)) == Lines{kCharacters, kBlocks});
    CHECK(sandbox_needs(entry(program)) == SandboxNeeds{.programs = true});
  }
}

TEST_CASE("a program that changes its user needs the rights for it") {
  const Lines users{kCharacters, kBlocks,
                    "Service: CapabilityBoundingSet=CAP_SETUID CAP_SETGID CAP_SYS_CHROOT",
                    "Service: SystemCallFilter=@setuid chroot"};
  CHECK(lacking(entry("exec: {discover: [/bin/true], user: nobody}")) == users);
  CHECK(lacking(entry("count: 1\n  health: {exec: [/bin/true], user: nobody}")) == users);
  const std::string devices = "DeviceAllow=char-* rw\nDeviceAllow=block-* rw\n";
  CHECK(lacking(entry("exec: {discover: [/bin/true], user: nobody}"),
                unit(devices + "CapabilityBoundingSet=CAP_SETUID CAP_SETGID CAP_SYS_CHROOT\n"
                               "SystemCallFilter=@setuid chroot\n"))
            .empty());
  CHECK(lacking(
            entry("exec: {discover: [/bin/true], user: nobody}"),
            unit(devices + "CapabilityBoundingSet=CAP_SETUID CAP_SETGID\nSystemCallFilter=@setuid chroot\n"))
            .size() == 2);
}

TEST_CASE("needs do not depend on whether an entry applies here") {
  CHECK(lacking(entry("gpu: {vendor: nvidia}\n  when: {hostname: nowhere}")) == Lines{kCharacters});
}

TEST_CASE("directories that are written to are made, and opened") {
  CHECK(lacking(config_of("kubelet: {directory: /data/plugins}\nresources: []\n")) ==
        writing_to("/data/plugins", "0750"));
  CHECK(lacking(config_of("kubelet: {directory: /var/lib/kubelet/plugins}\nresources: []\n")).empty());
  CHECK(lacking(config_of("kubelet: {directory: /var/lib/kubelets}\nresources: []\n")).size() == 3);
  const std::string registry = "kubelet: {pluginsRegistry: /data/plugins_registry";
  CHECK(lacking(config_of(registry + "}\nresources: []\n")).empty());
  CHECK(lacking(config_of(registry + ", registration: pluginsRegistry}\nresources: []\n")) ==
        writing_to("/data/plugins_registry", "0750"));
  CHECK(lacking(config_of("cdi: {directory: /etc/cdi}\nresources: []\n")) == writing_to("/etc/cdi"));
  CHECK(lacking(config_of("cdi: {directory: /var/run/cdi}\nresources: []\n")).empty());
  CHECK(lacking(config_of("cdi: {directory: /run/cdi}\nresources: []\n")).empty());
  CHECK(lacking(config_of("metrics: {textfile: /var/lib/node_exporter}\nresources: []\n")) ==
        writing_to("/var/lib/node_exporter"));
  CHECK(lacking(entry("count: 1\n  labels: {example.com/x: 'true'}")) ==
        writing_to("/etc/kubernetes/node-feature-discovery/features.d"));
  CHECK(lacking(config_of("labels: {directory: /elsewhere}\nresources: []\n")).empty());
}

TEST_CASE("a directory that a drop-in opens for writing is not created or opened again") {
  const Config config = config_of("cdi: {directory: /etc/cdi}\nresources: []\n");
  CHECK(lacking(config, unit("[Service]\nReadWritePaths=/etc/cdi\n")).empty());
  CHECK(lacking(config, unit("[Service]\nReadWritePaths=-/etc\n")).empty());
  CHECK(lacking(config, unit("[Service]\nReadWritePaths=\"-+/etc/cdi/\"\n")).empty());
  CHECK(lacking(config, unit("[Service]\nReadWritePaths=-/etc/c\n")).size() == 3);
  CHECK(lacking(config, unit("[Service]\nReadWritePaths=-\n")).size() == 3);
}

TEST_CASE("setup's line for a directory whose path needs quotes opens the directory") {
  for (const std::string path : {"/a;b", "/a''b", "/a\"b", "/a\\b"}) {
    CAPTURE(path);
    const Config config = config_of("cdi: {directory: '" + path + "'}\nresources: []\n");
    const Lines lines = lacking(config);
    REQUIRE(lines.size() == 3);
    REQUIRE(lines[2].starts_with("Service: ReadWritePaths=\"-/a"));
    CHECK(lacking(config, unit("[Service]\n" + lines[2].substr(lines[2].find(' ') + 1) + '\n')).empty());
  }
}

TEST_CASE("a user's own unit needs lines only for the restrictions that it has") {
  const auto lacks = [](const Config& config, const std::string& text) {
    UnitSettings settings;
    settings.read("[Unit]\nBefore=kubelet.service\n[Service]\n" + text);
    return lacking(config, settings);
  };
  const Config writes = config_of("cdi: {directory: /data/cdi}\nlisten: 0.0.0.0:1\nresources: []\n");
  CHECK(lacks(writes, "").empty());
  CHECK(lacks(writes, "ProtectSystem=yes\n").empty());
  CHECK(lacks(writes, "ProtectSystem=strict\nProtectSystem=no\n").empty());
  CHECK(lacks(writes, "ProtectSystem=full\nReadWritePaths=/var/lib/kubelet\n") == writing_to("/data/cdi"));
  CHECK(lacks(writes, "ProtectSystem=strict\nReadWritePaths=/var/lib/kubelet\n") == writing_to("/data/cdi"));
  CHECK(lacks(writes, "IPAddressDeny=any\n") == Lines{"Service: IPAddressAllow=any"});

  const Config opens = entry("exec: {discover: [/bin/true], user: nobody}");
  CHECK(lacks(opens, "").empty());
  CHECK(lacks(opens, "DevicePolicy=auto\n").empty());
  CHECK(lacks(opens, "DevicePolicy=strict\n") == Lines{kCharacters, kBlocks});
  CHECK(lacks(opens, "DeviceAllow=/dev/null rw\n") == Lines{kCharacters, kBlocks});
  CHECK(lacks(opens, "CapabilityBoundingSet=\n").size() == 2);
  CHECK(lacks(opens, "SystemCallFilter=@system-service\n").size() == 2);
}

TEST_CASE("paths are written as systemd reads them") {
  CHECK(lacking(config_of("cdi: {directory: '/a b/100%/$x\"'}\nresources: []\n")) ==
        Lines{"Unit: RequiresMountsFor=\"/a b/100%%/$x\\\"\"",
              "Service: ExecStartPre=+/usr/bin/install -d -m 0755 \"/a b/100%%/$$x\\\"\"",
              "Service: ReadWritePaths=\"-/a b/100%%/$x\\\"\""});
  const auto written = [](const std::string& path) {
    return lacking(config_of("metrics: {textfile: '" + path + "'}\nresources: []\n")).at(0);
  };
  CHECK(written("/a b") == "Unit: RequiresMountsFor=\"/a b\"");
  CHECK(written("/a;b") == "Unit: RequiresMountsFor=\"/a;b\"");
  CHECK(written("/a''b") == "Unit: RequiresMountsFor=\"/a'b\"");
  CHECK(written("/a\\b") == "Unit: RequiresMountsFor=\"/a\\\\b\"");
  CHECK(written("/a%b") == "Unit: RequiresMountsFor=/a%%b");
}

TEST_CASE("the network is opened for a public address, unless the unit has its own rule") {
  const Config config = config_of("listen: 0.0.0.0:9464\nresources: []\n");
  CHECK(lacking(config) == Lines{"Service: IPAddressAllow=any"});
  CHECK(lacking(config, unit("[Service]\nIPAddressAllow=any\n")).empty());
  CHECK(lacking(config, unit("[Service]\nIPAddressAllow=192.0.2.10\n")).empty());
}

TEST_CASE("the network is opened for the API server, unless the unit has its own addresses") {
  const Config config = config_of("apiServer: {}\nresources: []\n");
  CHECK(lacking(config) == Lines{"Service: IPAddressAllow=any"});
  CHECK(lacking(config, unit("[Service]\nIPAddressAllow=192.0.2.10\n")).empty());
  const HostRoot source(test::in_source(""));
  CHECK(lacking(config, unit(source.text("/systemd/drop-ins/apiserver.conf").value())).empty());
}

TEST_CASE(
    "a control socket in an unusual directory needs write access there, and an ExecReload with its path") {
  CHECK(lacking(config_of("control: /run/plughost/control.sock\nresources: []\n")).empty());
  Lines lines = writing_to("/run/other");
  lines.insert(lines.end(), {"Service: ExecReload=",
                             "Service: ExecReload=/usr/bin/plughost reload --control /run/other/c.sock"});
  CHECK(lacking(config_of("control: /run/other/c.sock\nresources: []\n")) == lines);
}

TEST_CASE("with SELinux, new files are labelled, and so is a program without a package") {
  NodeTerms node{.kubernetes = {.units = {"kubelet.service"}}, .restorecon = "/sbin/restorecon"};
  const Config config = config_of("cdi: {directory: /etc/cdi}\nresources: []\n");
  Lines lines = writing_to("/etc/cdi");
  lines.push_back(
      "Service: ExecStartPre=-+/sbin/restorecon /etc/cdi /run/cdi /var/lib/kubelet/device-plugins");
  CHECK(lacking(config, unit(), node) == lines);
  node.program = "/opt/bin/plughost";
  lines.back() =
      "Service: ExecStartPre=-+/sbin/restorecon /etc/cdi /opt/bin/plughost /run/cdi "
      "/var/lib/kubelet/device-plugins";
  CHECK(lacking(config, unit(), node) == lines);
  CHECK(lacking(config, unit(lines.back().substr(9) + '\n'), node) == writing_to("/etc/cdi"));
}
