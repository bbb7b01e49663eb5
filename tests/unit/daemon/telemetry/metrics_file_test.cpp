#include "daemon/telemetry/metrics.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <memory>

#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace {

// A daemon that answers a query for its status when the test calls answer(), with the version given there.
struct FileRig final : StatusRequests::Owner {
  TempDir dir;
  EventLoop loop;
  Log log{LogLevel::kError, LogFormat::kJson, "/nonexistent"};
  Workers workers{loop, 2};
  std::vector<std::function<void(DaemonStatus)>> questions;
  std::set<WithHolders> asked_with;
  StatusRequests requests{loop, log.history(), *this};
  std::unique_ptr<MetricsFile> metrics = std::make_unique<MetricsFile>(loop, workers, log, requests);

  explicit FileRig(const std::string& directory = "first") {
    for (const char* name : {"first", "second"}) dir.directory(name);
    use(directory);
  }
  ~FileRig() override { requests.close(); }

  void query_status(WithHolders with, StatusMade done) override {
    asked_with.insert(with);
    questions.push_back(std::move(done));
  }
  void reload(ReloadOrder /*order*/, ReloadDone /*done*/) override {}
  void confirm(ConfirmDone /*done*/) override {}
  void drain(DrainOrder /*order*/, StatusRequests::DrainDone /*done*/) override {}
  void hand_over(HandOverStep /*step*/, pid_t /*by*/, HandOver::Done /*done*/) override {}

  void use(const std::string& directory) {
    metrics->use(directory.empty() ? "" : dir.at(directory).string());
  }
  std::string content(const std::string& directory = "first") const {
    std::ifstream text(dir.at(directory) / "plughost.prom");
    return {std::istreambuf_iterator<char>(text), {}};
  }
  bool says(const std::string& version, const std::string& directory = "first") {
    return run_until(
        loop, [&] { return content(directory).find("version=\"" + version + '"') != std::string::npos; });
  }
  bool asked(std::size_t count) {
    return run_until(loop, [&] { return questions.size() == count; });
  }
  void answer(const std::string& version) {
    DaemonStatus status;
    status.version = version;
    questions.back()(std::move(status));
  }
  bool gone(const std::string& directory) {
    return run_until(loop, [&] { return !std::filesystem::exists(dir.at(directory) / "plughost.prom"); });
  }
};

}  // namespace

TEST_CASE("the metrics file is written at once, and once more two seconds after any number of changes") {
  FileRig rig;
  REQUIRE(rig.asked(1));
  rig.answer("1");
  REQUIRE(rig.says("1"));
  const auto begin = EventLoop::Clock::now();
  for (int i = 0; i < 100; ++i) rig.metrics->changed();
  REQUIRE(rig.asked(2));
  CHECK(EventLoop::Clock::now() - begin >= MetricsFile::kTogether);
  rig.answer("2");
  CHECK(rig.says("2"));
  CHECK(rig.questions.size() == 2);
}

TEST_CASE("each change is in the metrics file two seconds later") {
  FileRig rig;
  REQUIRE(rig.asked(1));
  rig.answer("1");
  REQUIRE(rig.says("1"));
  for (std::size_t n = 2; n < 4; ++n) {
    rig.metrics->changed();
    run_once(rig.loop);
    CHECK(rig.questions.size() == n - 1);
    pass(rig.loop, MetricsFile::kTogether);
    REQUIRE(rig.asked(n));
    rig.answer(std::to_string(n));
    REQUIRE(rig.says(std::to_string(n)));
  }
}

TEST_CASE("the metrics file is readable for others, and nothing is left beside it") {
  FileRig rig;
  REQUIRE(rig.asked(1));
  const mode_t before = ::umask(0077);
  rig.answer("1");
  REQUIRE(rig.says("1"));
  ::umask(before);
  struct stat status {};
  REQUIRE(::stat(rig.dir.at("first/plughost.prom").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0644);
  CHECK(std::distance(std::filesystem::directory_iterator(rig.dir.at("first")), {}) == 1);
  CHECK(rig.content().find("process_") == std::string::npos);
}

TEST_CASE("a metrics file that moves is removed from its former place") {
  FileRig rig;
  REQUIRE(rig.asked(1));
  rig.answer("1");
  REQUIRE(rig.says("1"));
  rig.use("second");
  REQUIRE(rig.asked(2));
  rig.answer("2");
  CHECK(rig.says("2", "second"));
  CHECK(rig.gone("first"));
  // The file moves back.
  rig.use("first");
  REQUIRE(rig.asked(3));
  rig.answer("3");
  CHECK(rig.says("3"));
  CHECK(rig.gone("second"));
  rig.use("");
  CHECK(rig.gone("first"));
}

TEST_CASE("a response after the removal of the metrics file does not restore the file") {
  FileRig rig;
  REQUIRE(rig.asked(1));
  rig.answer("1");
  REQUIRE(rig.says("1"));
  rig.metrics->changed();
  REQUIRE(rig.asked(2));
  bool finished = false;
  rig.metrics->finish([&] { finished = true; });
  rig.answer("2");
  REQUIRE(run_until(rig.loop, [&] { return finished; }));
  CHECK_FALSE(std::filesystem::exists(rig.dir.at("first/plughost.prom")));
  rig.metrics->changed();
  CHECK_FALSE(run_until(
      rig.loop,
      [&] { return rig.questions.size() > 2 || std::filesystem::exists(rig.dir.at("first/plughost.prom")); },
      2500ms));
}

TEST_CASE("without a metrics file no status is requested, and finish() ends at once") {
  FileRig rig("");
  rig.metrics->changed();
  bool finished = false;
  rig.metrics->finish([&] { finished = true; });
  CHECK(finished);
  CHECK(rig.questions.empty());
}
