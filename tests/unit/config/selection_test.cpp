#include "config/selection.hpp"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <algorithm>

#include "base/system/unix_socket.hpp"
#include "unit/config/config_of.hpp"
#include "unit/temp_dir.hpp"

namespace plughost {
namespace {

using test::config_of;
using Applies = std::vector<bool>;

// A configuration with the entries of `text`, and a simulated machine with the hostname gpu-7.
struct Made {
  test::TempDir tree;
  Config config;
  HostRoot host{tree.path()};

  explicit Made(const std::string& text) : config(config_of("domain: x.com\n" + text)) {
    tree.file("/proc/sys/kernel/hostname", "gpu-7");
  }
  Selection look(const Selection& former = {}) const { return select(config, host, former); }
  bool follows(const Selection& selection, const WatchedDirectory& directory) const {
    return std::ranges::find(selection.watch, directory) != selection.watch.end();
  }
};

std::vector<std::string> names_of(const Config& config) {
  std::vector<std::string> names;
  for (const ResourceConfig& entry : config.resources) names.push_back(entry.spec->name.text());
  return names;
}

TEST_CASE("an entry without a condition applies without any evaluation") {
  const Made made("resources: [{name: a, count: 1}]");
  const Selection selection = made.look();
  CHECK(selection.applies == Applies{true});
  CHECK(selection.others.empty());
  CHECK(selection.watch.empty());
  CHECK_FALSE(selection.recheck);
  CHECK_FALSE(has_conditions(made.config));
}

TEST_CASE("an entry that does not apply is reported with the reason and with its line in the file") {
  const Made made(
      "resources:\n- {name: a, count: 1, when: {hostname: web-*}}\n- {name: b, count: 1, when: {hostname: "
      "gpu-*}}");
  CHECK(has_conditions(made.config));
  const Selection selection = made.look();
  CHECK(selection.applies == Applies{false, true});
  REQUIRE(selection.others.size() == 1);
  CHECK(selection.others[0].name == "x.com/a");
  CHECK(selection.others[0].where == made.config.resources[0].where);
  CHECK(selection.others[0].why == "hostname is 'gpu-7', not web-*");
  CHECK(selection.others[0].text() ==
        "not here: x.com/a (" + selection.others[0].where + "): hostname is 'gpu-7', not web-*");
  CHECK(names_of(applying(made.config, selection)) == std::vector<std::string>{"x.com/b"});
}

TEST_CASE("paths in conditions are watched, also below a missing directory") {
  Made made("resources: [{name: a, count: 1, when: {exists: [/dev/one, /dev/video*]}}]");
  CHECK(made.look().applies == Applies{false});
  CHECK(made.follows(made.look(), {"/dev", "one"}));
  CHECK(made.follows(made.look(), {"/dev", "video*"}));
  CHECK_FALSE(made.look().recheck);
  made.tree.file("/dev/one");
  CHECK(made.look().applies == Applies{false});
  made.tree.file("/dev/video3");
  CHECK(made.look().applies == Applies{true});
}

TEST_CASE("facts without events are read again periodically") {
  CHECK(Made("resources: [{name: a, count: 1, when: {exists: /sys/module/kvm}}]").look().recheck);
  CHECK(Made("resources: [{name: a, count: 1, when: {exists: /proc/driver/nvidia}}]").look().recheck);
  CHECK_FALSE(Made("resources: [{name: a, count: 1, when: {exists: /system/a}}]").look().recheck);
  // The order of the paths does not matter.
  for (const char* paths : {"[/sys/a, /dev/b]", "[/dev/b, /sys/a]"})
    CHECK(
        Made(std::string("resources: [{name: a, count: 1, when: {exists: ") + paths + "}}]").look().recheck);
  CHECK(Made("resources: [{name: a, count: 1, when: {exists: /sys/a}}, {name: b, count: 1, when: {exists: "
             "/dev/b}}]")
            .look()
            .recheck);
}

TEST_CASE("labels are read from their file, whose directory is watched") {
  Made made("nodeLabels: /etc/podinfo/labels\nresources: [{name: a, count: 1, when: {label: {rack: a*}}}]");
  made.tree.file("/etc/podinfo/labels", "rack=\"a1\"\n");
  CHECK(made.look().applies == Applies{true});
  CHECK(made.look().errors.empty());
  CHECK(made.follows(made.look(), {"/etc/podinfo", "*", WatchFor::kContents}));
  made.tree.file("/etc/podinfo/labels", "rack=\"b1\"\n");
  CHECK(made.look().applies == Applies{false});
}

TEST_CASE("an entry whose condition is unknown keeps its former state, and at first does not apply") {
  Made made(
      "nodeLabels: /etc/labels\nresources: [{name: a, count: 1, when: {label: {rack: a*}}}, {name: b, count: "
      "1}]");
  const Selection first = made.look();
  CHECK(first.applies == Applies{false, true});
  CHECK(first.errors ==
        std::vector<std::string>{"the node's labels are not known: /etc/labels: it cannot be read"});
  CHECK(first.others[0].why == first.errors[0]);
  made.tree.file("/etc/labels", "rack=a");
  const Selection known = made.look(first);
  CHECK(known.applies == Applies{true, true});
  made.tree.file("/etc/labels", "ra");
  CHECK(made.look(known).applies == Applies{true, true});
  CHECK(made.look(known).errors.size() == 1);
  CHECK(made.look(known).others.empty());
}

TEST_CASE("without labels the node's name is read from the environment variable NODE_NAME") {
  const Made made("resources: [{name: a, count: 1, when: {node: n1}}]");
  ::unsetenv("NODE_NAME");
  CHECK(made.look().applies == Applies{false});
  CHECK(made.look().errors.size() == 1);
  ::setenv("NODE_NAME", "n1", 1);
  CHECK(made.look().applies == Applies{true});
  ::unsetenv("NODE_NAME");
}

TEST_CASE("entries of one name that apply are one resource") {
  const Made made(
      "resources:\n- {name: a, count: 1, when: {hostname: web-*}}\n- {name: a, count: 2, when: {hostname: "
      "gpu-*}}\n- {name: a, count: 3, when: {hostname: '*-7'}}");
  const Selection selection = made.look();
  CHECK(selection.applies == Applies{false, true, true});
  REQUIRE(selection.others.size() == 1);
}

TEST_CASE("of two entries that apply and differ in settings of the whole resource, the first wins") {
  const Made made(
      "resources:\n- {name: a, count: 2, when: {hostname: gpu-*}}\n- {name: a, count: 3, forgetAfter: 1s, "
      "when: {hostname: '*-7'}}");
  const Selection selection = made.look();
  CHECK(selection.applies == Applies{true, false});
  REQUIRE(selection.others.size() == 1);
  CHECK(selection.others[0].why ==
        made.config.resources[0].where +
            " has the same name and applies, too, and differs in `forgetAfter`, which is of the "
            "whole resource");
}

TEST_CASE("the conditions of an include and of the entry must both hold") {
  const test::TempDir dir;
  dir.file("more.yaml", "resources: [{name: a, count: 1}, {name: b, count: 1, when: {arch: none}}]");
  dir.file("main.yaml",
           "domain: x.com\ninclude: [{file: '*ore.yaml', when: {hostname: gpu-*}}]\nresources: [{name: c, "
           "count: 1}]");
  const Config config = load_config(dir.at("main.yaml"));
  const test::TempDir tree;
  tree.file("/proc/sys/kernel/hostname", "gpu-7");
  const HostRoot host(tree.path());
  CHECK(names_of(applying(config, select(config, host))) == std::vector<std::string>{"x.com/c", "x.com/a"});
  tree.file("/proc/sys/kernel/hostname", "web-7");
  CHECK(names_of(applying(config, select(config, host))) == std::vector<std::string>{"x.com/c"});
}

TEST_CASE(
    "after a reload, an entry whose condition is not evaluated yet applies if the same entry was in force") {
  const Config before = config_of("domain: x.com\nresources: [{name: a, count: 1}, {name: b, count: 1}]");
  const Config config = config_of(
      "domain: x.com\nresources:\n- {name: a, count: 1, when: {arch: none}}\n- {name: b, count: 2, when: "
      "{arch: "
      "none}}\n- {name: c, count: 1, when: {arch: none}}\n- {name: d, count: 1}\n- {name: a, count: 1, when: "
      "{arch: "
      "no}}");
  const Selection selection = not_asked_yet(config, before.resources);
  CHECK(selection.applies == Applies{true, false, false, true, false});
  REQUIRE(selection.others.size() == 3);
  CHECK(selection.others[0].why == "not evaluated yet");
  CHECK(selection.others[0].unknown);
}

TEST_CASE(
    "after a reload, each of several entries with one name is compared with the entries that were in force") {
  const std::string parts =
      "domain: x.com\nresources:\n- {name: a, count: 1, when: {arch: none}}\n- {name: a, directory: {path: "
      "/a}, when: {arch: none}}\n";
  const Config config = config_of(parts + "- {name: a, directory: {path: /b}, when: {arch: none}}\n");
  CHECK(not_asked_yet(config, config_of(parts).resources).applies == Applies{true, true, false});
}

TEST_CASE("entries are grouped by name, in the order in which each name appears first") {
  const Config config = config_of(
      "domain: x.com\nresources: [{name: b, count: 1}, {name: a, count: 1}, {name: b, directory: {path: "
      "/b}}]");
  const auto all = by_name(config.resources);
  REQUIRE(all.size() == 2);
  CHECK(name_of(all[0]) == "x.com/b");
  CHECK(all[0] == EntriesOfName{config.resources.data(), config.resources.data() + 2});
  CHECK(all[1] == EntriesOfName{config.resources.data() + 1});
}

TEST_CASE("entries that differ only in `when` have the same content") {
  const Config before = config_of("domain: x.com\nresources: [{name: a, count: 1, when: {arch: none}}]");
  const Config after = config_of("domain: x.com\nresources: [{name: a, count: 1, when: {arch: other}}]");
  CHECK(before.resources.front().content == after.resources.front().content);
}

TEST_CASE("without a file of labels, the API server's are used") {
  const std::string entries =
      "resources: [{name: a, count: 1, when: {label: {rack: a*}}}, {name: b, count: 1, when: {node: n1}}]";
  const Made made("apiServer: {}\n" + entries);
  CHECK(asks_for_node(made.config));
  const NodeLabels told{.node = "n1", .labels = {{"rack", "a7"}}, .error = {}};
  const Selection selection = select(made.config, made.host, {}, told);
  CHECK(selection.applies == Applies{true, true});
  CHECK(selection.errors.empty());
  CHECK(selection.watch.empty());

  // If the labels are unknown, the selection stays as it was.
  const NodeLabels unknown{.node = {}, .labels = {}, .error = "403 Forbidden"};
  CHECK(select(made.config, made.host, {.applies = {true, false}}, unknown).applies == Applies{true, false});
  const Selection none = select(made.config, made.host, {}, unknown);
  CHECK(none.applies == Applies{false, false});
  CHECK(none.others[0].unknown);
  CHECK(select(made.config, made.host, {}, unknown).errors[0] ==
        "the node's labels are not known: 403 Forbidden");
  CHECK(select(made.config, made.host).errors[0] ==
        "the node's labels are not known: only the daemon reads them from the API server");
  // Labels that have not arrived yet are no error.
  const NodeLabels awaited{.error = "no answer yet", .awaited = true};
  const Selection waiting = select(made.config, made.host, {}, awaited);
  CHECK(waiting.errors.empty());
  CHECK(waiting.others[0].unknown);
  CHECK_FALSE(select(made.config, made.host, {}, NodeLabels{.labels = {{"rack", "b"}}}).others[0].unknown);
}

TEST_CASE(
    "the API server is queried for labels only if `nodeLabels` is not set and a condition needs labels") {
  const std::string entries = "resources: [{name: a, count: 1, when: {label: {rack: a*}}}]";
  const Made made("nodeLabels: /etc/labels\napiServer: {}\n" + entries);
  made.tree.file("/etc/labels", "rack=b1");
  CHECK_FALSE(asks_for_node(made.config));
  CHECK(select(made.config, made.host, {}, NodeLabels{.node = "n1", .labels = {{"rack", "a7"}}, .error = {}})
            .applies == Applies{false});
  CHECK_FALSE(asks_for_node(Made("apiServer: {}\nresources: [{name: a, count: 1, when: {arch: x}}]").config));
  CHECK_FALSE(asks_for_node(Made("resources: [{name: a, count: 1, when: {node: x}}]").config));
}

TEST_CASE("a kubelet's directory may be below its root directory, and is where a kubelet listens") {
  Made made("kubelet: {podResources: /data/pod-resources/kubelet.sock}\nresources: [{name: a, count: 1}]");
  const std::string usual = "/var/lib/kubelet/device-plugins";
  const std::string below_root = "/data/device-plugins";
  for (const std::string& directory : {usual, below_root}) made.tree.directory("." + directory);
  const auto listen_in = [&](const std::string& directory) {
    return listen_unix(made.tree.path() / ("." + directory) / "kubelet.sock");
  };
  CHECK(has_conditions(made.config));
  CHECK(not_asked_yet(made.config, {}).kubelet == usual);
  const Selection none = made.look();
  CHECK(none.kubelet == usual);
  CHECK(none.recheck);
  CHECK(made.follows(none, {usual, "kubelet.sock"}));
  CHECK(made.follows(none, {below_root, "kubelet.sock"}));
  CHECK(applying(made.config, none).kubelet == made.config.kubelet);

  auto socket = listen_in(below_root);
  const Selection moved = made.look(none);
  CHECK(moved.kubelet == below_root);
  CHECK_FALSE(moved.recheck);
  const KubeletConfig used = applying(made.config, moved).kubelet;
  CHECK(used.directory == below_root);
  CHECK(used.files_owner() == made.config.kubelet.files_owner());
  // The file of a kubelet that was killed is no kubelet; and without any, the present directory stays.
  socket = {};
  CHECK(made.look(none).kubelet == usual);
  CHECK(made.look(moved).kubelet == below_root);
  const auto other = listen_in(usual);
  CHECK(made.look(moved).kubelet == usual);
  made.tree.remove("." + below_root + "/kubelet.sock");
  socket = listen_in(below_root);
  CHECK(made.look(none).kubelet == usual);
  CHECK(made.look(moved).kubelet == below_root);
}

TEST_CASE("a kubelet's directory is certain if the configuration has it, or the default root directory") {
  for (const char* const kubelet :
       {"{}", "{directory: /k, podResources: /data/pod-resources/kubelet.sock}",
        "{podResources: /var/lib/kubelet/pod-resources/kubelet.sock}", "{podResources: /run/pods.sock}",
        // The path of a socket below it would be too long.
        "{podResources: /var/snap/microk8s/common/var/lib/kubelet/pod-resources/kubelet.sock}"}) {
    CAPTURE(kubelet);
    const Made made("kubelet: " + std::string(kubelet) + "\nresources: [{name: a, count: 1}]");
    CHECK(made.config.kubelet.other_directory.empty());
    CHECK_FALSE(has_conditions(made.config));
    CHECK(made.look().kubelet == made.config.kubelet.directory);
  }
}

}  // namespace
}  // namespace plughost
