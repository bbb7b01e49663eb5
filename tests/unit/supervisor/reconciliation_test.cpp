#include "supervisor/reconciliation.hpp"

#include <doctest/doctest.h>

#include "unit/config/config_of.hpp"

namespace plughost {
namespace {

using test::config_of;

// "retired a; kept b": what a reload does to which entries, in the order in which it is done.
std::string plan(const std::string& before, const std::string& after) {
  const Config running = config_of(before);
  const Config wanted = config_of(after);
  const Reconciliation found = reconcile(running, wanted);
  std::string text;
  const auto add = [&](const std::string& word) { text += (text.empty() ? "" : "; ") + word; };
  const auto last_part = [](const std::string& name) { return name.substr(name.find('/') + 1); };
  const auto add_all = [&](const std::string& what, const auto& all, const auto& name_of) {
    std::string names;
    for (const auto& each : all) names += ' ' + last_part(name_of(each));
    if (!names.empty()) add(what + names);
  };
  const auto itself = [](const std::string& name) { return name; };
  const auto its_name = [](const ResourceConfig* entry) { return entry->recipe->name.text(); };
  add_all("retired", found.retired, itself);
  add_all("ended", found.ended, itself);
  if (found.kubelet) add("kubelet");
  if (found.cdi) add("cdi");
  add_all("kept", found.kept, its_name);
  add_all("updated", found.updated, its_name);
  add_all("begun", found.begun, its_name);
  const auto is_wanted = [&](const ResourceConfig* entry) {
    return entry >= wanted.resources.data() && entry < wanted.resources.data() + wanted.resources.size();
  };
  for (const auto* all : {&found.kept, &found.updated, &found.begun})
    for (const ResourceConfig* entry : *all) CHECK(is_wanted(entry));
  return text;
}

const std::string kA = "- {name: x.com/a, count: 1}\n";
const std::string kB = "- {name: x.com/b, count: 1}\n";

std::string resources(const std::string& entries) {
  return "resources:\n" + entries;
}

TEST_CASE("what did not change is left alone, wherever it stands") {
  CHECK(plan(resources(kA + kB), resources(kB + kA)) == "kept b a");
}

TEST_CASE("entries come and go by their names") {
  CHECK(plan(resources(kA), resources(kB)) == "retired a; begun b");
}

TEST_CASE("other devices and terms leave the streams as they are") {
  CHECK(plan(resources(kA + kB), resources("- {name: x.com/a, count: 2, env: {A: b}}\n" + kB)) ==
        "kept b; updated a");
}

TEST_CASE("what the kubelet asks once, when it dials, makes an entry begin anew") {
  CHECK(plan(resources(kA + kB), resources("- {name: x.com/a, count: 1, allocationPolicy: packed}\n" + kB)) ==
        "ended a; kept b; begun a");
  CHECK(plan(resources(kA + kB), resources("- {name: x.com/a, count: 1, near: x.com/b}\n" + kB)) ==
        "ended a; kept b; begun a");
  const std::string prepared = "- {name: x.com/a, count: 1, preStart: {exec: [/bin/true]}}\n";
  CHECK(plan(resources(kA), resources(prepared)) == "ended a; begun a");
  CHECK(plan(resources(prepared), resources(kA)) == "ended a; begun a");
}

TEST_CASE("an entry that is advertised by another way begins anew, and so does no other") {
  const std::string dra = "- {name: x.com/a, count: 1, advertise: dra}\n";
  const std::string server = "apiServer: {}\n";
  CHECK(plan(server + resources(kA + kB), server + resources(dra + kB)) == "ended a; kept b; begun a");
  CHECK(plan(server + resources(dra + kB), server + resources(kA + kB)) == "ended a; kept b; begun a");
  CHECK(plan(server + resources(dra), server + resources("- {name: x.com/a, count: 2, advertise: dra}\n")) ==
        "updated a");
}

TEST_CASE(
    "another kubelet makes all entries begin anew, and those that are removed are retired all the same") {
  const std::string there = "kubelet: {directory: /there}\n";
  CHECK(plan(resources(kA + kB), there + resources(kA + kB)) == "ended a b; kubelet; cdi; begun a b");
  CHECK(plan(resources(kA + kB),
             there + resources("- {name: x.com/b, count: 2}\n- {name: x.com/c, count: 1}\n")) ==
        "retired a; ended b; kubelet; cdi; begun b c");
}

TEST_CASE("another directory for specifications touches no entry") {
  CHECK(plan(resources(kA), "cdi: {directory: /there}\n" + resources(kA)) == "cdi; kept a");
}

}  // namespace
}  // namespace plughost
