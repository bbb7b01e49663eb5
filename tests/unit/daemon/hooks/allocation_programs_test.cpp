#include "daemon/hooks/container_programs.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
using namespace std::chrono_literals;

namespace {

// A container's devices, for which the shell script `script` runs as the allocate program. In the script, $1
// is the test's directory and $2 the resource.
struct Asked {
  test::TempDir dir;
  EventLoop loop;
  Programs running{loop};
  std::optional<AllocationPrograms> programs{std::in_place, running};
  ResourceSnapshot snapshot;
  std::optional<AllocationPrograms::Outcome> outcome;
  bool dropped = false;

  explicit Asked(const std::string& script, std::chrono::milliseconds timeout = 1min) {
    AllocationSpec spec;
    spec.allocate = ProgramSpec{.timeout = timeout};
    for (const std::string& word : {std::string("/bin/sh"), std::string("-c"), Template::escape(script),
                                    std::string("sh"), dir.path().string(), std::string("{resource}")})
      spec.allocate->command.emplace_back(word);
    snapshot = {.resource = "x.com/a",
                .inventory = Inventory({{.id = "a",
                                         .numa_nodes = {1},
                                         .nodes = {{.host_path = "/dev/a", .container_path = "/dev/a"}},
                                         .attributes = {{"serial", "S1"}}},
                                        {.id = "shared", .replicas = 3}}),
                .spec = std::make_shared<const AllocationSpec>(spec)};
  }
  void begin(const std::vector<std::string>& ids) {
    const std::shared_ptr<void> call(nullptr, [this](void*) { dropped = !outcome; });
    programs->run(snapshot, ids,
                  [this, call](AllocationPrograms::Outcome said) { outcome = std::move(said); });
  }
  AllocationPrograms::Outcome answer(const std::vector<std::string>& ids) {
    begin(ids);
    REQUIRE(test::run_until(loop, [this] { return outcome.has_value(); }));
    return *outcome;
  }
  std::string error() { return std::get<std::string>(answer({"a"})); }
  std::string content(const std::string& file) const {
    std::ifstream text(dir.at(file));
    return {std::istreambuf_iterator<char>(text), {}};
  }
};

}  // namespace

TEST_CASE("an allocate program reads the container's devices, and its output becomes an allocation") {
  Asked pod(R"(cat > $1/request; echo '{"env": {"LICENCE": "42"}}')");
  const auto outcome = pod.answer({"shared::2", "a", "shared::0"});
  REQUIRE(std::holds_alternative<Allocation>(outcome));
  CHECK(std::get<Allocation>(outcome) == Allocation{.env = {{"LICENCE", "42"}}});
  CHECK(nlohmann::json::parse(pod.content("request")) == nlohmann::json::parse(R"({
    "resource": "x.com/a",
    "devices": [
      {"id": "shared", "ids": ["shared::2", "shared::0"], "numa": [], "nodes": [], "attributes": {}},
      {"id": "a", "ids": ["a"], "numa": [1], "nodes": ["/dev/a"], "attributes": {"serial": "S1"}}]})"));
}

