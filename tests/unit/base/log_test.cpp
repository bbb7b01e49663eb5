#include "base/log.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/unique_fd.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;

namespace {

// What is written to standard error meanwhile.
std::string written(const std::function<void()>& act) {
  const test::TempDir dir;
  const UniqueFd before(check(::dup(STDERR_FILENO), "dup"));
  {
    const UniqueFd file(check(::open(dir.at("log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600), "open"));
    check(::dup2(file.get(), STDERR_FILENO), "dup2");
  }
  act();
  check(::dup2(before.get(), STDERR_FILENO), "dup2");
  std::ifstream file(dir.at("log"));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("a line is fixed words and fields, and a value with spaces stays one") {
  const std::string line = written([] {
    Log log(LogLevel::kInfo, LogFormat::kAuto);
    log.info("attached", {{"resource", "x.com/a"}, {"why", "two\nlines"}});
  });
  CHECK(line.find("info  attached resource=x.com/a why=\"two\\nlines\"\n") != std::string::npos);
}

TEST_CASE("what is below the level is not written, until the level changes") {
  const std::string text = written([] {
    Log log(LogLevel::kWarn, LogFormat::kAuto);
    log.info("one");
    log.configure(LogLevel::kDebug, LogFormat::kAuto);
    log.debug("two");
  });
  CHECK(text.find("one") == std::string::npos);
  CHECK(text.find("two") != std::string::npos);
}

TEST_CASE("a JSON line can be read by a program, whatever bytes are in it") {
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

TEST_CASE("under the journal a line begins with its priority") {
  ::setenv("JOURNAL_STREAM", "1:2", 1);
  const std::string line = written([] { Log(LogLevel::kInfo, LogFormat::kAuto).warn("not attached"); });
  ::unsetenv("JOURNAL_STREAM");
  CHECK(line == "<4>not attached\n");
}
