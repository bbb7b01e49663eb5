#include "supervisor/health_checks.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

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

// An entry whose devices are checked by a script of the shell. In it $1 is the test's directory, and $2 the
// device's id.
struct Checked {
  test::TempDir dir;
  EventLoop loop;
  int verdicts = 0;
  HealthChecks checks{loop, [this] { ++verdicts; }};
  Recipe recipe;

  explicit Checked(const std::string& script, std::chrono::milliseconds timeout = 1min) {
    recipe.health = HealthRecipe{.interval = 10ms, .timeout = timeout};
    use(script);
  }
  void use(const std::string& script) {
    recipe.health->command.clear();
    for (const std::string& word : {std::string("/bin/sh"), std::string("-c"), Template::escape(script),
                                    std::string("sh"), dir.path().string(), std::string("{id}")})
      recipe.health->command.emplace_back(word);
  }
  void follow(const std::vector<Device>& now) { checks.follow(recipe, {{kResource, now}}); }
  // "a b(too hot)": what is listed of these devices.
  std::string list(std::vector<Device> scanned, const std::vector<Device>& listed = {}) {
    checks.apply(kResource, listed, scanned);
    std::string text;
    for (const Device& device : scanned)
      text += (text.empty() ? "" : " ") + device.id + (device.healthy() ? "" : '(' + device.trouble + ')');
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

TEST_CASE("a device is listed once its first check has ended, as that says") {
  Checked entry("[ $2 != b ] || { echo too hot; exit 1; }");
  const auto two = devices({"a", "b"});
  entry.follow(two);
  CHECK(entry.list(two).empty());
  CHECK(entry.checks.waits_until(kResource) > Clock::now() + 30s);
  REQUIRE(entry.becomes("a b(too hot)", two));
  CHECK(entry.checks.waits_until(kResource) == Clock::time_point::max());
  CHECK(entry.verdicts == 2);
}

TEST_CASE("a device that is listed as Healthy is not taken away for its first check") {
  Checked entry("sleep 1000");
  const auto two = devices({"a", "b"});
  entry.follow(two);
  CHECK(entry.list(two, devices({"b", "c"})) == "b");
}

TEST_CASE("a trouble of its own is listed at once, and stays whatever the check says") {
  Checked entry("echo too hot; exit 1");
  std::vector<Device> sick{{.id = "a", .trouble = "no driver"}};
  entry.follow(sick);
  CHECK(entry.list(sick) == "a(no driver)");
  REQUIRE(test::run_until(entry.loop, [&] { return entry.verdicts == 1; }));
  CHECK(entry.list(sick) == "a(no driver)");
}

TEST_CASE("checks go on, and their verdict changes") {
  // A check sees the file as it was or as it is.
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
  // Each leaves a mark while it runs, and notes how many marks there are.
  Checked entry("touch $1/run-$2; ls $1 | grep -c run- >> $1/counts; rm $1/run-$2");
  entry.recipe.health->interval = 1min;
  std::vector<Device> many(40);
  for (std::size_t i = 0; i < many.size(); ++i) many[i].id = std::to_string(100 + i);
  entry.follow(many);
  REQUIRE(test::run_until(entry.loop, [&] { return entry.verdicts == 40; }));
  std::ifstream counts(entry.dir.at("counts"));
  std::size_t lines = 0;
  for (int count = 0; counts >> count; ++lines) CHECK(count <= 4);
  CHECK(lines == 40);
}

TEST_CASE("a check that takes too long is killed, and the next one may say that the device is well") {
  Checked entry("[ ! -e $1/hang ] || sleep 1000", 300ms);
  const auto one = devices({"a"});
  entry.dir.file("hang");
  entry.follow(one);
  REQUIRE(entry.becomes("a(the health check was killed after 300 ms)", one));
  entry.dir.remove("hang");
  REQUIRE(entry.becomes("a", one));
}

TEST_CASE("a device whose first check hangs is never listed as Healthy") {
  Checked entry("sleep 1000", 100ms);
  const auto one = devices({"a"});
  entry.follow(one);
  REQUIRE(test::run_until(entry.loop, [&] { return !entry.list(one).empty(); }));
  CHECK(entry.list(one).starts_with("a("));
}

TEST_CASE("a device waits for its first check no longer than a check may take, and is Healthy then") {
  // Four of them take all places until the time-out.
  Checked entry("sleep 1000", 300ms);
  const auto five = devices({"a", "b", "c", "d", "e"});
  entry.follow(five);
  REQUIRE(test::run_until(entry.loop,
                          [&] { return entry.checks.waits_until(kResource) == Clock::time_point::max(); }));
  CHECK(entry.list(five).ends_with(" e"));
}

TEST_CASE("a program that cannot be started is the reason") {
  Checked entry("");
  entry.recipe.health->command = {Template("/nonexistent/check")};
  const auto one = devices({"a"});
  entry.follow(one);
  CHECK(entry.becomes("a(the health check cannot be started: No such file or directory)", one));
}

TEST_CASE("a device without a value that the command names is Unhealthy at once") {
  Checked entry("");
  entry.recipe.health->command = {Template("/bin/true"), Template("{serial}")};
  const auto one = devices({"a"});
  entry.follow(one);
  CHECK(entry.list(one) == "a(its health cannot be checked: it has no {serial})");
}

TEST_CASE("another command is tried at once, and until then the former one's verdict stands") {
  Checked entry("echo too hot; exit 1");
  entry.recipe.health->interval = 1h;
  const auto one = devices({"a"});
  entry.follow(one);
  REQUIRE(entry.becomes("a(too hot)", one));
  entry.use("exit 0");
  entry.follow(one);
  CHECK(entry.list(one) == "a(too hot)");
  CHECK(entry.becomes("a", one));
}

TEST_CASE("what is not followed any more is not checked, and its program is killed") {
  Checked entry("echo $$ > $1/pid-$2; exec sleep 1000");
  const auto one = devices({"a"});
  entry.follow(one);
  REQUIRE(test::run_until(entry.loop, [&] { return entry.lines("pid-a") == 1; }));
  pid_t pid = 0;
  std::ifstream(entry.dir.at("pid-a")) >> pid;
  SUBCASE("the device is gone") {
    entry.follow({});
  }
  SUBCASE("the resource is gone") {
    entry.checks.follow(entry.recipe, {});
  }
  SUBCASE("the entry has no checks now") {
    entry.recipe.health.reset();
    entry.follow(one);
  }
  CHECK_FALSE(std::filesystem::exists("/proc/" + std::to_string(pid)));
  CHECK(entry.list(one) == "a");
}