TEST_CASE("an allocate program's command receives the resource's name") {
  Asked pod(R"(echo "{\"env\": {\"NAME\": \"$2\"}}")");
  CHECK(std::get<Allocation>(pod.answer({"a"})).env.at("NAME") == "x.com/a");
}

TEST_CASE("a program's failure is reported with the last line of its standard error") {
  CHECK(Asked("echo one >&2; echo no licence left >&2; exit 3").error() ==
        "allocate: the program exited with 3: no licence left");
  CHECK(Asked("echo asking >&2; exec sleep 1000", 200ms).error() ==
        "allocate: the program was killed: it gave no answer within 200 ms: asking");
  CHECK(Asked("exec yes").error() == "allocate: the program was killed: it printed more than 4 MiB");
  CHECK(Asked("exit 0").error() ==
        "allocate: what the program printed cannot be used: the document: it is empty");
  CHECK(Asked(R"(echo '{"env": {"A": 1}}'; echo oops >&2)").error() ==
        "allocate: what the program printed cannot be used: env.'A': must be text, not a "
        "number: oops");
}

TEST_CASE("destruction kills the program and drops the answer") {
  Asked pod("echo $$ > $1/pid; exec sleep 1000");
  pod.begin({"a"});
  REQUIRE(test::run_until(pod.loop, [&] { return pod.content("pid").ends_with('\n'); }));
  pod.programs.reset();
  const std::string pid = pod.content("pid");
  CHECK(test::run_until(pod.loop,
                        [&] { return !std::filesystem::exists("/proc/" + pid.substr(0, pid.size() - 1)); }));
  CHECK(pod.dropped);
}

TEST_CASE("the response combines the configuration and the program's output") {
  Asked pod(R"(echo '{"env": {"LICENCE": "42"}, "cdi": ["x.com/a=1"]}')");
  const auto outcome = allocate_with_program(pod.snapshot, std::vector<std::string>{"a"});
  REQUIRE(std::holds_alternative<Allocation>(outcome));
  const auto& allocation = std::get<Allocation>(outcome);
  CHECK(allocation.nodes.size() == 1);
  CHECK(allocation.env.at("LICENCE") == "42");
  CHECK(allocation.cdi == std::vector<std::string>{"x.com/a=1"});
  Asked contrary(R"(echo '{"nodes": [{"hostPath": "/dev/b", "containerPath": "/dev/a"}]}')");
  CHECK(std::get<std::string>(allocate_with_program(contrary.snapshot, std::vector<std::string>{"a"})) ==
        "resource x.com/a: /dev/a in the container would be both device /dev/a (rw) and device /dev/b (rw); "
        "the "
        "program of allocate contradicts the rest of the response");
  CHECK(std::get<std::string>(allocate_with_program(pod.snapshot, std::vector<std::string>{"gone"}))
            .starts_with("resource x.com/a has no device \"gone\""));
}

TEST_CASE(
    "allocate: each entry's program receives its own devices, and entries without devices are skipped") {
  Asked first("cat > $1/first; echo '{\"env\": {\"FIRST\": \"1\"}, \"nodes\": [\"/dev/first\"]}'");
  const Asked second("cat > " + first.dir.at("second").string() +
                     "; echo '{\"env\": {\"SECOND\": \"2\"}, \"nodes\": [\"/dev/second\"]}'");
  const auto none = std::make_shared<const AllocationSpec>();
  first.snapshot.inventory = Inventory({{.id = "a", .terms = first.snapshot.spec},
                                        {.id = "b", .terms = second.snapshot.spec},
                                        {.id = "c", .terms = none}});
  CHECK(asks_program(first.snapshot, std::vector<std::string>{"c", "b"}));
  CHECK_FALSE(asks_program(first.snapshot, std::vector<std::string>{"c"}));
  CHECK(std::get<Allocation>(first.answer({"c"})) == Allocation());
  first.outcome.reset();
  const auto both = std::get<Allocation>(first.answer({"b", "c", "a"}));
  CHECK(both.env == std::map<std::string, std::string>{{"FIRST", "1"}, {"SECOND", "2"}});
  CHECK(both.nodes.size() == 2);
  CHECK(first.content("first").find("\"ids\":[\"a\"]") != std::string::npos);
  CHECK(first.content("first").find("\"b\"") == std::string::npos);
  CHECK(first.content("second").find("\"ids\":[\"b\"]") != std::string::npos);
}

TEST_CASE(
    "allocate: contradicting programs of two entries fail the request, and so does one failing program") {
  Asked first("echo '{\"env\": {\"X\": \"1\"}}'");
  const Asked other("echo '{\"env\": {\"X\": \"2\"}}'"), failing("exit 3");
  for (const Asked* const second : {&other, &failing}) {
    first.snapshot.inventory =
        Inventory({{.id = "a", .terms = first.snapshot.spec}, {.id = "b", .terms = second->snapshot.spec}});
    first.outcome.reset();
    const auto error = std::get<std::string>(first.answer({"a", "b"}));
    CAPTURE(error);
    CHECK(error.find(second == &other ? "X would be both \"1\" and \"2\"" : "allocate: ") !=
          std::string::npos);
  }
}
