#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "host/programs/programs.hpp"
#include "integration/eventually.hpp"
#include "unit/kinds/entry.hpp"
#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

using Members = std::vector<std::pair<std::string, Node>>;

// An entry whose `discover` program is a shell script. In the script, $1 is the test's directory.
struct Listed {
  TempDir dir;
  EventLoop loop;
  Programs programs{loop};
  Entry entry;
  unsigned hints = 0;

  explicit Listed(const std::string& script, Members more = {}) {
    more.emplace_back(
        "discover", list({text("/bin/sh"), text("-c"), text(script), text("sh"), text(dir.path().string())}));
    entry = read_entry("exec", map(std::move(more)));
    REQUIRE(entry.problems.empty());
  }
  std::unique_ptr<SourceWatch> watch() {
    return entry.source->watch(programs, [this] { ++hints; });
  }
  Scan scan() const { return entry.source->scan(HostRoot(dir.path())); }
  std::string error() const {
    try {
      scan();
    } catch (const std::exception& exception) {
      return exception.what();
    }
    return "it was taken";
  }
};

std::vector<std::string> problems(Members members) {
  return read_entry("exec", map(std::move(members))).problems;
}

}  // namespace

TEST_CASE("exec: the devices are read from the program's standard output only") {
  const Listed disks(R"(echo looking >&2; echo '{"devices": [{"id": "sdb"}, {"id": "sda"}]}')");
  CHECK(ids_of(disks.scan()) == std::vector<std::string>{"sdb", "sda"});
}

TEST_CASE("exec: a scan is repeated after the interval, and at events of the entry's triggers") {
  const std::string script = R"(echo '{"devices": []}')";
  CHECK(Listed(script).scan().rescan_after == 30s);
  const Listed disks(script,
                     {{"interval", text("2m")},
                      {"triggers", map({{"subsystems", list({text("block"), text("nvme")})},
                                        {"paths", list({text("/etc/disks/"), text("/run/disks.list")})}})}});
  std::filesystem::create_directories(disks.dir.at("etc/disks"));
  const Scan scan = disks.scan();
  CHECK(scan.rescan_after == 2min);
  CHECK(scan.subsystems == std::vector<std::string>{"block", "nvme"});
  CHECK(scan.watch == std::vector<WatchedDirectory>{{.path = "/etc", .name = "disks"},
                                                    {.path = "/etc/disks"},
                                                    {.path = "/run", .name = "disks.list"}});
}

