// Checks reloads by SIGHUP: cases 30 to 34 of the conformance list.

#include <doctest/doctest.h>

#include <csignal>

#include "integration/node.hpp"
#include "integration/resource_names.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

void start_with_counts(Node& node) {
  node.configure(counted(kA, 2) + counted(kB, 3));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({kA, kB}));
}

// Checks that the resource has had one registration, one stream and this number of lists.
void check_untouched(Node& node, const std::string& resource, std::size_t lists = 1) {
  CAPTURE(resource);
  CHECK(node.of(resource).registrations.size() == 1);
  CHECK(node.of(resource).streams_ever == 1);
  CHECK(node.of(resource).lists == lists);
  CHECK(node.attached({resource}, 0ms));
}

}  // namespace

TEST_CASE("7.30 SIGHUP without a change sends no list, and keeps the process and the streams") {
  Node node(Node::Options{.registration = each_registration()});
  start_with_counts(node);
  for (int i = 0; i < 3; ++i) REQUIRE(node.reload());
  CHECK_FALSE(node.wait_for(
      [](const KubeletState& state) { return state.of(kA).lists > 1 || state.of(kB).lists > 1; }, kWatched));
  check_untouched(node, kA);
  check_untouched(node, kB);
  CHECK(node.daemon().running());
}

TEST_CASE("7.31 SIGHUP with a changed device leads to one list and to no Register") {
  Node node(Node::Options{.registration = each_registration()});
  start_with_counts(node);
  node.configure(counted(kA, 4) + counted(kB, 3));
  REQUIRE(node.reload());
  REQUIRE(node.count(kA, 4));
  CHECK_FALSE(node.wait_for([](const KubeletState& state) { return state.of(kA).lists > 2; }, kWatched));
  check_untouched(node, kA, 2);
  check_untouched(node, kB);
}

TEST_CASE("SIGHUP with a changed response affects the next Allocate, and sends no list") {
  Node node;
  start_with_counts(node);
  CHECK(node.kubelet().allocate_ids(kA, {kA + "-0"}).containers.at(0).env.empty());
  node.configure(counted(kA, 2, "env: {WHO: \"{id}\"}") + counted(kB, 3));
  REQUIRE(node.reload());
  CHECK(eventually([&] {
    const auto answer = node.kubelet().allocate_ids(kA, {kA + "-0"});
    return answer.containers.at(0).env == std::map<std::string, std::string>{{"WHO", kA + "-0"}};
  }));
  check_untouched(node, kA);
  check_untouched(node, kB);
}

TEST_CASE(
    "SIGHUP that adds or removes an entry of a name sends one list, and each device follows its own entry") {
  Node node(Node::Options{.registration = each_registration()});
  start_with_counts(node);
  REQUIRE(node.count(kA, 2));
  const std::string more = counted(kA, 1, "id: more, env: {WHO: more}");
  node.configure(counted(kA, 2, "env: {WHO: \"{id}\"}") + counted(kB, 3) + more);
  REQUIRE(node.reload());
  REQUIRE(node.count(kA, 3));
  const auto who = [&](const std::string& id) {
    return node.kubelet().allocate_ids(kA, {id}).containers.at(0).env.at("WHO");
  };
  CHECK(who(kA + "-0") == kA + "-0");
  CHECK(who("more") == "more");
  CHECK_FALSE(node.kubelet().allocate_ids(kA, {kA + "-0", "more"}).text.empty());
  node.configure(counted(kA, 2) + counted(kB, 3));
  REQUIRE(node.reload());
  REQUIRE(node.wait_for([](const KubeletState& state) { return state.of(kA).lists == 3; }));
  CHECK(node.count(kA, 2));
  check_untouched(node, kA, 3);
  check_untouched(node, kB);
}

TEST_CASE("7.32 SIGHUP that adds or removes a resource affects no other resource") {
  Node node(Node::Options{.registration = each_registration()});
  start_with_counts(node);
  node.configure(counted(kB, 3) + counted(kA, 2) + counted("example.com/c", 1));
  REQUIRE(node.reload());
  REQUIRE(node.attached({"example.com/c"}));
  node.configure(counted(kA, 2) + counted("example.com/c", 1));
  REQUIRE(node.reload());
  REQUIRE(node.wait_for([](const KubeletState& state) { return !state.of(kB).attached; }));
  check_untouched(node, kA);
  check_untouched(node, "example.com/c");
}

TEST_CASE("7.33 a removed resource loses its stream and its socket, and allocatable is 0 within 15 s") {
  Node node(Node::Options{.registration = each_registration()});
  start_with_counts(node);
  CHECK(node.socket_files().size() == 2);
  node.configure(counted(kB, 3));
  REQUIRE(node.reload());
  CHECK(node.wait_for(
      [](const KubeletState& state) { return state.of(kA).streams == 0 && state.of(kA).allocatable == 0; },
      limit(15s)));
  CHECK(eventually([&] { return node.socket_files().size() == 1; }));
  CHECK(node.daemon().wait_for_line({"resource removed", kA}, kLong));
  check_untouched(node, kB);
}

