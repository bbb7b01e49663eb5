#include <doctest/doctest.h>

#include "unit/config/config_of.hpp"

namespace plughost {
namespace {

using test::config_of;

// What changes, as "added a, changed b": the names' last parts.
std::string changes(const std::string& before, const std::string& after) {
  const Config old_config = config_of(before);
  const Config new_config = config_of(after);
  const ConfigDiff found = diff(old_config, new_config);
  std::string text;
  const auto add = [&](const char* what, const std::vector<const ResourceConfig*>& resources) {
    for (const ResourceConfig* resource : resources) {
      const std::string& name = resource->recipe->name.text();
      text += (text.empty() ? "" : ", ") + std::string(what) + ' ' + name.substr(name.find('/') + 1);
    }
  };
  add("added", found.added);
  add("changed", found.changed);
  add("removed", found.removed);
  add("kept", found.unchanged);
  return text + (found.kubelet_changed ? "; kubelet" : "");
}

const std::string kBefore =
    "resources:\n- {name: x.example/a, count: 1, env: {A: 1, B: 2}}\n- {name: x.example/b, count: 2}\n";

TEST_CASE("comments, layout, quotes and the order of keys and entries change nothing") {
  CHECK(changes(kBefore, kBefore) == "kept a, kept b");
  CHECK(changes(kBefore,
                "# Moved around.\nlog: {level: debug}\ndevices:\n- count: 2\n  name: x.example/b\n"
                "- env: {B: \"2\", A: '1'}  # the same\n  count: 1\n  name: x.example/a\n") ==
        "kept b, kept a");
}

TEST_CASE("a changed value, kind or number touches its entry only") {
  CHECK(changes(kBefore,
                "resources:\n- {name: x.example/a, count: 1, env: {A: 1, B: 3}}\n- {name: x.example/b, "
                "count: 2}\n") == "changed a, kept b");
  CHECK(changes(kBefore,
                "resources:\n- {name: x.example/a, count: 1, env: {A: 1, B: 2}}\n- {name: x.example/b, "
                "count: 3}\n") == "changed b, kept a");
  CHECK(changes(kBefore,
                "resources:\n- {name: x.example/a, count: 1, env: {A: 1, B: 2}}\n"
                "- {name: x.example/b, directory: {path: /b}}\n") == "changed b, kept a");
}

TEST_CASE("another choice is a change of the entry") {
  const auto card = [](const std::string& keys) {
    return "resources: [{name: x.example/a, directory: {path: /a}" + keys + "}]\n";
  };
  CHECK(changes(card(", only: [{name: a}]"), card(", only: [{name: a}]")) == "kept a");
  CHECK(changes(card(", only: [{name: a}]"), card(", only: [{name: b}]")) == "changed a");
  CHECK(changes(card(", only: [{name: a}]"), card(", except: [{name: a}]")) == "changed a");
  CHECK(changes(card(""), card(", except: [{name: a}]")) == "changed a");
  CHECK(changes(card(", replicas: {\"a*\": 2}"), card(", replicas: {\"a*\": 3}")) == "changed a");
}

TEST_CASE("entries come and go by their names") {
  CHECK(changes(kBefore, "resources:\n- {name: x.example/c, count: 1}\n- {name: x.example/b, count: 2}\n") ==
        "added c, removed a, kept b");
}

TEST_CASE("a name is what the domain makes of it") {
  const std::string entry = "resources: [{name: a, count: 1}]\n";
  CHECK(changes("domain: x.example\n" + entry, "domain: x.example\n" + entry) == "kept a");
  const ConfigDiff moved =
      diff(config_of("domain: x.example\n" + entry), config_of("domain: y.example\n" + entry));
  CHECK(moved.added.size() == 1);
  CHECK(moved.removed.size() == 1);
}

TEST_CASE("another directory of the kubelet moves our sockets") {
  CHECK(changes(kBefore, "kubelet: {directory: /run/k}\n" + kBefore) == "kept a, kept b; kubelet");
  CHECK(changes(kBefore, "kubelet: {registration: pluginsRegistry}\n" + kBefore) ==
        "kept a, kept b; kubelet");
  CHECK(changes(kBefore, "kubelet: {directory: /var/lib/kubelet/device-plugins/}\n" + kBefore) ==
        "kept a, kept b");
}

}  // namespace
}  // namespace plughost