TEST_CASE("exec: a failure is reported with the last line of standard error") {
  CHECK(Listed("echo one >&2; echo no controller >&2; exit 3").error() ==
        "the program exited with 3: no controller");
  CHECK(Listed("kill -SEGV $$").error() == "the program was ended by signal 11");
  CHECK(Listed("echo waiting for the bus >&2; exec sleep 1000", {{"timeout", text("200ms")}}).error() ==
        "the program was killed after 200 ms: waiting for the bus");
  CHECK(Listed("exec yes").error() == "the program was killed: it printed more than 4 MiB");
  CHECK(Listed("echo garbage; echo a warning >&2")
            .error()
            .starts_with("what the program printed cannot be used: the document: it is not JSON: "));
  CHECK(Listed("echo garbage; echo a warning >&2").error().ends_with(": a warning"));
  CHECK(Listed(R"(printf '{"devices": [{"id": "sd')")
            .error()
            .starts_with("what the program printed cannot be used: the document: it is not JSON: "));
  const Entry missing = read_entry("exec", map({{"discover", text("/nonexistent/list")}}));
  CHECK_THROWS_WITH(missing.source->scan(HostRoot()),
                    "the program /nonexistent/list cannot be started: No such file or directory");
}

TEST_CASE("exec: a single text with a blank is a path, with a warning that arguments need a list") {
  const auto problems = [](Node command) {
    return read_entry("exec", map({{"discover", std::move(command)}})).problems;
  };
  CHECK(problems(text("/opt/list.sh all")) ==
        std::vector<std::string>{"resources[0].exec.discover: this is the path of one program, blanks "
                                 "included; if it has arguments, "
                                 "write a list, as in discover: [/opt/list.sh, all]"});
  CHECK(problems(text("/opt/list.sh")).empty());
  CHECK(problems(list({text("/opt/my list.sh")})).empty());
}

TEST_CASE("exec: an option or a second path within the program's text is refused with the list to write") {
  for (Node command : {text("/opt/list.sh --foo"), list({text("/opt/list.sh --foo")})}) {
    CHECK(read_entry("exec", map({{"discover", std::move(command)}})).problems ==
          std::vector<std::string>{"resources[0].exec.discover: a program and its arguments are separate "
                                   "words: write a list, as in discover: [/opt/list.sh, \"--foo\"]"});
  }
  CHECK(read_entry("exec", map({{"discover", list({text("/opt/list.sh"), text("/a /b -c")})}}))
            .problems.empty());
}

TEST_CASE("exec: children that a program leaves behind are killed, and not waited for") {
  const Listed disks(R"(sleep 1000 & echo $! > $1/pid; echo '{"devices": []}')");
  CHECK(disks.scan().devices.empty());
  std::string pid;
  std::ifstream(disks.dir.at("pid")) >> pid;
  REQUIRE_FALSE(pid.empty());
  // The child was killed, but its new parent process may not have reaped it yet.
  CHECK(eventually([&] {
    std::ifstream stat("/proc/" + pid + "/stat");
    std::string line;
    std::getline(stat, line);
    return line.empty() || line.find(") Z ") != std::string::npos || line.find(") X ") != std::string::npos;
  }));
}

TEST_CASE("exec: the program runs once before each scan, without blocking the loop") {
  Listed disks(R"(echo >> $1/runs; echo '{"devices": [{"id": "sda"}]}')");
  const auto watch = disks.watch();
  CHECK(disks.scan().undecided);
  for (int run = 1; run <= 3; ++run) {
    bool ready = false;
    watch->before_scan([&] { ready = true; });
    CHECK_FALSE(ready);
    REQUIRE(run_until(disks.loop, [&] { return ready; }));
    CHECK(ids_of(disks.scan()) == std::vector<std::string>{"sda"});
    CHECK(disks.scan().devices.size() == 1);  // repeats the scan with the same output
    CHECK(std::filesystem::file_size(disks.dir.at("runs")) == static_cast<std::uintmax_t>(run));
  }
  CHECK(disks.hints == 0);
}

TEST_CASE("exec: the output after a failure is the list again") {
  Listed disks(R"([ -e $1/well ] || exit 3; echo '{"devices": [{"id": "sda"}]}')");
  const auto watch = disks.watch();
  const auto run = [&] {
    bool ready = false;
    watch->before_scan([&] { ready = true; });
    REQUIRE(run_until(disks.loop, [&] { return ready; }));
  };
  run();
  CHECK_THROWS_WITH(disks.scan(), "the program exited with 3");
  disks.dir.file("well");
  run();
  CHECK(ids_of(disks.scan()) == std::vector<std::string>{"sda"});
  disks.dir.remove("well");
  run();
  CHECK_THROWS_WITH(disks.scan(), "the program exited with 3");
}

TEST_CASE("exec: a program whose scan is no longer wanted is killed, and nothing is reported") {
  Listed disks("echo $$ > $1/new; mv $1/new $1/pid; exec sleep 1000", {{"timeout", text("1m")}});
  auto watch = disks.watch();
  bool ready = false;
  watch->before_scan([&] { ready = true; });
  REQUIRE(run_until(disks.loop, [&] { return std::filesystem::exists(disks.dir.at("pid")); }));
  pid_t pid = 0;
  std::ifstream(disks.dir.at("pid")) >> pid;
  watch.reset();
  CHECK(run_until(disks.loop, [&] { return ::kill(pid, 0) != 0; }));
  CHECK_FALSE(ready);
}

TEST_CASE("exec: a name of a million letters can be a placeholder, and one with a comma in it cannot") {
  const std::string letters(1'000'000, 'a');
  CHECK(problems({{"discover", text("/bin/list")}, {"attributes", text(letters)}}).empty());
  CHECK(problems({{"discover", text("/bin/list")}, {"attributes", text(letters + ',')}}).size() == 1);
}

TEST_CASE("exec: a program runs as the user of the entry") {
  if (::geteuid() != 0) return;  // changing the user needs root
  const std::string script = R"sh(printf '{"devices": [{"id": "%s"}]}' "$(id -un)-$(id -gn)")sh";
  CHECK(ids_of(Listed(script, {{"user", text("daemon")}}).scan()) ==
        std::vector<std::string>{"daemon-daemon"});
  const std::string error = Listed(script, {{"user", text("nobody-of-this-name")}}).error();
  CHECK(error.starts_with("the program exited with 125: "));
  CHECK(error.ends_with("chroot: invalid user"));
}

TEST_CASE("exec: errors of an entry are reported") {
  CHECK(problems({}) ==
        std::vector<std::string>{"resources[0].exec.discover: must be a program and its arguments, as in "
                                 "discover: [/usr/lib/superdisk/list]"});
  const auto with = [](const std::string& key, Node value) {
    return problems({{"discover", text("/bin/list")}, {key, std::move(value)}});
  };
  CHECK(with("interval", text("500ms")).at(0) == "resources[0].exec.interval: the range is from 1s to 1d");
  CHECK(with("interval", text("1500ms")).at(0) ==
        "resources[0].exec.interval: must be whole seconds, as in 90s");
  CHECK(with("timeout", text("2m")).at(0) == "resources[0].exec.timeout: the range is from 100ms to 1m");
  CHECK(with("attributes", list({text("serial"), text("a-b")})).at(0) ==
        "resources[0].exec.attributes: 'a-b' cannot be a placeholder: letters, digits and _ make one");
  CHECK(with("attributes", text("id")).at(0) == "resources[0].exec.attributes: {id} has a meaning already");
  CHECK(with("triggers", map({{"paths", text("etc")}})).size() == 1);
  CHECK(with("triggers", map({{"subsystems", text("/sys")}})).size() == 1);
  CHECK(problems({{"discover", text("list")}})
            .at(0)
            .starts_with("resources[0].exec.discover: the program: must be an absolute path"));
}
