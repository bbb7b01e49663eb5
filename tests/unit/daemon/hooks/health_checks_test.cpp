#include "daemon/hooks/health_checks.hpp"

#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "unit/daemon/hooks/waiting_programs.hpp"
#include "unit/no_descriptors.hpp"
#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
using namespace std::chrono_literals;
using Clock = EventLoop::Clock;

namespace {

const std::string kResource = "x.com/a";

std::vector<Device> devices(std::initializer_list<const char*> ids) {
  std::vector<Device> made;
  for (const char* id : ids) made.push_back({.id = id});
  return made;
}

// An entry whose devices are checked by a shell script. $1 is the test's directory and $2 the device's id.
struct Checked {
  test::TempDir dir;
  EventLoop loop;
  int verdicts = 0;
  Log log{LogLevel::kError, LogFormat::kAuto};
  Programs programs{loop};
  HealthChecks checks{programs, log, [this] { ++verdicts; }};
  AllocationSpec spec;

  explicit Checked(const std::string& script, std::chrono::milliseconds timeout = 1min) {
    spec.health = HealthCheckSpec{.interval = 10ms, .timeout = timeout};
    use(script);
  }
  void use(const std::string& script) {
    spec.health->command.clear();
    for (const std::string& word : {std::string("/bin/sh"), std::string("-c"), Template::escape(script),
                                    std::string("sh"), dir.path().string(), std::string("{id}")})
      spec.health->command.emplace_back(word);
  }
  void follow(const std::vector<Device>& now) { checks.follow(spec, {{kResource, now}}); }
  // Returns the devices with the results of their checks, such as "a b(too hot)".
  std::string list(std::vector<Device> scanned, const std::vector<Device>& listed = {}) {
    checks.apply(kResource, listed, scanned);
    std::string text;
    for (const Device& device : scanned)
      text += (text.empty() ? "" : " ") + device.id + (device.healthy() ? "" : '(' + device.error + ')');
    return text;
  }
  bool becomes(const std::string& text, const std::vector<Device>& scanned) {
    return test::run_until(loop, [&] { return list(scanned) == text; });
  }
  std::size_t lines(const std::string& file) {
    std::ifstream text(dir.at(file));
    return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(text), {}, '\n'));
  }
};

}  // namespace

TEST_CASE("a device is listed with the result of its first check") {
  Checked entry("[ $2 != b ] || { echo too hot; exit 1; }");
  const auto two = devices({"a", "b"});
  entry.follow(two);
  CHECK(entry.list(two).empty());
  CHECK(entry.checks.waits_until(kResource) > Clock::now() + 30s);
  REQUIRE(entry.becomes("a b(too hot)", two));
  CHECK(entry.checks.waits_until(kResource) == Clock::time_point::max());
  CHECK(entry.verdicts == 2);
}

TEST_CASE("a device that is listed as Healthy stays Healthy until its first check") {
  Checked entry("sleep 1000");
  const auto two = devices({"a", "b"});
  entry.follow(two);
  CHECK(entry.list(two, devices({"b", "c"})) == "b");
}

TEST_CASE("a device's own fault is listed at once, and stays whatever the check reports") {
  Checked entry("echo too hot; exit 1");
  std::vector<Device> sick{{.id = "a", .error = "no driver"}};
  entry.follow(sick);
  CHECK(entry.list(sick) == "a(no driver)");
  REQUIRE(test::run_until(entry.loop, [&] { return entry.verdicts == 1; }));
  CHECK(entry.list(sick) == "a(no driver)");
}

TEST_CASE("a check is repeated, and the device's health changes with the check's result") {
  // The file is replaced atomically, so that a check reads either the old or the new text.
  Checked entry("text=$(cat $1/hot 2>/dev/null) || exit 0; echo $text; exit 1");
  const auto heat = [&](const char* text) {
    entry.dir.file("new", text);
    std::filesystem::rename(entry.dir.at("new"), entry.dir.at("hot"));
  };
  const auto one = devices({"a"});
  entry.follow(one);
  REQUIRE(entry.becomes("a", one));
  heat("90 degrees\n");
  REQUIRE(entry.becomes("a(90 degrees)", one));
  heat("95 degrees\n");
  REQUIRE(entry.becomes("a(95 degrees)", one));
  entry.dir.remove("hot");
  REQUIRE(entry.becomes("a", one));
  CHECK(entry.verdicts == 4);
}

