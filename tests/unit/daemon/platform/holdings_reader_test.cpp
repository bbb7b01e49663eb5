#include "daemon/platform/kubelet_link.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <iterator>
#include <optional>
#include <vector>

#include "base/system/unique_fd.hpp"
#include "unit/kubernetes/kubelet/telling_kubelet.hpp"
#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

namespace plughost {
namespace {

using namespace std::chrono_literals;
using Clock = HoldingsReader::Clock;

constexpr const char* kOneHolder =
    R"({"Data":{"PodDeviceEntries":[{"PodUID":"u","ContainerName":"c","ResourceName":"x.com/a",)"
    R"("DeviceIDs":{"-1":["X"]},"AllocResp":""}],"RegisteredDevices":{}},"Checksum":0})";

struct Asker {
  test::TempDir files;
  EventLoop loop;
  Log log{LogLevel::kError, LogFormat::kJson};
  Workers workers{loop, 2};
  PodResources pods{loop, files.at("kubelet.sock")};
  CheckpointReader checkpoint{workers, log, files.at("checkpoint"), files.at("pods"), 50ms};
  HoldingsReader reader{
      loop, workers, pods, checkpoint, {files.at("kubelet.sock"), files.at("plugins/kubelet.sock")}};
  std::vector<PodResources::Answer> told;

