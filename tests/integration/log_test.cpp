// Checks that the daemon never waits for the log, whether the log is read or not.

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "integration/node.hpp"
#include "integration/resource_names.hpp"
#include "not_shown.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

// A full named pipe, on which a write blocks.
class FullPipe {
 public:
  explicit FullPipe(const std::string& path) {
    check(::mkfifo(path.c_str(), 0600), "mkfifo");
    fd_ = UniqueFd(check(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC), "open"));
    while (::write(fd_.get(), "#", 1) > 0) {
    }
  }
  // Empties the pipe, and returns its content without the first filling.
  std::string empty() const {
    std::string text;
    char bytes[4096];
    for (ssize_t got = 0; (got = ::read(fd_.get(), bytes, sizeof bytes)) > 0;)
      text.append(bytes, static_cast<std::size_t>(got));
    return text.substr(std::min(text.find_first_not_of('#'), text.size()));
  }

 private:
  UniqueFd fd_;
};

std::vector<std::string> with_standard_error(const std::string& path) {
  return {"sh", "-c", "exec \"$@\" 2>'" + path + "'", "sh"};
}

}  // namespace

TEST_CASE("a full standard error delays no list, no kubelet restart and no command") {
  Node node;
  const FullPipe pipe(node.path("log"));
  node.files().file("gophers/one");
  node.configure(listed(kGopher, node.path("gophers")));
  node.start_kubelet();
  node.start_daemon({}, with_standard_error(node.path("log")));
  REQUIRE(node.attached({kGopher}));
  node.files().file("gophers/two");
  CHECK(node.healthy(kGopher, "two", limit(1s)));
  node.kubelet().restart();
  CHECK(node.attached({kGopher}, limit(2s)));
  CHECK(run_plughost({"status", "--control", node.control()}).exit_code == 0);
  CHECK(run_plughost({"reload", "--control", node.control()}).exit_code == 0);

  SUBCASE("standard error is read at last") {
    std::string text;
    CHECK(eventually([&] {
      text += pipe.empty();
      return text.find("configuration reloaded") != std::string::npos;
    }));
    CHECK(text.find("attached resource=" + kGopher) != std::string::npos);
  }
  SUBCASE("standard error is never read") {}
  node.daemon().signal(SIGTERM);
  CHECK(node.daemon().wait_for_exit(limit(1s)) == 0);
}

TEST_CASE(
    "at debug, each change of what the selectors of an entry see is logged, and status has the reason") {
  Node node;
  const std::string directory = node.files().at("licences").string();
  node.configure("- {name: example.com/licence, directory: {path: " + directory + "}}\n");
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({"example.com/licence"}));
  REQUIRE(run_plughost({"reload", "--log-level", "debug", "--control", node.control()}).exit_code == 0);
  const Finished status = run_plughost({"status", "example.com/licence", "--control", node.control()});
  CHECK(has(status, "\nno devices: no such directory " + directory + " ("));
  node.files().file("licences/a");
  CHECK(node.daemon().wait_for_line(
      {"debug", "device scan", "entry=example.com/licence", R"(found="directory: 1 entry; 1 matches")"},
      kLong));
  CHECK_FALSE(
      has(run_plughost({"status", "example.com/licence", "--control", node.control()}), "no devices"));
}

TEST_CASE(
    "at most five refused Allocates a minute are logged as warnings, and at debug each Allocate is logged") {
  Node node;
  node.configure(counted("example.com/token", 2) + counted("example.com/other", 1));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({"example.com/token", "example.com/other"}));
  REQUIRE(run_plughost({"reload", "--log-level", "debug", "--control", node.control()}).exit_code == 0);
  const auto refuse = [&](const std::string& resource, const std::string& id) {
    CHECK_FALSE(node.kubelet().allocate_ids(resource, {id}).text.empty());
  };
  for (int i = 0; i < 7; ++i) refuse("example.com/token", "nobody" + std::to_string(i));
  const std::string answered = "Allocate answered";
  REQUIRE(node.daemon().wait_for_line({"debug", answered, "resource=example.com/token", "ids=nobody6",
                                       "count=1", "containers=1", "outcome=", "has no device"},
                                      kLong));
  CHECK(node.daemon().comes_to_lines(answered, 7));
  CHECK(node.daemon().comes_to_lines("Allocate refused", 5));
  CHECK(node.daemon().wait_for_line({"warn", "Allocate refused", "resource=example.com/token", "ids=nobody4",
                                     "count=1", "resource example.com/token has no device", "held_back=0"},
                                    kLong));
  refuse("example.com/other", "nobody");  // this resource has its own rate limit
  CHECK(node.daemon().wait_for_line({"Allocate refused", "resource=example.com/other"}, kLong));
  REQUIRE(node.kubelet().allocate("pod", "main", "example.com/token", 2).admitted());
  CHECK(node.daemon().wait_for_line({"debug", answered, "count=2", "containers=1", "outcome=given"}, kLong));
}

TEST_CASE(
    "standard streams that are closed at the start are opened as /dev/null, so that no file of plughost gets "
    "their descriptors") {
#ifdef PLUGHOST_SANITIZED
  not_shown("this build links gRPC's shared library, which opens its files before our first function runs");
#endif
#ifdef PLUGHOST_EMULATED
  not_shown("qemu opens its files, our program among them, before our first function runs");
#endif
  Node node;
  node.configure(counted("example.com/a", 1));
  node.start_kubelet();
  node.start_daemon({}, {"sh", "-c", "exec \"$@\" <&- >&- 2>&-", "sh"});
  REQUIRE(node.attached({"example.com/a"}));
  for (const char* number : {"0", "1", "2"}) {
    const std::string link = "/proc/" + std::to_string(node.daemon().pid()) + "/fd/" + number;
    CHECK(std::filesystem::read_symlink(link) == "/dev/null");
  }
}

TEST_CASE("the error that ends a start is written before the end") {
  Node node;
  node.configure(counted("example.com/a", 1));
  node.start_kubelet();
  node.start_daemon();
  REQUIRE(node.attached({"example.com/a"}));
  const Finished second = run_plughost({"run", "--config", node.configuration()});
  CHECK(second.exit_code == 1);
  CHECK(second.output.find("info  plughost ") != std::string::npos);
  CHECK(second.output.find("plughost: ") > second.output.find("info  plughost "));
}