TEST_CASE("at most four programs run at once, and every device is checked") {
  Checked entry(test::kWaiting);
  entry.spec.health->interval = 1h;
  std::vector<Device> many(40);
  for (std::size_t i = 0; i < many.size(); ++i) many[i].id = std::to_string(100 + i);
  entry.follow(many);
  CHECK(test::only_run(entry.loop, entry.dir, 4));
  test::let_go(entry.dir);
  CHECK(test::run_until(entry.loop, [&] { return entry.verdicts == 40; }));
  CHECK(test::begun(entry.dir) == 40);
}

TEST_CASE("a waiting check starts when a running check has ended") {
  Checked entry("[ $2 = well ] || exec sleep 1000", 1s);
  entry.spec.health->interval = 1h;
  SUBCASE("the running checks time out") {
    const auto devices_now = devices({"a", "b", "c", "d", "e", "well"});
    entry.follow(devices_now);
    CHECK(test::run_until(entry.loop, [&] { return entry.verdicts == 6; }));
    CHECK(entry.list(devices_now).ends_with(" well"));
  }
  SUBCASE("the running checks' devices are gone") {
    entry.spec.health->timeout = 1h;
    entry.follow(devices({"a", "b", "c", "d"}));
    test::run_until(
        entry.loop, [&] { return entry.verdicts > 0; }, 300ms);
    entry.follow(devices({"well"}));
    CHECK(entry.becomes("well", devices({"well"})));
  }
}

TEST_CASE("a check that takes too long is killed, and the next one may report the device as healthy") {
  Checked entry("[ ! -e $1/hang ] || sleep 1000", 300ms);
  const auto one = devices({"a"});
  entry.dir.file("hang");
  entry.follow(one);
  REQUIRE(entry.becomes("a(the health check was killed after 300 ms)", one));
  entry.dir.remove("hang");
  REQUIRE(entry.becomes("a", one));
}

TEST_CASE("a device whose first check times out is never listed as Healthy") {
  Checked entry("sleep 1000", 100ms);
  const auto one = devices({"a"});
  entry.follow(one);
  REQUIRE(test::run_until(entry.loop, [&] { return !entry.list(one).empty(); }));
  CHECK(entry.list(one).starts_with("a("));
}

TEST_CASE("a fifth device waits while four first checks run until their timeout, and is checked then") {
  // The checks of a to d occupy all four slots until the timeout.
  Checked entry("[ $2 = e ] || exec sleep 1000", 300ms);
  const auto five = devices({"a", "b", "c", "d", "e"});
  const auto begun = Clock::now();
  entry.checks.follow(entry.spec, {{kResource, five}});
  CHECK(entry.checks.waits_until(kResource) >= begun + 500ms);
  REQUIRE(
      entry.becomes("a(the health check was killed after 300 ms) b(the health check was killed after "
                    "300 ms) c(the health check was killed after 300 ms) d(the health check was killed "
                    "after 300 ms) e",
                    five));
}

TEST_CASE(
    "however many first checks time out, no device is listed as Healthy, and each check has its full time") {
  Checked entry("exec sleep 1000", 100ms);
  entry.spec.health->interval = 1h;
  std::vector<Device> many(20);
  for (std::size_t i = 0; i < many.size(); ++i) many[i].id = std::to_string(100 + i);
  entry.follow(many);
  bool other_words = false;
  bool some_listed = false;
  test::run_until(entry.loop, [&] {
    std::vector<Device> listed = many;
    entry.checks.apply(kResource, {}, listed);
    for (const Device& device : listed)
      other_words = other_words || device.error != "the health check was killed after 100 ms";
    const bool waits = entry.checks.waits_until(kResource) != Clock::time_point::max();
    some_listed = some_listed || (!waits && !listed.empty() && listed.size() < many.size());
    return entry.verdicts == 20;
  });
  CHECK_FALSE(other_words);
  CHECK(entry.verdicts == 20);
  CHECK(some_listed);  // the resource does not wait for all devices
}

TEST_CASE("a device whose check waits long for its turn is not listed as Unhealthy") {
  Checked entry(test::kWaiting, 50ms);
  std::vector<Device> eight(8);
  for (std::size_t i = 0; i < eight.size(); ++i) eight[i].id = std::to_string(i);
  entry.follow(eight);
  entry.spec.health->timeout = 1h;  // the first four checks take long
  entry.follow(eight);
  REQUIRE(test::only_run(entry.loop, entry.dir, 4));
  REQUIRE(test::run_until(entry.loop,
                          [&] { return entry.checks.waits_until(kResource) == Clock::time_point::max(); }));
  CHECK(entry.list(eight).empty());
  test::let_go(entry.dir);
  CHECK(entry.becomes("0 1 2 3 4 5 6 7", eight));
}