TEST_CASE("a resource that is removed and restored at once registers when the kubelet has forgotten it") {
  Node node(each_kubelet());
  start_with_counts(node);
  for (int i = 0; i < 3; ++i) {
    node.configure(counted(kB, 3));
    REQUIRE(node.reload());
    node.configure(counted(kA, 2) + counted(kB, 3));
    REQUIRE(node.reload());
    REQUIRE(node.wait_for([&](const KubeletState& state) {
      const ResourceState& resource = state.of(kA);
      return resource.streams_ever == static_cast<std::size_t>(i) + 2 && resource.attached &&
             resource.first_list;
    }));
    const ResourceState& resource = node.of(kA);
    CHECK(resource.registrations.back().at - *resource.stream_ended >= (kSanitized ? 0ms : 300ms));
  }
  check_untouched(node, kB);
}

TEST_CASE(
    "7.34 SIGHUP with a bad configuration keeps the former one, and every error is logged with its line") {
  Node node;
  start_with_counts(node);
  const std::size_t from = node.daemon().mark();
  node.configure(counted(kA, 5) + "- {name: example.com/Upper_, count: none}\n" +
                 "- {name: kubernetes.io/x, count: 1, colour: red}\n");
  node.daemon().signal(SIGHUP);
  REQUIRE(node.daemon().wait_for_line({"not reloaded"}, kLong, from));
  const std::string file = node.configuration();
  CHECK(node.daemon().wait_for_line({file + ":4:", "name"}, 0ms, from));
  CHECK(node.daemon().wait_for_line({file + ":4:", "count"}, 0ms, from));
  CHECK(node.daemon().wait_for_line({file + ":5:", "kubernetes.io"}, 0ms, from));
  CHECK(node.daemon().wait_for_line({file + ":5:", "colour"}, 0ms, from));
  check_untouched(node, kA);
  check_untouched(node, kB);
  CHECK(node.kubelet().allocate("pod", "c", kB, 3).admitted());

  SUBCASE("the file is gone") { node.files().remove("config.yaml"); }
  SUBCASE("the file is no YAML") { node.files().file("config.yaml", "{[}"); }
  SUBCASE("the file is empty") { node.files().file("config.yaml", ""); }
  const std::size_t again = node.daemon().mark();
  node.daemon().signal(SIGHUP);
  CHECK(node.daemon().wait_for_line({"not reloaded"}, kLong, again));
  check_untouched(node, kA);

  node.configure(counted(kA, 5) + counted(kB, 3));
  REQUIRE(node.reload());
  CHECK(node.count(kA, 5));
}

TEST_CASE("SIGHUP with a different `registration` moves every socket") {
  Node node;
  start_with_counts(node);
  Node other(Node::Options{.registration = Registration::kPluginsRegistry});
  node.files().file("config.yaml", "kubelet: {directory: " + other.plugins().string() +
                                       ", pluginsRegistry: " + other.sockets().string() +
                                       ", registration: pluginsRegistry}\nresources:\n" + counted(kA, 2));
  other.start_kubelet();
  REQUIRE(node.reload());
  CHECK(other.attached({kA}));
  CHECK(node.socket_files().empty());
  CHECK(node.wait_for([](const KubeletState& state) { return state.of(kA).streams == 0; }));
}

TEST_CASE(
    "a resource that two entries come to name is served by the first, and after its end by the second") {
  Node node;
  node.files().file("first/same");
  node.files().file("second/same");
  const std::string kSame = "example.com/same";
  const auto entry = [&](const std::string& name, const std::string& directory) {
    return listed("\"" + name + "\"", node.path(directory), "env: {WHO: " + directory + "}, forgetAfter: 1s");
  };
  const auto who = [&] {
    const AllocateAnswer answer = node.kubelet().allocate_ids(kSame, {"same"});
    return answer.code == 0 ? answer.containers.at(0).env.at("WHO") : answer.text;
  };
  node.configure(entry("example.com/{name}", "first"));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({kSame}));

  std::string other;
  bool entry_goes = false;
  SUBCASE("the second entry has a different template, and the first entry's device goes") {
    other = "example.com/{id}";
  }
  SUBCASE("the second entry has the fixed name, and the first entry is removed") {
    other = kSame;
    entry_goes = true;
  }
  node.configure(entry("example.com/{name}", "first") + entry(other, "second"));
  REQUIRE(node.reload());
  CHECK(node.daemon().wait_for_line(
      {"two entries name the same resource", "resource=" + kSame, "example.com/{name}", "config.yaml:"},
      kLong));
  CHECK(who() == "first");
  CHECK(node.of(kSame).registrations.size() == 1);
  if (entry_goes) {
    node.configure(entry(other, "second"));
    REQUIRE(node.reload());
  } else {
    node.files().remove("first/same");
  }
  CHECK(eventually([&] { return who() == "second"; }));
  CHECK(node.of(kSame).registrations.size() == 2);
}

TEST_CASE("of two entries for one resource at the start, the one with a fixed name serves it") {
  Node node;
  node.files().file("any/same");
  node.configure(listed("\"example.com/{name}\"", node.path("any")) + counted("example.com/same", 3));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({"example.com/same"}));
  CHECK(node.of("example.com/same").devices->size() == 3);
  CHECK(node.daemon().wait_for_line({"two entries name the same resource", "resource=example.com/same"},
                                    kLong));
  CHECK(node.of("example.com/same").registrations.size() == 1);
}
