#include "config/checks.hpp"

#include <doctest/doctest.h>

#include "unit/temp_dir.hpp"

namespace plughost {
namespace {

using test::TempDir;
using Texts = std::vector<std::string>;

// Returns the warnings about a configuration with these entries, as "line: path: …".
Texts warnings(const std::string& entries) {
  const TempDir dir;
  dir.file("a.yaml", "domain: example.com\nresources:\n" + entries);
  Texts texts;
  for (const Diagnostic& warning : load_config(dir.at("a.yaml")).warnings) {
    CHECK(warning.severity == Diagnostic::Severity::kWarning);
    std::string what = warning.what.substr(0, warning.what.find(" ("));
    texts.push_back(std::to_string(warning.mark.line) + ": " + warning.path + ": " + what);
  }
  return texts;
}

bool loads(const std::string& entries) {
  const TempDir dir;
  dir.file("a.yaml", "domain: example.com\nresources:\n" + entries);
  try {
    load_config(dir.at("a.yaml"));
  } catch (const ConfigError&) {
    return false;
  }
  return true;
}

std::string may_differ(const std::string& what, const std::string& from) {
  return "the " + what + " may get a different value from " + from;
}

TEST_CASE("a socket directory is refused if the path of a socket in it could be longer than 107 bytes") {
  const auto errors = [](std::size_t length, std::size_t name) {
    Diagnostics diagnostics;
    check_socket_directory(std::string(length, 'x'), name, {}, "kubelet.directory", diagnostics);
    return diagnostics.error_count();
  };
  CHECK(errors(107 - 1 - kLongestSocketName, kLongestSocketName) == 0);
  CHECK(errors(107 - kLongestSocketName, kLongestSocketName) == 1);
  CHECK(errors(94, std::string("kubelet.sock").size()) == 0);
  CHECK(errors(95, std::string("kubelet.sock").size()) == 1);
}

TEST_CASE("a list that fits into one message to the kubelet is accepted, and no larger one") {
  // Each id has 63 characters and takes 78 bytes, so 53,747 of them fit into the message.
  const std::string id = ", id: \"{n}-" + std::string(63, 'x') + "\"}\n";
  CHECK(loads("- {name: unit, count: 53000" + id));
  CHECK_FALSE(loads("- {name: unit, count: 54500" + id));
#ifndef PLUGHOST_SANITIZED  // each of these takes some seconds with a sanitizer
  CHECK(loads("- {name: unit, count: 5, replicas: 10000" + id));
  CHECK_FALSE(loads("- {name: unit, count: 6, replicas: 10000" + id));
  CHECK_FALSE(loads("- {name: unit, count: 1000000}\n"));
  CHECK(loads("- {name: \"unit{id}\", count: 27, replicas: 10000}\n"));
#endif
}

TEST_CASE("ids of one entry's resources are unique, too") {
  CHECK(loads("- {name: \"a{id}\", count: 2}\n"));
  CHECK(loads("- {name: \"a{id}\", count: 2, id: \"x{n}\"}\n"));
  CHECK_FALSE(loads("- {name: \"a{id}\", count: 2, id: x}\n"));
}

TEST_CASE("an id that equals the id of another device's replica is refused") {
  CHECK(loads("- {name: a, count: 1, id: x}\n- {name: b, count: 1, id: x, replicas: 2}\n"));
  CHECK(loads("- {name: a, count: 1, id: \"x::2\"}\n- {name: b, count: 1, id: x, replicas: 2}\n"));
  CHECK_FALSE(loads("- {name: a, count: 1, id: \"x::1\"}\n- {name: b, count: 1, id: x, replicas: 2}\n"));
}

TEST_CASE("an id that has to be shortened causes a warning") {
  const Texts found = warnings("- {name: a-name-that-is-so-long-that-no-number-fits-behind-it, count: 2}\n");
  REQUIRE(found.size() == 1);
  CHECK(found[0].starts_with("3: resources[0].count: a device is listed as "));
}

TEST_CASE("two resources that set a variable to different values cause a warning") {
  CHECK(warnings("- {name: a, count: 1, env: {A: 1}}\n- {name: b, count: 1, env: {A: 2}}\n") ==
        Texts{"4: resources[1].env.A: " + may_differ("environment variable 'A'", "resources[0]")});
  CHECK(warnings("- {name: a, count: 1, env: {A: \"{id}\"}}\n- {name: b, count: 1, env: {A: \"{id}\"}}\n") ==
        Texts{"4: resources[1].env.A: " + may_differ("environment variable 'A'", "resources[0]")});
  CHECK(warnings("- {name: a, count: 1, env: {A: \"{resource}\"}}\n- {name: b, count: 1, env: {A: "
                 "\"{resource}\"}}\n")
            .size() == 1);
  CHECK(warnings("- {name: a, count: 1, env: {X/example.com/b: 1}}\n- {name: b, count: 1, env: "
                 "{\"X/{resource}\": 2}}\n")
            .size() == 1);
}

TEST_CASE("the same value from two resources, or different names, are no conflict") {
  CHECK(warnings("- {name: a, count: 1, env: {A: 1}}\n- {name: b, count: 1, env: {A: \"1\"}}\n").empty());
  CHECK(warnings("- {name: a, count: 1, env: {\"A/{resource}\": \"{id}\"}}\n"
                 "- {name: b, count: 1, env: {\"A/{resource}\": \"{id}\"}}\n")
            .empty());
  CHECK(warnings("- {name: a, count: 1, env: {\"A_{resourceEnv}\": \"{id}\"}}\n"
                 "- {name: b, count: 1, env: {\"A_{resourceEnv}\": \"{id}\"}}\n")
            .empty());
  CHECK(warnings("- {name: \"{name}\", directory: {path: /a}, env: {\"A_{resourceEnv}\": \"{path}\"}}\n")
            .empty());
  CHECK(warnings("- {name: a, count: 1, env: {\"A_{id}\": \"{n}\"}}\n- {name: b, count: 1, env: {\"A_{id}\": "
                 "\"{n}\"}}\n")
            .empty());
  CHECK(warnings("- {name: a, count: 1, env: {A: 1}}\n- {name: b, count: 1, annotations: {A: 2}}\n").empty());
}

TEST_CASE("each later entry causes one warning, which names the first entry with a different value") {
  CHECK(warnings("- {name: a, count: 1, env: {A: 1}}\n- {name: b, count: 1, env: {A: 1}}\n"
                 "- {name: c, count: 1, env: {A: 2}}\n- {name: d, count: 1, env: {A: 1}}\n") ==
        Texts{"5: resources[2].env.A: " + may_differ("environment variable 'A'", "resources[0]"),
              "6: resources[3].env.A: " + may_differ("environment variable 'A'", "resources[2]")});
}

TEST_CASE("annotations and container paths are compared like variables") {
  CHECK(
      warnings("- {name: a, count: 1, annotations: {A: 1}}\n- {name: b, count: 1, annotations: {A: 2}}\n") ==
      Texts{"4: resources[1].annotations.A: " + may_differ("annotation 'A'", "resources[0]")});
  CHECK(warnings("- {name: a, count: 1, mounts: [{hostPath: /a, containerPath: /x}]}\n"
                 "- {name: b, count: 1, nodes: [{hostPath: /dev/a, containerPath: /x}]}\n") ==
        Texts{"4: resources[1].nodes[0]: " + may_differ("path in the container '/x'", "resources[0]")});
  CHECK(warnings("- {name: a, count: 1, mounts: [{hostPath: /a}]}\n- {name: b, count: 1, mounts: [{hostPath: "
                 "/a}]}\n")
            .empty());
  CHECK(warnings("- {name: a, count: 1, mounts: [{hostPath: /a}]}\n"
                 "- {name: b, count: 1, mounts: [{hostPath: /a, readOnly: true}]}\n")
            .size() == 1);
}

TEST_CASE("different values of a variable from resources of one entry cause a warning") {
  CHECK(
      warnings("- {name: \"{name}\", directory: {path: /a}, env: {A: \"{path}\"}}\n") ==
      Texts{"3: resources[0].env.A: the environment variable 'A' may get a different value from another "
            "resource "
            "of this "
            "entry; a container with devices of both has either, at random; tell them apart, for example by "
            "{resource} in the name"});
  CHECK(warnings("- {name: \"{name}\", directory: {path: /a}, env: {\"A/{resource}\": \"{path}\", B: 1}}\n")
            .empty());
}

TEST_CASE(
    "entries that set one variable for the same cards must be joined by sameCard, or select different "
    "cards") {
  const auto gpu = [](const std::string& name, const std::string& keys, const std::string& more = "") {
    return "- {name: " + name + ", gpu: {vendor: nvidia" + keys + "}" + more + "}\n";
  };
  const std::string memory = ", unit: {memory: 1GiB}";
  const std::string cores = ", unit: {cores: 10}";
  const auto near = [](const std::string& name) { return ", sameCard: true, near: " + name; };
  CHECK_FALSE(loads(gpu("a", memory) + gpu("b", cores)));
  CHECK_FALSE(loads(gpu("a", memory, near("b")) + gpu("b", cores, ", near: a")));
  CHECK(loads(gpu("a", memory, near("b")) + gpu("b", cores, near("a"))));
  CHECK(loads(gpu("a", memory, near("b")) + gpu("b", cores, near("a")) + gpu("c", "", near("b"))));
  CHECK_FALSE(loads(gpu("a", memory, near("b")) + gpu("b", cores, near("a")) + gpu("c", "")));
  CHECK_FALSE(loads(gpu("a", memory, near("b")) + gpu("b", cores, near("a")) + gpu("c", "", near("d")) +
                    gpu("d", "", near("c"))));
  // Two different patterns are assumed to select different cards.
  CHECK(loads(gpu("a", "", ", only: [{name: A}]") + gpu("b", "", ", only: [{name: B}]")));
  CHECK(loads(gpu("a", "", ", only: [{name: A}]") + gpu("b", "", ", except: [{name: A}]")));
  CHECK_FALSE(loads(gpu("a", "", ", only: [{name: A}]") + gpu("b", "", ", only: [{name: A}]")));
  CHECK_FALSE(loads(gpu("a", "", ", only: [{name: A}]") + gpu("b", "")));
  CHECK_FALSE(loads(gpu("a", "") + gpu("b", "", ", only: [{name: A}]")));
  // No conflict: the entries are for different nodes, or set different variables, or set none.
  CHECK(loads(gpu("a", "", ", when: {arch: amd64}") + gpu("b", "", ", when: {arch: arm64}")));
  CHECK(loads(gpu("a", "") + "- {name: b, gpu: {vendor: iluvatar}}\n"));
  CHECK(loads(gpu("a", "") + gpu("b", ", deviceListStrategy: cdi-cri")));
  CHECK(loads(gpu("a", ", deviceListStrategy: volume-mounts") +
              gpu("b", ", deviceListStrategy: volume-mounts")));
  CHECK_FALSE(loads(gpu("a", ", deviceListStrategy: volume-mounts") + gpu("b", "")));
}

TEST_CASE("a variable that the entry sets replaces the kind's value of that variable") {
  const std::string own = "- {name: a, gpu: {vendor: nvidia}, env: {NVIDIA_VISIBLE_DEVICES: none}}\n";
  CHECK(warnings(own + "- {name: b, count: 1, env: {NVIDIA_VISIBLE_DEVICES: none}}\n") == Texts{});
  CHECK(warnings(own + "- {name: b, gpu: {vendor: nvidia}}\n") ==
        Texts{"4: resources[1].gpu: " +
              may_differ("environment variable 'NVIDIA_VISIBLE_DEVICES'", "resources[0]")});
  CHECK(warnings("- {name: b, gpu: {vendor: nvidia}}\n- {name: c, count: 1, env: {NVIDIA_VISIBLE_DEVICES: "
                 "none}}\n") ==
        Texts{"4: resources[1].env.NVIDIA_VISIBLE_DEVICES: " +
              may_differ("environment variable 'NVIDIA_VISIBLE_DEVICES'", "resources[0]")});
}

TEST_CASE("a path that looks like a pattern of another program causes a warning") {
  const auto of_path = [](const std::string& path) {
    return warnings("- {name: a, groups: [{paths: [{path: \"" + path + "\"}]}]}\n");
  };
  const std::string place = "3: resources[0].groups[0].paths[0].path: ";
  CHECK(of_path("/dev/{fuse,zero}") ==
        Texts{place +
              "braces are no pattern here; for a device of each write a pattern such as /dev/ttyUSB[0-3], "
              "or a group for each path: the paths of one group are one device"});
  CHECK(of_path("/dev/video[0-3") ==
        Texts{place + "a '[' without its ']' matches only itself, as in /dev/video[0-3]"});
  const std::string on_expressions = place +
                                     "'(', '|' and '+' match only themselves; write a pattern such as "
                                     "/dev/ttyUSB*, or a group for each path";
  CHECK(of_path("/dev/tty(USB)") == Texts{on_expressions});
  CHECK(of_path("/dev/tty|dev") == Texts{on_expressions});
  CHECK(of_path("/dev/video[0-9]+") == Texts{on_expressions});
  for (const char* fine : {"/dev/video[0-3]", "/dev/a+b", "/dev/}{", "/dev/a]", "/dev/{a", "/dev/b}"}) {
    CAPTURE(fine);
    CHECK(of_path(fine).empty());
  }
}

TEST_CASE("a directory whose path looks like a pattern causes a warning") {
  const auto of_path = [](const std::string& path) {
    return warnings("- {name: a, directory: {path: \"" + path + "\"}}\n");
  };
  const std::string advice =
      "3: resources[0].directory.path: a directory's path is no pattern; which of its files count is in "
      "`match`, as in match: \"*.dev\"";
  for (const char* pattern : {"/etc/gophers/*.dev", "/etc/g?phers", "/etc/[g]ophers"}) {
    CAPTURE(pattern);
    CHECK(of_path(pattern) == Texts{advice});
  }
  CHECK(of_path("/etc/gophers").empty());
}

TEST_CASE("a regular expression as the pattern of a directory's files causes a warning") {
  const auto of_match = [](const std::string& match) {
    return warnings("- {name: a, directory: {path: /etc/a, match: '" + match + "'}}\n");
  };
  for (const char* expression : {"^.*", ".*lic$", "a\\.lic"}) {
    CAPTURE(expression);
    CHECK(of_match(expression) ==
          Texts{"3: resources[0].directory.match: this looks like a regular expression, "
                "and is a pattern of file names, as in \"*.dev\""});
  }
  CHECK(of_match("*.lic").empty());
}

TEST_CASE("a variable of Kubernetes or a shell, or Helm's braces, in `env` cause a warning") {
  for (const char* value : {"$(B)", "${id}", "{{id}}", "{{ .ID }}"}) {
    CAPTURE(value);
    CHECK(warnings("- {name: a, count: 1, env: {A: \"" + std::string(value) + "\"}}\n") ==
          Texts{"3: resources[0].env.A: '" + std::string(value) +
                "' is no placeholder as it stands; a device's id is \"{id}\""});
  }
  CHECK(warnings("- {name: a, count: 1, env: {A: \"{id}\", C: \"$\", \"$(D\": d, E: \"{{\"}}\n").empty());
  CHECK(warnings("- {name: a, count: 1, env: {JSON: '{{\"id\":\"{id}\"}}', A: '{{shelf}}'}}\n").empty());
}

TEST_CASE("a program with its arguments in one text causes a warning with the list to write") {
  const std::string advice =
      "this is the path of one program, blanks included; if it has arguments, write a list, as in ";
  CHECK(warnings("- {name: a, exec: {discover: /bin/list all x}}\n") ==
        Texts{"3: resources[0].exec.discover: " + advice + "discover: [/bin/list, all, x]"});
  CHECK(warnings("- {name: a, count: 1, health: {exec: /bin/check now}}\n") ==
        Texts{"3: resources[0].health.exec: " + advice + "exec: [/bin/check, now]"});
  CHECK(warnings("- {name: a, exec: {discover: /bin/list > x}}\n") ==
        Texts{"3: resources[0].exec.discover: " + advice + "discover: [/bin/sh, \"-c\", \"/bin/list > x\"]"});
  CHECK(warnings("- {name: a, exec: {discover: [/bin/a, \"|\", /bin/b]}}\n") ==
        Texts{"3: resources[0].exec.discover: '|' is an argument of the program, since no shell runs it; "
              "write discover: [/bin/sh, -c, \"...\"]"});
  CHECK(warnings("- {name: a, exec: {discover: [/bin/sh, -c, \"a | b\"]}}\n").empty());
  CHECK(warnings("- {name: a, exec: {discover: [/bin/cut, -d, \"|\", /etc/list]}}\n").empty());
  CHECK(warnings("- {name: a, exec: {discover: [/bin/a list]}}\n").empty());
  CHECK(warnings("- {name: a, exec: {discover: /bin/list}}\n").empty());
}

}  // namespace
}  // namespace plughost
