#include "daemon/hooks/container_programs.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "unit/daemon/hooks/waiting_programs.hpp"
#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
using namespace std::chrono_literals;

namespace {

// Devices that a shell script prepares. $1 is the test's directory and $2 the device's id.
struct Prepared {
  test::TempDir dir;
  EventLoop loop;
  Programs programs{loop};
  std::optional<PreStarts> starts{std::in_place, programs};
  std::shared_ptr<ResourceSnapshot> snapshot = std::make_shared<ResourceSnapshot>();
  std::optional<std::string> error;  // the answer; an empty text lets the container start
  bool dropped = false;

  explicit Prepared(const std::string& script, std::chrono::milliseconds timeout = 1min) {
    AllocationSpec spec;
    spec.pre_start = ProgramSpec{.timeout = timeout};
    for (const std::string& word : {std::string("/bin/sh"), std::string("-c"), Template::escape(script),
                                    std::string("sh"), dir.path().string(), std::string("{id}")})
      spec.pre_start->command.emplace_back(word);
    snapshot->resource = "x.com/a";
    snapshot->spec = std::make_shared<const AllocationSpec>(spec);
    list({{.id = "a"}, {.id = "b"}, {.id = "shared", .replicas = 3}});
  }
  void list(std::vector<Device> devices) { snapshot->inventory = Inventory(std::move(devices)); }

  void begin(const std::vector<std::string>& ids) {
    // The callback owns `call`, as the daemon's callback owns the gRPC call: `dropped` is set if the callback
    // is destroyed without an answer.
    const std::shared_ptr<void> call(nullptr, [this](void*) { dropped = !error; });
    starts->run(snapshot, ids, [this, call](std::string why) { error = std::move(why); });
  }
  std::string answer(const std::vector<std::string>& ids) {
    begin(ids);
    REQUIRE(test::run_until(loop, [this] { return error.has_value(); }));
    return *error;
  }
  std::string content(const std::string& file) const {
    std::ifstream text(dir.at(file));
    return {std::istreambuf_iterator<char>(text), {}};
  }
};

bool runs(const std::string& pid) {
  return std::filesystem::exists("/proc/" + pid.substr(0, pid.find('\n')));
}

}  // namespace

TEST_CASE("a container starts when the program has succeeded for each of its devices") {
  Prepared pod("echo $2 > $1/$2");
  CHECK(pod.answer({"b", "a"}).empty());
  CHECK(pod.content("a") == "a\n");
  CHECK(pod.content("b") == "b\n");
}

TEST_CASE("a device with several replicas in one container is prepared once") {
  Prepared pod("echo $2 >> $1/log");
  CHECK(pod.answer({"shared::0", "a", "shared::2"}).empty());
  const std::string log = pod.content("log");
  CHECK(std::ranges::count(log, '\n') == 2);
  CHECK(log.find("shared\n") != std::string::npos);
}

TEST_CASE(
    "a failing program fails the container's start with its output, and the other programs are killed") {
  Prepared pod(
      "case $2 in a) echo $$ > $1/pid; exec sleep 1000;; esac; "
      "while [ ! -s $1/pid ]; do sleep 0.01; done; echo no space left; exit 1");
  CHECK(pod.answer({"a", "b"}) == "device \"b\" is not ready: no space left");
  CHECK(test::run_until(pod.loop, [&] { return !runs(pod.content("pid")); }));
}

TEST_CASE("all devices of a container share one time limit") {
  Prepared pod("exec sleep 1000", 200ms);
  const auto begun = EventLoop::Clock::now();
  const std::string error = pod.answer({"a", "b"});
  CHECK(error.find("not ready within 200 ms") != std::string::npos);
  CHECK(EventLoop::Clock::now() - begun >= 200ms);
}

TEST_CASE("devices are prepared at most eight at a time") {
  Prepared pod(test::kWaiting);
  std::vector<Device> many(30);
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < many.size(); ++i) ids.push_back(many[i].id = std::to_string(100 + i));
  pod.list(many);
  pod.begin(ids);
  CHECK(test::only_run(pod.loop, pod.dir, 8));
  CHECK_FALSE(pod.error);
  test::let_go(pod.dir);
  REQUIRE(test::run_until(pod.loop, [&] { return pod.error.has_value(); }));
  CHECK(pod.error->empty());
  CHECK(test::begun(pod.dir) == 30);
}

TEST_CASE(
    "the time limit includes the wait for a free slot, and a device whose program never started fails, too") {
  Prepared pod("exec sleep 1000", 400ms);
  std::vector<Device> many(20);
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < many.size(); ++i) ids.push_back(many[i].id = std::to_string(100 + i));
  pod.list(many);
  std::size_t answers = 0;
  for (int i = 0; i < 10; ++i)
    pod.starts->run(pod.snapshot, ids, [&](const std::string& error) {
      ++answers;
      CHECK(error.find("not ready within 400 ms") != std::string::npos);
    });
  CHECK(test::run_until(
      pod.loop, [&] { return answers == 10; }, 3s));
}

TEST_CASE("a preparation that cannot start fails at once") {
  Prepared pod("exit 0");
  SUBCASE("a device is not listed any more") {
    pod.begin({"a", "gone"});
    CHECK(pod.error == "there is no device \"gone\" any more");
  }
  SUBCASE("a device lacks an attribute that the command needs") {
    AllocationSpec spec = *pod.snapshot->spec;
    spec.pre_start->command.emplace_back("{serial}");
    pod.snapshot->spec = std::make_shared<const AllocationSpec>(spec);
    pod.begin({"a"});
    CHECK(pod.error == "device \"a\" has no {serial}, which preStart needs");
  }
  CHECK_FALSE(pod.dropped);
}

TEST_CASE("the end of PreStarts kills the programs, and their calls get no answer") {
  Prepared pod("echo $$ > $1/pid; exec sleep 1000");
  pod.begin({"a"});
  REQUIRE(test::run_until(pod.loop, [&] { return pod.content("pid").ends_with('\n'); }));
  pod.starts.reset();
  CHECK(test::run_until(pod.loop, [&] { return !runs(pod.content("pid")); }));
  CHECK_FALSE(pod.error);
  CHECK(pod.dropped);
}

TEST_CASE("preStart: a device is prepared by its own entry's program") {
  Prepared first("touch $1/first-$2"), second("touch $1/second-$2");
  first.list({{.id = "a", .terms = first.snapshot->spec}, {.id = "b", .terms = second.snapshot->spec}});
  CHECK(first.answer({"a", "b"}).empty());
  CHECK(std::filesystem::exists(first.dir.at("first-a")));
  CHECK_FALSE(std::filesystem::exists(first.dir.at("first-b")));
  CHECK(std::filesystem::exists(second.dir.at("second-b")));
}
