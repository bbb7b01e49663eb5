#include "base/log/log.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/system/unique_fd.hpp"
#include "unit/base/log/standard_error.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;

using test::written;

TEST_CASE("a line has fixed words and fields, and a value with spaces stays one value") {
  const std::string line = written([] {
    Log log(LogLevel::kInfo, LogFormat::kAuto);
    log.info("attached", {{"resource", "x.com/a"}, {"why", "two\nlines"}});
  });
  CHECK(line.find("info  attached resource=x.com/a why=\"two\\nlines\"\n") != std::string::npos);
}

TEST_CASE("lines below the level are not written until the level changes") {
  const std::string text = written([] {
    Log log(LogLevel::kWarn, LogFormat::kAuto);
    log.info("one");
    log.configure(LogLevel::kDebug, LogFormat::kAuto);
    log.debug("two");
  });
  CHECK(text.find("one") == std::string::npos);
  CHECK(text.find("two") != std::string::npos);
}

TEST_CASE("a JSON line is valid, whatever bytes are in it") {
  const std::string line = written([] {
    Log log(LogLevel::kInfo, LogFormat::kJson);
    log.error("cannot look", {{"why", "a \"quote\" and \xff"}});
  });
  const auto json = nlohmann::json::parse(line);
  CHECK(json["level"] == "error");
  CHECK(json["message"] == "cannot look");
  CHECK(json["why"].get<std::string>().starts_with("a \"quote\" and "));
  CHECK(json.contains("time"));
}

namespace {

// Sets JOURNAL_STREAM, as systemd does for a service whose standard error is the journal.
struct UnderJournal {
  UnderJournal() {
    struct stat file {};
    check(::fstat(STDERR_FILENO, &file), "fstat");
    ::setenv("JOURNAL_STREAM", (std::to_string(file.st_dev) + ":" + std::to_string(file.st_ino)).c_str(), 1);
  }
  ~UnderJournal() { ::unsetenv("JOURNAL_STREAM"); }
};

}  // namespace

TEST_CASE("the journal gets a line's words, its priority, and each field by its name") {
  const test::TempDir dir;
  const UniqueFd journal(check(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), "socket"));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  dir.at("journal").string().copy(address.sun_path, sizeof address.sun_path - 1);
  check(::bind(journal.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), "bind");
  const std::string text = written([&] {
    const UnderJournal under;
    Log(LogLevel::kInfo, LogFormat::kAuto, dir.at("journal"))
        .warn("not attached", {{"resource", "x.com/a"}, {"after_ms", "3"}, {"why", "two\nlines"}});
  });
  CHECK(text.empty());
  char bytes[1000];
  const ssize_t got = ::recv(journal.get(), bytes, sizeof bytes, 0);
  REQUIRE(got > 0);
  const std::string sent(bytes, static_cast<std::size_t>(got));
  CHECK(sent ==
        std::string("MESSAGE=not attached resource=x.com/a after_ms=3 why=\"two\\nlines\"\nPRIORITY=4\n"
                    "SYSLOG_IDENTIFIER=plughost\nPLUGHOST_EVENT=not attached\nPLUGHOST_RESOURCE=x.com/a\n"
                    "PLUGHOST_AFTER_MS=3\nPLUGHOST_WHY\n") +
            std::string("\x09\0\0\0\0\0\0\0", 8) + "two\nlines\n");
}

TEST_CASE("a line that the journal cannot receive is written to standard error with its priority in front") {
  const std::string line = written([] {
    const UnderJournal under;
    Log(LogLevel::kInfo, LogFormat::kAuto, "/nowhere/socket").warn("not attached");
  });
  CHECK(line == "<4>not attached\n");
}

TEST_CASE("a JOURNAL_STREAM that does not match standard error is ignored") {
  ::setenv("JOURNAL_STREAM", "1:2", 1);
  const std::string line = written([] { Log(LogLevel::kInfo, LogFormat::kAuto).warn("not attached"); });
  ::unsetenv("JOURNAL_STREAM");
  CHECK(line.find("warn  not attached\n") != std::string::npos);
}

TEST_CASE("the history has the last 500 lines, whatever the level") {
  written([] {
    Log log(LogLevel::kError, LogFormat::kAuto);
    log.debug("never kept");
    for (int i = 1; i <= 501; ++i)
      log.info("line " + std::to_string(i), {{"n", std::to_string(i)}, {"empty", ""}});
    const auto oldest = log.history().after(0);
    REQUIRE(oldest);
    CHECK(oldest->number == 2);
    CHECK(oldest->words == "line 2");
    const auto newest = log.history().after(500);
    REQUIRE(newest);
    CHECK(newest->words == "line 501");
    CHECK(newest->level == LogLevel::kInfo);
    using Pair = std::pair<std::string, std::string>;
    CHECK(newest->fields == std::vector<Pair>{{"n", "501"}, {"empty", ""}});
    CHECK_FALSE(log.history().after(501));
    CHECK(log.history().newest() == 501);
  });
}

TEST_CASE("lines with the same words are limited in number, and other lines are written") {
  const std::string text = written([] {
    Log log(LogLevel::kInfo, LogFormat::kAuto);
    for (unsigned i = 0; i < Log::kBurst + 10; ++i) log.warn("a cable is loose");
    log.warn("another matter");
    CHECK(log.warnings().count() == Log::kBurst + 11);
  });
  CHECK(std::count(text.begin(), text.end(), '\n') == Log::kBurst + 1);
  CHECK(text.find("another matter") != std::string::npos);
}

TEST_CASE("the report of dropped lines has the log's own format") {
  int ends[2];
  check(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), "pipe2");
  const UniqueFd out(ends[0]);
  const UniqueFd in(ends[1]);
  check(::fcntl(in.get(), F_SETFL, 0), "fcntl");
  const test::StandardErrorTo redirected(in);
  Log log(LogLevel::kInfo, LogFormat::kJson);
  const std::string long_value(100'000, 'x');
  constexpr int kLines = 20;
  for (int i = 0; i < kLines; ++i) log.info("line", {{"n", std::to_string(i)}, {"why", long_value}});
  std::string text;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  int kept = 0;
  nlohmann::json notice;
  while (notice.is_null() && std::chrono::steady_clock::now() < end) {
    pollfd ready{.fd = out.get(), .events = POLLIN, .revents = 0};
    ::poll(&ready, 1, 100);
    char bytes[65536];
    if (const ssize_t got = ::read(out.get(), bytes, sizeof bytes); got > 0)
      text.append(bytes, static_cast<std::size_t>(got));
    for (std::size_t newline = text.find('\n'); newline != std::string::npos; newline = text.find('\n')) {
      const auto line = nlohmann::json::parse(text.substr(0, newline));
      text.erase(0, newline + 1);
      if (line["message"] == "line")
        ++kept;
      else
        notice = line;
    }
  }
  REQUIRE_FALSE(notice.is_null());
  CHECK(notice["level"] == "warn");
  CHECK(notice["message"] == "log lines dropped: the reader is too slow");
  CHECK(notice["lines"] == kLines - kept);
  CHECK(kept < kLines);
  // Dropped lines are still in the history.
  CHECK(log.history().newest() == kLines);
}