  void query(Clock::time_point since, std::optional<std::chrono::milliseconds> patience = std::nullopt) {
    reader.read(
        since, [this](const PodResources::Answer& answer) { told.push_back(answer); }, patience);
  }
  bool says(std::size_t times) {
    return test::run_until(loop, [&] { return told.size() == times; });
  }
};

TEST_CASE("holders: a query for a decision queries the kubelet again, and one for display does not") {
  Asker asker;
  test::TellingKubelet kubelet(asker.files.at("kubelet.sock"));
  kubelet.add("x.com/a", "one");
  asker.query(Clock::now() - HoldingsReader::kShown);
  REQUIRE(asker.says(1));
  kubelet.add("x.com/a", "two");
  asker.query(Clock::now() - HoldingsReader::kShown);
  REQUIRE(asker.told.size() == 2);  // at once
  CHECK(asker.told[1].holdings == asker.told[0].holdings);
  asker.query(Clock::now());
  REQUIRE(asker.says(3));
  REQUIRE(asker.told[2].holdings);
  CHECK(asker.told[2].holdings->at("x.com/a").all().size() == 2);
  CHECK(kubelet.calls().size() == 2);
}

TEST_CASE("holders: without the pod resources API, the checkpoint gives the holders") {
  Asker asker;
  asker.files.file("checkpoint", kOneHolder);
  asker.query(Clock::now());
  REQUIRE(asker.says(1));
  REQUIRE(asker.told[0].holdings);
  CHECK(asker.told[0].holdings->at("x.com/a").contains("X"));
  CHECK(asker.told[0].why.empty());
}

TEST_CASE("holders: if neither the kubelet nor its checkpoint gives the holders, both reasons are reported") {
  Asker asker;
  std::string reason;
  SUBCASE("there is no checkpoint") { reason = "cannot read it: No such file or directory"; }
  SUBCASE("the checkpoint is invalid") {
    asker.files.file("checkpoint", "{");
    reason = "this is not a kubelet's checkpoint";
  }
  SUBCASE("the read of the checkpoint stalls") {
    REQUIRE(::mkfifo(asker.files.at("checkpoint").c_str(), 0600) == 0);
    reason = "reading it takes too long";
  }
  asker.query(Clock::now());
  REQUIRE(asker.says(1));
  CHECK_FALSE(asker.told[0].holdings);
  const std::string& why = asker.told[0].why;
  CHECK(why.starts_with("the kubelet does not tell ("));
  CHECK(why.find("No such file or directory), nor does its checkpoint (" +
                 asker.files.at("checkpoint").string() + ": " + reason) != std::string::npos);
  // Ends the read of the pipe.
  const UniqueFd writer(::open(asker.files.at("checkpoint").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
}

TEST_CASE("holders: a stalled read of the checkpoint occupies one thread, however many queries wait for it") {
  Asker asker;
  REQUIRE(::mkfifo(asker.files.at("checkpoint").c_str(), 0600) == 0);
  const auto threads = [] {
    const std::filesystem::directory_iterator all("/proc/self/task");
    return std::distance(begin(all), end(all));
  };
  std::ptrdiff_t first = 0;
  constexpr std::size_t kTimes = 8;
  for (std::size_t i = 1; i <= kTimes; ++i) {
    asker.query(Clock::now());
    REQUIRE(asker.says(i));
    if (i == 1) first = threads();
  }
  CHECK(threads() <= first + 2);  // gRPC may start and end some threads
  const UniqueFd writer(::open(asker.files.at("checkpoint").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
}

TEST_CASE("holders: a query with a short deadline fails, and a query without one succeeds later") {
  Asker asker;
  test::TellingKubelet kubelet(asker.files.at("kubelet.sock"));
  kubelet.hold(true);
  asker.query(Clock::now());
  asker.query(Clock::now(), 20ms);
  REQUIRE(asker.says(1));
  CHECK_FALSE(asker.told[0].holdings);
  CHECK(asker.told[0].why == "the kubelet has not told within 20 ms");
  kubelet.hold(false);
  REQUIRE(asker.says(2));
  CHECK(asker.told[1].holdings);
  asker.query(Clock::now(), 10s);
  REQUIRE(asker.says(3));
  CHECK(asker.told[2].holdings);
}

TEST_CASE("holders: queries fail if the configured kubelet changes while they wait") {
  Asker asker;
  test::TellingKubelet kubelet(asker.files.at("kubelet.sock"));
  kubelet.hold(true);
  asker.query(Clock::now());
  asker.query(Clock::now());
  REQUIRE(test::run_until(asker.loop, [&] { return kubelet.calls().size() == 1; }));
  asker.reader.abandon();
  REQUIRE(asker.told.size() == 2);
  CHECK_FALSE(asker.told[1].holdings);
  CHECK(asker.told[1].why == "another kubelet is meant now");
  kubelet.hold(false);
  asker.query(Clock::now());
  REQUIRE(asker.says(3));
  CHECK(asker.told[2].holdings);
}

TEST_CASE("holders: a container that List omits holds its devices until its pod's directory is gone") {
  Asker asker;
  test::TellingKubelet kubelet(asker.files.at("kubelet.sock"));
  asker.files.file("checkpoint", kOneHolder);
  asker.files.directory("pods/u");
  asker.query(Clock::now());
  REQUIRE(asker.says(1));
  REQUIRE(asker.told[0].holdings);
  CHECK(asker.told[0].holdings->at("x.com/a").contains("X"));
  asker.files.remove("pods/u");
  asker.query(Clock::now());
  REQUIRE(asker.says(2));
  CHECK(asker.told[1].holdings->empty());
}

TEST_CASE("holders: the checkpoint is read after List was called") {
  Asker asker;
  test::TellingKubelet kubelet(asker.files.at("kubelet.sock"));
  kubelet.hold(true);
  asker.query(Clock::now());
  REQUIRE(test::run_until(asker.loop, [&] { return kubelet.calls().size() == 1; }));
  asker.files.file("checkpoint", kOneHolder);
  kubelet.hold(false);
  REQUIRE(asker.says(1));
  CHECK(asker.told[0].holdings->contains("x.com/a"));
}

TEST_CASE("holders: the response of List is incomplete until the kubelet has run for 10 s") {
  Asker asker;
  asker.files.directory("plugins");
  test::TellingKubelet kubelet(asker.files.at("kubelet.sock"));
  SUBCASE("plughost has queried no kubelet before") {}
  SUBCASE("the kubelet's socket is new, although plughost knows an older kubelet") {
    test::pass(asker.loop, KubeletAge::kSettling);
    asker.query(Clock::now());
    REQUIRE(asker.says(1));
    test::pass(asker.loop, KubeletAge::kSettling);
    asker.query(Clock::now());
    REQUIRE(asker.says(2));
    CHECK(asker.told[1].complete);
    asker.told.clear();
    const UniqueFd other = listen_unix(asker.files.at("plugins/kubelet.sock"));
    asker.query(Clock::now());
    REQUIRE(asker.says(1));
    CHECK_FALSE(asker.told[0].complete);
    asker.told.clear();
  }
  asker.query(Clock::now());
  REQUIRE(asker.says(1));
  CHECK_FALSE(asker.told[0].complete);
  test::pass(asker.loop, KubeletAge::kSettling);
  asker.query(Clock::now());
  REQUIRE(asker.says(2));
  CHECK(asker.told[1].complete);
}

}  // namespace
}  // namespace plughost