TEST_CASE("a device whose check cannot start when its turn comes late is not listed as Unhealthy at once") {
  Checked entry(test::kWaiting, 50ms);
  const auto five = devices({"a", "b", "c", "d", "e"});
  entry.follow(five);
  entry.spec.health->timeout = 1h;
  entry.spec.health->interval = 10h;
  entry.follow(five);
  REQUIRE(test::only_run(entry.loop, entry.dir, 4));
  const auto waits = [&] { return entry.checks.waits_until(kResource) != Clock::time_point::max(); };
  REQUIRE(test::run_until(entry.loop, [&] { return !waits(); }));
  test::let_go(entry.dir);
  {
    const test::NoDescriptors none;
    REQUIRE(test::run_until(entry.loop, [&] { return entry.verdicts == 5; }));
  }
  CHECK(entry.list(five).size() == 7);  // four devices, without the last
  CHECK(entry.list(five).find('(') == std::string::npos);
  CHECK(waits());
  test::pass(entry.loop, 2h);
  CHECK(entry.list(five).find("(the health check cannot be started") != std::string::npos);
}

TEST_CASE("a check that cannot start leaves the former verdict, and one line is logged") {
  Checked entry("[ $2 != sick ] || { echo too hot; exit 1; }");
  entry.spec.health->interval = 1h;
  const auto two = devices({"sick", "well"});
  entry.follow(two);
  REQUIRE(entry.becomes("sick(too hot) well", two));
  const auto three = devices({"new", "sick", "well"});
  {
    const test::NoDescriptors none;
    entry.use("exit 0");
    entry.spec.health->timeout = 100ms;  // limit for a new device
    entry.follow(three);
    CHECK(entry.becomes("new(the health check cannot be started: Too many open files) sick(too hot) well",
                        three));
    CHECK(entry.list(three, devices({"new"})) == "new sick(too hot) well");
    CHECK(entry.log.errors().count() == 1);
  }
  entry.use("exit  0");
  entry.follow(three);
  CHECK(entry.becomes("new sick well", three));
}

TEST_CASE("a device whose check cannot start is Unhealthy, with the system's error") {
  Checked entry("");
  entry.spec.health->command = {Template("/nonexistent/check")};
  const auto one = devices({"a"});
  entry.follow(one);
  CHECK(entry.becomes("a(the health check cannot be started: No such file or directory)", one));
}

TEST_CASE("a device that lacks an attribute of the command is Unhealthy at once") {
  Checked entry("");
  entry.spec.health->command = {Template("/bin/true"), Template("{serial}")};
  const auto one = devices({"a"});
  entry.follow(one);
  CHECK(entry.list(one) == "a(its health cannot be checked: it has no {serial})");
}

TEST_CASE("a changed check command runs at once, and the former verdict stays until the check has ended") {
  Checked entry("echo too hot; exit 1");
  entry.spec.health->interval = 1h;
  const auto one = devices({"a"});
  entry.follow(one);
  REQUIRE(entry.becomes("a(too hot)", one));
  entry.use("exit 0");
  entry.follow(one);
  CHECK(entry.list(one) == "a(too hot)");
  CHECK(entry.becomes("a", one));
}

TEST_CASE("a device that is no longer followed is not checked, and its program is killed") {
  Checked entry("echo $$ > $1/pid-$2; exec sleep 1000");
  const auto one = devices({"a"});
  entry.follow(one);
  REQUIRE(test::run_until(entry.loop, [&] { return entry.lines("pid-a") == 1; }));
  pid_t pid = 0;
  std::ifstream(entry.dir.at("pid-a")) >> pid;
  SUBCASE("the device is gone") { entry.follow({}); }
  SUBCASE("the resource is gone") { entry.checks.follow(entry.spec, {}); }
  SUBCASE("the entry has no checks now") {
    entry.spec.health.reset();
    entry.follow(one);
  }
  CHECK(test::run_until(entry.loop, [&] { return ::kill(pid, 0) != 0; }));
  CHECK(entry.list(one) == "a");
}

TEST_CASE("a device is checked by its own entry's program, or not at all if the entry has no program") {
  Checked first("exit 0"), second("echo too hot; exit 1");
  const auto none = std::make_shared<const AllocationSpec>();
  const std::vector<Device> scanned{{.id = "a", .terms = std::make_shared<const AllocationSpec>(first.spec)},
                                    {.id = "b", .terms = std::make_shared<const AllocationSpec>(second.spec)},
                                    {.id = "c", .terms = none}};
  first.follow(scanned);
  CHECK(first.list(scanned) == "c");
  CHECK(test::run_until(first.loop, [&] {
    const std::string list = first.list(scanned);
    return list.starts_with("a b(") && list.find("too hot") != std::string::npos && list.ends_with(" c");
  }));
}
