#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "host/programs/programs.hpp"
#include "unit/kinds/entry.hpp"
#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

// An entry whose `watch` program is a shell script that prints lists line by line. In the script, $1 is the
// test's directory.
struct Watched {
  TempDir dir;
  EventLoop loop;
  Programs programs{loop};
  Entry entry;
  unsigned hints = 0;
  std::unique_ptr<SourceWatch> watch;

  explicit Watched(const std::string& script, std::vector<std::pair<std::string, Node>> more = {}) {
    more.emplace_back(
        "watch", list({text("/bin/sh"), text("-c"), text(script), text("sh"), text(dir.path().string())}));
    entry = read_entry("exec", map(std::move(more)));
    REQUIRE(entry.problems.empty());
  }
  void begin() {
    watch = entry.source->watch(programs, [this] { ++hints; });
    CHECK(hints == 0);
  }
  // Waits for at least one new hint, then scans.
  Scan next() {
    REQUIRE(run_until(loop, [&] { return hints > seen_; }));
    seen_ = hints;
    return scan();
  }
  Scan scan() const { return entry.source->scan(HostRoot(dir.path())); }
  // Waits until a scan satisfies the condition.
  template <typename Condition>
  bool until(Condition condition) {
    return run_until(loop, [&] { return condition(scan()); });
  }
  std::string content(const std::string& file) const {
    std::ifstream text(dir.at(file));
    return {std::istreambuf_iterator<char>(text), {}};
  }
  // Waits until the only device is Unhealthy, and returns the reason.
  std::string error() {
    begin();
    std::string why;
    REQUIRE(until([&](const Scan& found) {
      if (!found.undecided) why = found.devices.at(0).error;
      return !why.empty();
    }));
    return why;
  }

 private:
  unsigned seen_ = 0;
};

const std::string kOne = R"(echo '{"devices": [{"id": "a"}]}'; )";
// Shell commands that wait until the test creates the file `go`.
const std::string kWait = "while [ ! -e $1/go ]; do sleep 0.01; done; ";

bool runs(const std::string& pid) {
  std::ifstream stat("/proc/" + pid.substr(0, pid.find('\n')) + "/stat");
  std::string line;
  std::getline(stat, line);
  return !line.empty() && line.find(") Z ") == std::string::npos;
}

std::vector<std::string> problems_of(std::vector<std::pair<std::string, Node>> members) {
  return read_entry("exec", map(std::move(members))).problems;
}

}  // namespace

TEST_CASE("exec: each line of a `watch` program is the new list, and causes a scan") {
  Watched disks(kOne + kWait + R"(echo '{"devices": [{"id": "b"}, {"id": "c"}]}'; exec sleep 1000)");
  disks.begin();
  CHECK(disks.scan().undecided);
  CHECK(ids_of(disks.next()) == std::vector<std::string>{"a"});
  disks.dir.file("go");
  CHECK(ids_of(disks.next()) == std::vector<std::string>{"b", "c"});
  CHECK(disks.scan().remarks.empty());
}

TEST_CASE(
    "exec: when a `watch` program ends, its devices become Unhealthy, and the program is started again") {
  Watched disks("echo >> $1/starts; " + kOne +
                "[ $(wc -l < $1/starts) = 1 ] || exec sleep 1000; echo the bus is gone >&2; exit 3");
  CHECK(disks.error() == "the program exited with 3: the bus is gone");
  CHECK(disks.scan().remarks == std::vector<std::string>{"the program exited with 3: the bus is gone"});
  const auto healthy = [](const Scan& found) { return found.devices.at(0).healthy(); };
  CHECK(disks.until(healthy));
  CHECK(disks.content("starts") == "\n\n");
}

TEST_CASE("exec: the reason says how a `watch` program ended") {
  CHECK(Watched(kOne + "exit 0").error() == "the program, which was to stay, has ended");
  CHECK(Watched(kOne + "kill -9 $$").error() == "the program was ended by signal 9");
  CHECK(Watched(kOne + "printf '{\"devices\": [{\"id\"'; exit 1").error() ==
        "the program exited with 1 (in the middle of a line)");
  CHECK(Watched(kOne + "head -c 5000000 /dev/zero | tr '\\0' a; exec sleep 1000").error() ==
        "the program was killed: it printed more than 4 MiB");
}

TEST_CASE("exec: a program that is silent for too long is killed") {
  Watched disks(kOne + "echo asking the controller >&2; echo $$ > $1/pid; exec sleep 1000",
                {{"timeout", text("300ms")}});
  CHECK(disks.error() == "the program was killed: it printed nothing for 300 ms: asking the controller");
  const std::string pid = disks.content("pid");
  CHECK(run_until(disks.loop, [&] { return !runs(pid); }));
}

TEST_CASE("exec: an empty line restarts a `watch` program's timeout, and does not change the list") {
  Watched disks(
      kOne + "for i in 1 2 3 4 5 6 7 8 9 10; do echo; sleep 0.1; done; touch $1/end; exec sleep 1000",
      {{"timeout", text("800ms")}});
  disks.begin();
  CHECK(run_until(disks.loop, [&] { return std::filesystem::exists(disks.dir.at("end")); }));
  CHECK(disks.scan().devices.at(0).healthy());
  CHECK(disks.hints == 1);
}

