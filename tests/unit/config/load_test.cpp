#include <doctest/doctest.h>

#include <algorithm>

#include "config/config.hpp"
#include "unit/temp_dir.hpp"

namespace plughost {
namespace {

using test::TempDir;

std::vector<std::string> names(const Config& config) {
  std::vector<std::string> names;
  for (const ResourceConfig& resource : config.resources) names.push_back(resource.spec->name.text());
  return names;
}

// Returns the errors of the configuration main.yaml in `dir`, without the directory's name, or "nothing".
std::string wrong(const TempDir& dir, const Overrides& overrides = {}) {
  try {
    load_config(dir.at("main.yaml"), overrides);
  } catch (const ConfigError& error) {
    std::string text = error.what();
    const std::string prefix = dir.path().string() + '/';
    for (std::size_t at; (at = text.find(prefix)) != std::string::npos;) text.erase(at, prefix.size());
    return text;
  }
  return "nothing";
}

std::string entry(const std::string& name) {
  return "resources: [{name: " + name + ", directory: {path: /etc/a}}]\n";
}

using Names = std::vector<std::string>;

TEST_CASE("a small configuration has the defaults") {
  const TempDir dir;
  dir.file("main.yaml", entry("example.com/a"));
  const Config config = load_config(dir.at("main.yaml"));
  CHECK(config.kubelet == KubeletConfig{});
  CHECK(config.kubelet.directory == "/var/lib/kubelet/device-plugins");
  CHECK(config.log == LogConfig{});
  CHECK(config.warnings.empty());
  CHECK(config.files.paths == std::vector{dir.at("main.yaml")});
  REQUIRE(config.resources.size() == 1);
  const ResourceConfig& resource = config.resources[0];
  CHECK(resource.source);
  CHECK(resource.where == dir.at("main.yaml").string() + ":1:13");
  AllocationSpec plain;
  plain.name = Template("example.com/a");
  CHECK(*resource.spec == plain);
}

TEST_CASE("without allocationPolicy the policy depends on whether an entry has replicas, shares or units") {
  const auto policy = [](const std::string& entry) {
    const TempDir dir;
    dir.file("main.yaml", "resources: [{name: x.com/a, " + entry + "}]\n");
    return load_config(dir.at("main.yaml")).resources.at(0).spec->policy;
  };
  const std::string files = "directory: {path: /etc}";
  CHECK(policy(files) == AllocationPolicy::kNone);
  CHECK(policy(files + ", replicas: 1") == AllocationPolicy::kNone);
  CHECK(policy(files + ", replicas: 2") == AllocationPolicy::kSpread);
  CHECK(policy(files + ", replicas: {default: 1, a: 2}") == AllocationPolicy::kSpread);
  CHECK(policy(files + ", replicas: {default: 1, a: 1}") == AllocationPolicy::kNone);
  CHECK(policy(files + ", replicas: 2, shares: any") == AllocationPolicy::kSpread);
  CHECK(policy(files + ", replicas: 2, shares: differentDevices") == AllocationPolicy::kSpread);
  CHECK(policy(files + ", replicas: 2, shares: oneDevice") == AllocationPolicy::kOneCard);
  CHECK(policy(files + ", replicas: 2, allocationPolicy: none") == AllocationPolicy::kNone);
  CHECK(policy("gpu: {vendor: nvidia, unit: {memory: 1GiB}}") == AllocationPolicy::kOneCard);
  CHECK(policy("gpu: {vendor: nvidia, unit: {memory: 1GiB}, spanCards: true}") == AllocationPolicy::kOneCard);
}

TEST_CASE("each key's value is stored in its member") {
  const TempDir dir;
  dir.file("main.yaml", R"(
domain: example.com
kubelet: {directory: /run/k/, pluginsRegistry: /run/r, podResources: /run/p.sock, registration: pluginsRegistry}
log: {level: warn, format: json}
include: []
devices:
- name: a-{name}
  directory: {path: /etc/a}
  id: "{name}"
  replicas: 4
  shares: differentDevices
  allocationPolicy: distributed
  forgetAfter: 1m30s
  required: true
  health: {exec: [/bin/check, "{id}", "--path={path}"], interval: 1m, timeout: 2500ms}
  preStart: {exec: [/bin/format, "{name}"], timeout: 10s}
  whenUnhealthy: {exec: [/bin/tell, "{id}"], after: 1m, timeout: 10s}
  env: {A: "{id}", B: 1, C: true}
  annotations: {example.com/a: "{n}"}
  mounts:
  - {hostPath: "{path}", containerPath: "/a/{n}", readOnly: true}
  - {hostPath: /b}
  nodes: [{hostPath: /dev/null, permissions: r}]
)");
  const Config config = load_config(dir.at("main.yaml"));
  CHECK(config.kubelet.directory == "/run/k");
  CHECK(config.kubelet.plugins_registry == "/run/r");
  CHECK(config.kubelet.pod_resources == "/run/p.sock");
  CHECK(config.kubelet.registration == KubeletConfig::Registration::kPluginsRegistry);
  CHECK(config.kubelet.socket_directory() == "/run/r");
  CHECK(config.log == LogConfig{.level = LogLevel::kWarn, .format = LogFormat::kJson});
  REQUIRE(config.resources.size() == 1);
  const AllocationSpec& spec = *config.resources[0].spec;
  CHECK(spec.name.text() == "example.com/a-{name}");
  CHECK(spec.id.text() == "{name}");
  CHECK(spec.replicas == 4);
  CHECK(spec.shares == SharesOf::kDifferentDevices);
  CHECK(spec.policy == AllocationPolicy::kDistributed);
  CHECK(spec.forget_after == std::chrono::seconds(90));
  CHECK(spec.required);
  CHECK(spec.health ==
        HealthCheckSpec{.command = {Template("/bin/check"), Template("{id}"), Template("--path={path}")},
                        .interval = std::chrono::minutes(1),
                        .timeout = std::chrono::milliseconds(2500)});
  CHECK(spec.pre_start == ProgramSpec{.command = {Template("/bin/format"), Template("{name}")},
                                      .timeout = std::chrono::seconds(10)});
  CHECK(spec.when_unhealthy ==
        UnhealthyProgramSpec{.program = {.command = {Template("/bin/tell"), Template("{id}")},
                                         .timeout = std::chrono::seconds(10)},
                             .after = std::chrono::minutes(1)});
  CHECK(spec.env == AllocationSpec::Pairs{{Template("A"), Template("{id}")},
                                          {Template("B"), Template("1")},
                                          {Template("C"), Template("true")}});
  CHECK(spec.annotations == AllocationSpec::Pairs{{Template("example.com/a"), Template("{n}")}});
  REQUIRE(spec.mounts.size() == 2);
  CHECK(spec.mounts[0] == MountSpec{Template("{path}"), Template("/a/{n}"), true});
  CHECK(spec.mounts[1] == MountSpec{Template("/b"), Template("/b"), false});
  REQUIRE(spec.nodes.size() == 1);
  CHECK(spec.nodes[0] == NodeSpec{Template("/dev/null"), Template("/dev/null"), "r"});
}

TEST_CASE("labels are read in their order, and their default directory is Node Feature Discovery's") {
  const TempDir dir;
  dir.file("main.yaml",
           "resources: [{name: example.com/a, directory: {path: /a}, labels: {model: \"{name}\", "
           "x.com/count: \"{count}\", there: true, mark: \"\"}}, {name: example.com/b, count: 1}]");
  const Config config = load_config(dir.at("main.yaml"));
  CHECK(config.features_directory == "/etc/kubernetes/node-feature-discovery/features.d");
  CHECK(config.resources[0].labels == std::vector<LabelSpec>{{"model", Template("{name}")},
                                                             {"x.com/count", Template("{count}")},
                                                             {"there", Template("true")},
                                                             {"mark", Template("")}});
  CHECK(config.resources[1].labels.empty());
  dir.file("main.yaml", "labels: {directory: /nfd/}\nresources: []");
  CHECK(load_config(dir.at("main.yaml")).features_directory == "/nfd");
}

TEST_CASE("an entry has 100 labels at most") {
  const auto with = [](int count) {
    std::string labels;
    for (int i = 0; i < count; ++i) labels += "l" + std::to_string(i) + ": x, ";
    return "resources: [{name: example.com/a, count: 1, labels: {" + labels + "}}]";
  };
  const TempDir dir;
  dir.file("main.yaml", with(100));
  CHECK(load_config(dir.at("main.yaml")).resources[0].labels.size() == 100);
  dir.file("main.yaml", with(101));
  CHECK(wrong(dir) ==
        "main.yaml:1:53: resources[0].labels: these are 101 labels; at most 100 fit into a feature file");
}

TEST_CASE("metrics have no device series unless configured") {
  const TempDir dir;
  dir.file("main.yaml", "resources: []");
  CHECK_FALSE(load_config(dir.at("main.yaml")).telemetry.metrics.devices);
  CHECK(load_config(dir.at("main.yaml")).telemetry.metrics.textfile.empty());
  dir.file("main.yaml", "metrics: {devices: true, textfile: /var/lib/node_exporter/}\nresources: []");
  CHECK(load_config(dir.at("main.yaml")).telemetry.metrics.devices);
  CHECK(load_config(dir.at("main.yaml")).telemetry.metrics.textfile == "/var/lib/node_exporter");
  dir.file("main.yaml", "metrics: {textfile: here, pods: true}\nresources: []");
  CHECK(wrong(dir) ==
        "main.yaml:1:21: metrics.textfile: must be an absolute path, not 'here'\n"
        "main.yaml:1:27: metrics: unknown key 'pods'; valid: devices, textfile");
}

TEST_CASE("the API server is used only if configured, with its own defaults") {
  const TempDir dir;
  dir.file("main.yaml", "resources: []\n");
  CHECK_FALSE(load_config(dir.at("main.yaml")).api_server);
  for (const char* const text : {"apiServer: {}\n", "apiServer:\n", "apiServer: {kubeconfig: auto}\n"}) {
    dir.file("main.yaml", std::string("resources: []\n") + text);
    const Config config = load_config(dir.at("main.yaml"));
    REQUIRE(config.api_server);
    CHECK(*config.api_server == ApiServerConfig{.kubeconfig = "auto", .node = "", .where = {}});
    CHECK(config.api_server->where.text().find("main.yaml:2:") != std::string::npos);
  }
}

TEST_CASE("the credentials and the node's name can be configured") {
  const TempDir dir;
  const std::string longest(253, 'n');
  dir.file("main.yaml", "resources: []\napiServer: {kubeconfig: /etc/k.conf, node: " + longest + "}\n");
  const Config config = load_config(dir.at("main.yaml"));
  REQUIRE(config.api_server);
  CHECK(config.api_server->kubeconfig == "/etc/k.conf");
  CHECK(config.api_server->node == longest);
  dir.file("main.yaml", "resources: []\napiServer: {node: " + longest + "n}\n");
  CHECK(wrong(dir).find("is not a name of a node") != std::string::npos);
  dir.file("main.yaml", "resources: []\napiServer: {node: \"\"}\n");
  CHECK(wrong(dir).find("is not a name of a node") != std::string::npos);
}

TEST_CASE("whenUnhealthy runs after half a minute by default, for at most that long") {
  const TempDir dir;
  dir.file("main.yaml", "resources: [{name: example.com/a, count: 1, whenUnhealthy: {exec: [/bin/tell]}}]");
  const auto told = load_config(dir.at("main.yaml")).resources[0].spec->when_unhealthy;
  REQUIRE(told);
  CHECK(told->after == std::chrono::seconds(30));
  CHECK(told->program.timeout == std::chrono::seconds(30));
}

TEST_CASE("an entry without `id` uses the default id of its kind") {
  const TempDir dir;
  dir.file("main.yaml",
           "resources: [{name: example.com/a, count: 2}, {name: example.com/b, count: 2, id: \"b{n}\"}]");
  const Config config = load_config(dir.at("main.yaml"));
  CHECK(config.resources[0].spec->id.text() == "{resource}-{n}");
  CHECK(config.resources[1].spec->id.text() == "b{n}");
}

TEST_CASE("--plugin-directory overrides the configuration, and is checked instead") {
  const TempDir dir;
  dir.file("main.yaml", "kubelet: {directory: /x/" + std::string(60, 'y') + "}\n" + entry("example.com/a"));
  CHECK(load_config(dir.at("main.yaml"), {.plugin_directory = "/run/p/"}).kubelet.directory == "/run/p");
  CHECK(load_config(dir.at("main.yaml"), {.plugin_directory = "p"}).kubelet.directory ==
        std::filesystem::current_path() / "p");
  const std::filesystem::path longest = "/" + std::string(45, 'p');
  CHECK(load_config(dir.at("main.yaml"), {.plugin_directory = longest}).kubelet.directory == longest);
  CHECK(wrong(dir, {.plugin_directory = longest.string() + 'p'})
            .starts_with("--plugin-directory: the directory's path has 47 bytes"));
}

TEST_CASE("generic-device-plugin's YAML is accepted unchanged") {
  const TempDir dir;
  dir.file("main.yaml", R"(
domain: squat.ai
devices:
- name: serial
  groups:
  - paths:
    - path: /dev/ttyUSB*
  - paths:
    - path: /dev/ttyACM*
  - usb:
    - vendor: 1209
      product: F000
- name: video
  groups:
  - paths:
    - path: /dev/video0
- name: fuse
  groups:
  - count: 10
    paths:
    - path: /dev/fuse
- name: audio
  groups:
  - count: 10
    paths:
    - path: /dev/snd
- name: capture
  groups:
  - paths:
    - path: /dev/snd/controlC0
    - path: /dev/snd/pcmC0D0c
- name: dongle
  groups:
  - usb:
    - {vendor: "0451", product: "16a8", serial: 00124B0014BE}
    paths:
    - {path: /dev/net/tun, mountPath: /dev/net/, permissions: mrw, optional: true, limit: 4, type: Device}
    - {path: /etc/dongle, type: Mount, readOnly: true}
)");
  const Config config = load_config(dir.at("main.yaml"));
  CHECK(config.warnings.empty());
  CHECK(names(config) == Names{"squat.ai/serial", "squat.ai/video", "squat.ai/fuse", "squat.ai/audio",
                               "squat.ai/capture", "squat.ai/dongle"});
}

TEST_CASE("drop-ins are read once, in the order of their names") {
  const TempDir dir;
  dir.file("main.yaml", entry("example.com/main"));
  dir.file("plugins.d/b.yaml", entry("example.com/b"));
  dir.file("plugins.d/a.yaml", entry("example.com/a"));
  dir.file("plugins.d/.hidden.yaml", "not read");
  dir.file("plugins.d/note.txt", "not read");
  const Config config = load_config(dir.at("main.yaml"));
  CHECK(names(config) == Names{"example.com/main", "example.com/a", "example.com/b"});
  CHECK(config.files.paths ==
        std::vector{dir.at("main.yaml"), dir.at("plugins.d/a.yaml"), dir.at("plugins.d/b.yaml")});

  dir.file("main.yaml", "include: [plugins.d/b.yaml, plugins.d/*.yaml, link.yaml, main.yaml]\n");
  dir.link("link.yaml", "plugins.d/a.yaml");
  CHECK(names(load_config(dir.at("main.yaml"))) == Names{"example.com/b", "example.com/a"});
}

TEST_CASE("node.yaml is read beside the main file, which overrides it") {
  const TempDir dir;
  dir.file("main.yaml", "kubelet: {podResources: /mine}\ninclude: ['*.yaml']\n" + entry("example.com/a"));
  dir.file("node.yaml",
           "kubelet: {directory: /k, pluginsRegistry: /r, podResources: /p, registration: pluginsRegistry}\n"
           "cdi: {directory: /c}\n");
  const Config config = load_config(dir.at("main.yaml"));
  CHECK(config.kubelet == KubeletConfig{.directory = "/k",
                                        .plugins_registry = "/r",
                                        .pod_resources = "/mine",
                                        .registration = KubeletConfig::Registration::kPluginsRegistry});
  CHECK(config.cdi_directory == "/c");
  CHECK(config.files.paths == std::vector{dir.at("main.yaml"), dir.at("node.yaml")});

  dir.file("main.yaml",
           "cdi: {directory: /mine}\nkubelet: {registration: register}\n" + entry("example.com/a"));
  const Config mine = load_config(dir.at("main.yaml"));
  CHECK(mine.cdi_directory == "/mine");
  CHECK(mine.kubelet.registration == KubeletConfig::Registration::kRegister);
  CHECK(mine.kubelet.directory == "/k");
  CHECK(mine.files.hash != config.files.hash);
}

TEST_CASE("a caller can supply the text of node.yaml, and an empty text replaces the file") {
  const TempDir dir;
  dir.file("main.yaml", entry("example.com/a"));
  const auto load = [&](const char* text) {
    return load_config(dir.at("main.yaml"), {.supposed = {}, .node_file = text}).kubelet.directory.string();
  };
  CHECK(load("kubelet: {directory: /k}\n") == "/k");
  CHECK(load("") == kKubeletDirectory);
  CHECK(load("# nothing\n") == kKubeletDirectory);
  dir.file("node.yaml", "kubelet: {directory: /there}\n");
  CHECK(load("kubelet: {directory: /k}\n") == "/k");
  CHECK(load("") == kKubeletDirectory);
  dir.file("node.yaml", "");
  CHECK(load_config(dir.at("main.yaml")).kubelet == KubeletConfig{});
}

TEST_CASE("an error in node.yaml is reported with its place in node.yaml") {
  const TempDir dir;
  dir.file("main.yaml", entry("example.com/a"));
  const auto error_of = [&](const std::string& text) {
    dir.file("node.yaml", text);
    return wrong(dir);
  };
  CHECK(error_of("kubelet: {}\nlisten: 127.0.0.1:1\n") ==
        "node.yaml:2:1: unknown key 'listen'; valid: kubelet, cdi");
  CHECK(error_of("- kubelet\n") ==
        "node.yaml:1:1: the file should have a map with `kubelet:` or `cdi:` in it");
  CHECK(error_of("kubelet:\n  podResources: /" + std::string(107, 'a')) ==
        "node.yaml:2:17: kubelet.podResources: the socket's path has 108 bytes; at most 107 fit (a shorter "
        "symbolic link to it helps)");
  dir.file("main.yaml", "kubelet: {podResources: /p}\n" + entry("example.com/a"));
  CHECK(wrong(dir) == "nothing");
}

TEST_CASE("with `watch` node.yaml is watched, whether it exists or not") {
  const TempDir dir;
  dir.file("main.yaml", "watch: true\n" + entry("example.com/a"));
  const auto is_followed = [&] {
    const Config config = load_config(dir.at("main.yaml"));
    return std::ranges::any_of(config.files.sources, [&](const WatchedDirectory& each) {
      return each.path == dir.path() && each.name == "node.yaml";
    });
  };
  CHECK(is_followed());
  dir.file("node.yaml", "kubelet: {}\n");
  CHECK(is_followed());
}

TEST_CASE("a caller can have a drop-in read from a different path, or treated as missing") {
  const TempDir dir;
  dir.file("main.yaml", entry("example.com/main"));
  dir.file("plugins.d/a.yaml", entry("example.com/a"));
  dir.file("plugins.d/c.yaml", entry("example.com/c"));
  dir.file("presets/p.yaml", entry("example.com/p"));
  const auto load = [&](const std::string& path, const std::optional<std::string>& file) {
    Overrides overrides;
    overrides.supposed[dir.at(path)] = file ? std::optional(dir.at(*file)) : std::nullopt;
    return load_config(dir.at("main.yaml"), overrides);
  };
  const Config more = load("plugins.d/b.yaml", "presets/p.yaml");
  CHECK(names(more) == Names{"example.com/main", "example.com/a", "example.com/p", "example.com/c"});
  CHECK(more.files.paths[2] == dir.at("presets/p.yaml"));
  CHECK(names(load("plugins.d/a.yaml", std::nullopt)) == Names{"example.com/main", "example.com/c"});
  CHECK(names(load("plugins.d/a.yaml", "presets/p.yaml")) ==
        Names{"example.com/main", "example.com/p", "example.com/c"});
  for (const char* path : {"plugins.d/b.yml", "plugins.d/.b.yaml", "plugins.d/below/b.yaml", "b.yaml"}) {
    CAPTURE(path);
    CHECK(load(path, "presets/p.yaml").resources.size() == 3);
  }
  dir.file("main.yaml", "include: [plugins.d/c.yaml]\n");
  CHECK(names(load("plugins.d/c.yaml", "presets/p.yaml")) == Names{"example.com/p"});
  CHECK_THROWS_AS(load("plugins.d/c.yaml", std::nullopt), ConfigError);
}

TEST_CASE("drop-ins are found beside a configuration whose directory has wildcards in its name") {
  const TempDir dir;
  dir.file("node[1]/main.yaml", "resources: []\n");
  dir.file("p.yaml", entry("example.com/p"));
  Overrides overrides;
  overrides.supposed[dir.at("node[1]/plugins.d/b.yaml")] = dir.at("p.yaml");
  CHECK(names(load_config(dir.at("node[1]/main.yaml"), overrides)) == Names{"example.com/p"});
}

TEST_CASE("the main file may consist of drop-ins only") {
  const TempDir dir;
  dir.file("main.yaml", "log: {level: debug}\n");
  dir.file("plugins.d/a.yaml", entry("example.com/a"));
  CHECK(names(load_config(dir.at("main.yaml"))) == Names{"example.com/a"});
}

TEST_CASE("an empty list of entries is valid") {
  const TempDir dir;
  dir.file("main.yaml", "resources: []\n");
  CHECK(load_config(dir.at("main.yaml")).resources.empty());
  dir.file("main.yaml", "resources:\n");
  CHECK_THROWS_AS(load_config(dir.at("main.yaml")), ConfigError);
}

TEST_CASE("an empty include reads no drop-ins") {
  const TempDir dir;
  dir.file("main.yaml", "include: []\n" + entry("example.com/a"));
  dir.file("plugins.d/a.yaml", "not read");
  CHECK(load_config(dir.at("main.yaml")).files.paths.size() == 1);
}

TEST_CASE("a drop-in's domain is its own, or the main file's") {
  const TempDir dir;
  dir.file("main.yaml", "domain: main.example\n");
  dir.file("plugins.d/a.yaml", entry("a"));
  dir.file("plugins.d/b.yaml", "domain: b.example\n" + entry("b"));
  CHECK(names(load_config(dir.at("main.yaml"))) == Names{"main.example/a", "b.example/b"});
}

TEST_CASE("wildcards in the name of the configuration's directory are taken literally") {
  const TempDir dir;
  dir.file("[x]*/main.yaml", "include: [\"*.d/?.yaml\"]\n");
  dir.file("[x]*/more.d/a.yaml", entry("example.com/a"));
  dir.file("x/more.d/b.yaml", entry("example.com/b"));
  CHECK(names(load_config(dir.at("[x]*/main.yaml"))) == Names{"example.com/a"});
}

TEST_CASE("an absolute include is used unchanged") {
  const TempDir dir;
  const TempDir other;
  other.file("a.yaml", entry("example.com/a"));
  other.file("b.yaml", entry("example.com/b"));
  dir.file("main.yaml",
           "include: [" + other.at("b.yaml").string() + ", " + other.at("*.yaml").string() + "]\n");
  CHECK(names(load_config(dir.at("main.yaml"))) == Names{"example.com/b", "example.com/a"});
}

TEST_CASE("a named include must exist, and a pattern need not match") {
  const TempDir dir;
  dir.file("main.yaml", "include:\n- none/*.yaml\n- none.yaml\n" + entry("example.com/a"));
  CHECK(wrong(dir) == "main.yaml:2:1: include: 'none.yaml' cannot be opened: No such file or directory");
}

TEST_CASE("an included path that is a directory or that cannot be listed is an error") {
  const TempDir dir;
  dir.directory("plugins.d/dir.yaml");
  dir.file("main.yaml", entry("example.com/a"));
  CHECK(wrong(dir) == "main.yaml: include: 'plugins.d/dir.yaml' is a directory, not a file");
  dir.remove("plugins.d");
  dir.link("plugins.d", "plugins.d");
  CHECK(wrong(dir) ==
        "main.yaml:1:1: include: the files of 'plugins.d/*.yaml' cannot be listed: Too many levels of "
        "symbolic links");
}

TEST_CASE("an included file may configure the API server unless the main file does") {
  const TempDir dir;
  dir.file("main.yaml", entry("example.com/a"));
  dir.file("plugins.d/b.yaml", "apiServer: {node: b}\n" + entry("example.com/b"));
  dir.file("plugins.d/c.yaml", "apiServer: {node: b}\n" + entry("example.com/c"));
  CHECK(load_config(dir.at("main.yaml")).api_server->node == "b");
  dir.file("main.yaml", "apiServer: {node: a}\n" + entry("example.com/a"));
  CHECK(load_config(dir.at("main.yaml")).api_server->node == "a");
}

TEST_CASE("an included file has only a domain, apiServer and resources") {
  const TempDir dir;
  dir.file("main.yaml", entry("example.com/a"));
  dir.file("plugins.d/b.yaml", "log: {level: debug}\ninclude: [x]\nfoo: 1\n" + entry("example.com/b"));
  CHECK(wrong(dir) ==
        "plugins.d/b.yaml:1:6: log: this belongs into the main file; an included one has only domain, "
        "apiServer and resources\n"
        "plugins.d/b.yaml:2:10: include: this belongs into the main file; an included one has only domain, "
        "apiServer and resources\n"
        "plugins.d/b.yaml:3:1: unknown key 'foo'; valid: domain, apiServer, resources, devices, log, "
        "include");
}

TEST_CASE("errors of all files are reported together, in the order of files and lines") {
  const TempDir dir;
  dir.file(
      "main.yaml",
      "include: [b.yaml, a.yaml]\nlog: {level: x}\nresources: [{name: example.com/a, count: 0}]\nx: 1\n");
  dir.file("a.yaml", "y: 1\n");
  dir.file("b.yaml", "");
  CHECK(wrong(dir) ==
        "main.yaml:2:14: log.level: 'x' is not one of debug, info, warn, error\n"
        "main.yaml:3:42: resources[0].count: '0' is out of range; it can be 1 to 1000000\n"
        "main.yaml:4:1: unknown key 'x'; valid: domain, kubelet, log, cdi, labels, listen, control, "
        "metrics, watch, apiServer, events, nodeLabels, resources, devices, include\n"
        "b.yaml: the file is empty; it should have a map with `resources:` in it\n"
        "a.yaml:1:1: unknown key 'y'; valid: domain, apiServer, resources, devices");
}

TEST_CASE("`listen` with an address other than loopback causes a warning, in each notation") {
  const TempDir dir;
  const auto warnings = [&](const std::string& address) {
    dir.file("main.yaml", "listen: '" + address + "'\nresources: []\n");
    return load_config(dir.at("main.yaml")).warnings.size();
  };
  for (const char* text : {"127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "[0:0:0:0:0:0:0:1]:1"})
    CHECK_MESSAGE(warnings(text) == 0, text);
  for (const char* text : {"0.0.0.0:1", "[::]:1", "192.0.2.7:1"}) CHECK_MESSAGE(warnings(text) == 1, text);
}

TEST_CASE(
    "with `watch` the directories of all files are listed to be watched, also those of missing includes") {
  const TempDir dir;
  dir.file("real/main.yaml", "watch: true\nresources: []\ninclude: [more.d/*.yaml, other.yaml]\n");
  dir.file("real/other.yaml", "resources: []");
  dir.link("main.yaml", "real/main.yaml");
  dir.link("other.yaml", "real/other.yaml");
  const Config config = load_config(dir.at("main.yaml"));
  CHECK(config.watch);
  const auto follows = [&](const std::filesystem::path& directory, const std::string& name) {
    const WatchedDirectory wanted{directory, name, WatchFor::kContents};
    return std::ranges::find(config.files.sources, wanted) != config.files.sources.end();
  };
  CHECK(follows(dir.path(), "main.yaml"));
  CHECK(follows(dir.at("real"), "main.yaml"));
  CHECK(follows(dir.at("more.d"), "*.yaml"));
  CHECK(follows(dir.at("real"), "other.yaml"));
}

TEST_CASE("`watch` is true, false, or a map with the length of the trial") {
  const TempDir dir;
  const auto load = [&](const std::string& watch) {
    dir.file("main.yaml", "resources: []\nwatch: " + watch);
    return load_config(dir.at("main.yaml"));
  };
  CHECK_FALSE(load("false").watch);
  CHECK(load("true").watch);
  CHECK_FALSE(load("true").confirm);
  CHECK(load("{}").watch);
  CHECK_FALSE(load("{}").confirm);
  CHECK(load("{confirm: 5m}").watch);
  CHECK(load("{confirm: 5m}").confirm == std::chrono::minutes(5));
  CHECK(load("{confirm: 1s}").confirm == kShortestTrial);
  CHECK(load("{confirm: 1d}").confirm == kLongestTrial);
  CHECK_THROWS_WITH(
      load("{confirm: 999ms}"),
      (dir.at("main.yaml").string() + ":2:18: watch.confirm: the range is from 1s to 1d").c_str());
  CHECK_THROWS_AS(load("{confirm: 86401s}"), ConfigError);
  CHECK_THROWS_AS(load("{confirm: yes}"), ConfigError);
  CHECK_THROWS_AS(load("{keep: 5m}"), ConfigError);
  CHECK_THROWS_AS(load("[true]"), ConfigError);
}

TEST_CASE("without `watch` no file is to be watched, unless the configuration cannot be parsed") {
  const TempDir dir;
  dir.file("main.yaml", "resources: []");
  CHECK(load_config(dir.at("main.yaml")).files.sources.empty());
  dir.file("main.yaml", "resources: [");
  try {
    load_config(dir.at("main.yaml"));
    FAIL("it was loaded");
  } catch (const ConfigError& error) {
    CHECK(error.files.paths == std::vector{dir.at("main.yaml")});
    CHECK(error.files.sources ==
          std::vector<WatchedDirectory>{{dir.path(), "main.yaml", WatchFor::kContents}});
  }
}

TEST_CASE("two loads of the same text are equal, and of different texts are not") {
  const TempDir dir;
  dir.file("main.yaml", "resources: []");
  const Config first = load_config(dir.at("main.yaml"));
  CHECK(first.files.same_as(load_config(dir.at("main.yaml")).files));
  dir.file("plugins.d/a.yaml", "resources: []");
  CHECK_FALSE(first.files.same_as(load_config(dir.at("main.yaml")).files));
  dir.file("main.yaml", "resources: [] ");
  dir.remove("plugins.d/a.yaml");
  CHECK_FALSE(first.files.same_as(load_config(dir.at("main.yaml")).files));
}

TEST_CASE("an id must be unique over all files") {
  const TempDir dir;
  dir.file("main.yaml",
           "resources: [{name: example.com/a, count: 1}, {name: example.com/b, count: 1, id: x}]\n");
  dir.file("plugins.d/c.yaml",
           "resources: [{name: example.com/a, count: 1}, {name: example.com/c, count: 1, id: x}]\n");
  CHECK(
      wrong(dir) ==
      "plugins.d/c.yaml:1:42: resources[0].count: the id 'example.com/a-0' of example.com/a is also an id of "
      "example.com/a, from resources[0] (main.yaml:1:13), and the kubelet needs ids that are unique on the "
      "node; put something that differs between the entries into `id`\n"
      "plugins.d/c.yaml:1:82: resources[1].id: the id 'x' of example.com/c is also an id of example.com/b, "
      "from "
      "resources[1] (main.yaml:1:46), and the kubelet needs ids that are unique on the node; put "
      "{resource} into "
      "`id`");
}

TEST_CASE("a main file that cannot be read causes one error") {
  const TempDir dir;
  CHECK(wrong(dir) == "main.yaml: the file cannot be opened: No such file or directory");
  dir.directory("main.yaml");
  CHECK(wrong(dir) == "main.yaml: the file is a directory, not a file");
  dir.remove("main.yaml");
  dir.file("main.yaml", "\x01");
  CHECK(wrong(dir) == "main.yaml: the file is not a text file (byte 0x01 at 1:1)");
}

TEST_CASE("after 1,000 errors only the number of further errors is reported") {
  const TempDir dir;
  std::string text;
  for (int i = 0; i < 1500; ++i) text += 'x' + std::to_string(i) + ": 1\n";
  dir.file("main.yaml", text);
  CHECK(wrong(dir).ends_with("\nmain.yaml: 500 more errors"));
}

TEST_CASE("ConfigError has each diagnostic separately") {
  const TempDir dir;
  dir.file("main.yaml", "x: 1\ny: 2\n");
  try {
    load_config(dir.at("main.yaml"));
    FAIL("it was loaded");
  } catch (const ConfigError& error) {
    REQUIRE(error.diagnostics.size() == 2);
    CHECK(error.diagnostics[1].mark.line == 2);
    CHECK(error.diagnostics[0].severity == Diagnostic::Severity::kError);
  }
}

TEST_CASE("a text without a file is checked as a file is, but without node.yaml and drop-ins") {
  CHECK(errors_of("resources:\n- {name: example.com/a, count: 2}\n", "a text").empty());
  CHECK(errors_of("resources: []\n", "a text").empty());
  const TempDir dir;
  dir.file("plugins.d/a.yaml", "nonsense: 1\n");
  CHECK(errors_of("resources: []\n", dir.at("text").string()).empty());
  const auto one = [](const std::string& text) {
    const std::vector<Diagnostic> found = errors_of(text, "a text");
    return found.size() == 1 ? found[0].text() : std::to_string(found.size()) + " errors";
  };
  CHECK(one("resources:\n- {name: example.com/a, count: 0}\n")
            .starts_with("a text:2:32: resources[0].count: "));
  CHECK(one("- a\n").starts_with("a text:"));
  CHECK(one("resources:\n- {name: example.com/a, count: 2}\n- {name: example.com/a, count: 2}\n")
            .find("is also an id of example.com/a, from resources[0] (a text:2:3)") != std::string::npos);
}

}  // namespace
}  // namespace plughost
