#include "daemon/reload/reload.hpp"

#include <doctest/doctest.h>

#include "unit/config/config_of.hpp"

namespace plughost {
namespace {

using test::config_of;

// Returns the steps of a reload in their order, such as "retired a; kept b".
std::string plan(const std::string& before, const std::string& after) {
  const Config running = config_of(before);
  const Config wanted = config_of(after);
  const Reconciliation found = reconcile(running, wanted);
  std::string text;
  const auto add = [&](const std::string& word) { text += (text.empty() ? "" : "; ") + word; };
  const auto last_part = [](const std::string& name) { return name.substr(name.find('/') + 1); };
  const auto add_all = [&](const std::string& what, const auto& all, const auto& name_in) {
    std::string names;
    for (const auto& each : all) names += ' ' + last_part(name_in(each));
    if (!names.empty()) add(what + names);
  };
  const auto itself = [](const std::string& name) { return name; };
  const auto its_name = [](const EntriesOfName& entry) { return name_of(entry); };
  add_all("retired", found.changes.removed, itself);
  add_all("ended", found.ended, itself);
  if (found.changes.kubelet) add("kubelet");
  if (found.cdi) add("cdi");
  add_all("kept", found.kept, its_name);
  add_all("updated", found.updated, its_name);
  add_all("begun", found.begun, its_name);
  const auto is_wanted = [&](const ResourceConfig* entry) {
    return entry >= wanted.resources.data() && entry < wanted.resources.data() + wanted.resources.size();
  };
  for (const auto* all : {&found.kept, &found.updated, &found.begun})
    for (const EntriesOfName& entries : *all)
      for (const ResourceConfig* entry : entries) CHECK(is_wanted(entry));
  return text;
}

// Returns the changes of a reload, such as "added c, removed a, 1 kept".
std::string told(const std::string& before, const std::string& after) {
  const Changes found = reconcile(config_of(before), config_of(after)).changes;
  std::string text;
  const auto add = [&](const char* what, const std::vector<std::string>& names) {
    for (const std::string& name : names)
      text += std::string(what) + ' ' + name.substr(name.find('/') + 1) + ", ";
  };
  add("added", found.added);
  add("changed", found.changed);
  add("removed", found.removed);
  return text + std::to_string(found.unchanged) + " kept" + (found.kubelet ? "; kubelet" : "");
}

const std::string kEntryA = "- {name: x.com/a, count: 1}\n";
const std::string kEntryB = "- {name: x.com/b, count: 1}\n";

std::string resources(const std::string& entries) { return "resources:\n" + entries; }

TEST_CASE("an unchanged entry is kept, wherever it is in the file") {
  CHECK(plan(resources(kEntryA + kEntryB), resources(kEntryB + kEntryA)) == "kept b a");
}

TEST_CASE("entries are added and removed by name") {
  CHECK(plan(resources(kEntryA), resources(kEntryB)) == "retired a; begun b");
}

TEST_CASE("a change of an entry's devices or environment leaves the streams open") {
  CHECK(plan(resources(kEntryA + kEntryB),
             resources("- {name: x.com/a, count: 2, env: {A: b}}\n" + kEntryB)) == "kept b; updated a");
}

TEST_CASE(
    "a change of the kubelet's directory restarts all entries, and removed entries are retired as usual") {
  const std::string there = "kubelet: {directory: /there}\n";
  CHECK(plan(resources(kEntryA + kEntryB), there + resources(kEntryA + kEntryB)) ==
        "ended a b; kubelet; cdi; begun a b");
  CHECK(plan(resources(kEntryA + kEntryB),
             there + resources("- {name: x.com/b, count: 2}\n- {name: x.com/c, count: 1}\n")) ==
        "retired a; ended b; kubelet; cdi; begun b c");
}

TEST_CASE(
    "entries with one name are one resource, and adding, removing or changing one leaves the stream open") {
  const std::string a2 = "- {name: x.com/a, directory: {path: /dev/a}}\n";
  const std::string a3 = "- {name: x.com/a, directory: {path: /dev/b}}\n";
  CHECK(plan(resources(kEntryA + a2), resources(kEntryB + kEntryA + a2)) == "kept a; begun b");
  CHECK(plan(resources(kEntryA), resources(kEntryA + a2)) == "updated a");
  CHECK(plan(resources(kEntryA + a2), resources(a2)) == "updated a");
  CHECK(plan(resources(kEntryA + a2), resources(kEntryA + a3)) == "updated a");
  // A new order is a change, because results of several entries stay with the first entry.
  CHECK(plan(resources(kEntryA + a2), resources(a2 + kEntryA)) == "updated a");
  CHECK(plan(resources(kEntryA + a2), resources(kEntryB)) == "retired a; begun b");
}

TEST_CASE("a change of the CDI specifications' directory restarts no entry") {
  CHECK(plan(resources(kEntryA), "cdi: {directory: /there}\n" + resources(kEntryA)) == "cdi; kept a");
}

const std::string kBefore =
    "resources:\n- {name: x.example/a, count: 1, env: {A: 1, B: 2}}\n- {name: x.example/b, count: 2}\n";

TEST_CASE("comments, layout, quotes and the order of keys and entries change nothing") {
  CHECK(told(kBefore, kBefore) == "2 kept");
  CHECK(told(kBefore,
             "# Moved around.\nlog: {level: debug}\ndevices:\n- count: 2\n  name: x.example/b\n"
             "- env: {B: \"2\", A: '1'}  # the same\n  count: 1\n  name: x.example/a\n") == "2 kept");
}

TEST_CASE("a changed value, kind or number affects only its entry") {
  const std::string b = "- {name: x.example/b, count: 2}\n";
  const std::string a = "resources:\n- {name: x.example/a, count: 1, env: {A: 1, B: 2}}\n";
  CHECK(told(kBefore, "resources:\n- {name: x.example/a, count: 1, env: {A: 1, B: 3}}\n" + b) ==
        "changed a, 1 kept");
  CHECK(told(kBefore, a + "- {name: x.example/b, count: 3}\n") == "changed b, 1 kept");
  CHECK(told(kBefore, a + "- {name: x.example/b, directory: {path: /b}}\n") == "changed b, 1 kept");
}

TEST_CASE("a change of only, except or replicas is a change of the entry") {
  const auto card = [](const std::string& keys) {
    return "resources: [{name: x.example/a, directory: {path: /a}" + keys + "}]\n";
  };
  CHECK(told(card(", only: [{name: a}]"), card(", only: [{name: a}]")) == "1 kept");
  for (const auto& [before, after] :
       {std::pair(", only: [{name: a}]", ", only: [{name: b}]"),
        std::pair(", only: [{name: a}]", ", except: [{name: a}]"), std::pair("", ", except: [{name: a}]"),
        std::pair(", replicas: {\"a*\": 2}", ", replicas: {\"a*\": 3}")})
    CHECK(told(card(before), card(after)) == "changed a, 0 kept");
}

TEST_CASE("the changes list added and removed entries, and a new domain adds and removes every entry") {
  CHECK(told(kBefore, "resources:\n- {name: x.example/c, count: 1}\n- {name: x.example/b, count: 2}\n") ==
        "added c, removed a, 1 kept");
  const std::string entry = "resources: [{name: a, count: 1}]\n";
  CHECK(told("domain: x.example\n" + entry, "domain: x.example\n" + entry) == "1 kept");
  CHECK(told("domain: x.example\n" + entry, "domain: y.example\n" + entry) == "added a, removed a, 0 kept");
}

TEST_CASE("a change of the kubelet's directory or registration is reported, and changes no entry") {
  CHECK(told(kBefore, "kubelet: {directory: /run/k}\n" + kBefore) == "2 kept; kubelet");
  CHECK(told(kBefore, "kubelet: {registration: pluginsRegistry}\n" + kBefore) == "2 kept; kubelet");
  CHECK(told(kBefore, "kubelet: {directory: /var/lib/kubelet/device-plugins/}\n" + kBefore) == "2 kept");
}

}  // namespace
}  // namespace plughost