TEST_CASE("exec: a line that is invalid leaves the former list until the next line") {
  Watched disks(kOne + kWait + R"(echo a warning >&2; echo garbage; rm $1/go; )" + kWait +
                R"(echo '{"devices": [{"id": "b"}]}'; exec sleep 1000)");
  disks.begin();
  CHECK(ids_of(disks.next()) == std::vector<std::string>{"a"});
  disks.dir.file("go");
  std::string error;
  REQUIRE(run_until(disks.loop, [&] { return disks.hints == 2; }));
  try {
    disks.scan();
  } catch (const std::exception& exception) {
    error = exception.what();
  }
  CHECK(error.starts_with("what the program printed cannot be used: the document: it is not JSON: "));
  CHECK(error.ends_with(": a warning"));
  REQUIRE(run_until(disks.loop, [&] { return !std::filesystem::exists(disks.dir.at("go")); }));
  disks.dir.file("go");
  REQUIRE(run_until(disks.loop, [&] { return disks.hints == 3; }));
  CHECK(ids_of(disks.scan()) == std::vector<std::string>{"b"});
}

TEST_CASE("exec: a program that ends after an invalid line makes the former devices Unhealthy") {
  Watched disks(kOne + kWait + "echo garbage; exit 2");
  disks.begin();
  CHECK(ids_of(disks.next()) == std::vector<std::string>{"a"});
  disks.dir.file("go");
  REQUIRE(run_until(disks.loop, [&] { return disks.hints == 3; }));
  CHECK(disks.scan().devices.at(0).error == "the program exited with 2");
}

TEST_CASE("exec: a program that floods its output blocks neither the loop nor its newest line") {
  Watched disks(R"(yes '{"devices": [{"id": "old"}]}' | head -n 300000; )"
                R"(echo '{"devices": [{"id": "new"}]}'; exec sleep 1000)");
  disks.begin();
  auto last = EventLoop::Clock::now();
  auto longest = EventLoop::Clock::duration::zero();
  Timer tick(disks.loop, [&] {
    longest = std::max(longest, EventLoop::Clock::now() - last);
    last = EventLoop::Clock::now();
    tick.arm(1ms);
  });
  tick.arm(1ms);
  CHECK(run_until(
      disks.loop,
      [&] {
        const Scan found = disks.scan();
        return !found.undecided && ids_of(found) == std::vector<std::string>{"new"};
      },
      60s));
  CHECK(longest < 1s);
}

TEST_CASE("exec: a program that ends at once is not started again at once") {
  Watched disks("echo >> $1/starts; exit 1");
  const auto begun = EventLoop::Clock::now();
  disks.begin();
  REQUIRE(run_until(disks.loop, [&] { return disks.content("starts").size() == 2; }));
  CHECK(EventLoop::Clock::now() - begun >= 1s);
  CHECK_THROWS_WITH(disks.scan(), "the program exited with 1");
}

TEST_CASE("exec: a `watch` program and its children end together") {
  Watched disks("sleep 1000 & echo $! > $1/child; echo $$ > $1/pid; " + kOne + kWait + "exit 1");
  disks.begin();
  disks.next();
  const std::string child = disks.content("child");
  SUBCASE("when the program ends") {
    disks.dir.file("go");
    disks.next();
    CHECK(run_until(disks.loop, [&] { return !runs(child); }));
  }
  SUBCASE("when the watch ends") {
    disks.watch.reset();
    const std::string pid = disks.content("pid");
    CHECK(run_until(disks.loop, [&] { return !runs(pid) && !runs(child); }));
  }
}

TEST_CASE("exec: in a scan without a watch, a `watch` program runs until its first line") {
  const Watched disks("echo $$ > $1/pid; " + kOne + "exec sleep 1000");
  CHECK(ids_of(disks.scan()) == std::vector<std::string>{"a"});
  CHECK_FALSE(runs(disks.content("pid")));
  CHECK_THROWS_WITH(Watched("echo no bus >&2; exit 4").scan(), "the program exited with 4: no bus");
}

TEST_CASE("exec: an entry has either `discover` or `watch`, and only the keys that belong to it") {
  const Node program = text("/bin/list");
  CHECK(
      problems_of({{"watch", program}, {"discover", program}}) ==
      std::vector<std::string>{"resources[0].exec.watch: the entry has 'discover' already; one program lists "
                               "the devices: it is run again and again, or it stays"});
  CHECK(problems_of({{"watch", program}, {"interval", text("10s")}}).at(0) ==
        "resources[0].exec.interval: this belongs to discover: a watch program decides itself when to print");
  CHECK(problems_of({{"watch", program}, {"timeout", text("2d")}}).at(0) ==
        "resources[0].exec.timeout: the range is from 100ms to 1d");
  CHECK(problems_of({{"watch", text("list")}})
            .at(0)
            .starts_with("resources[0].exec.watch: the program: must be an absolute path"));
}
