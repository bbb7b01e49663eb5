#include "kubernetes/kubelet/checkpoint.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/system/unique_fd.hpp"
#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

namespace plughost {
namespace {

using namespace std::chrono_literals;
using Clock = CheckpointReader::Clock;

constexpr const char* kOnePod =
    R"({"Data":{"PodDeviceEntries":[{"PodUID":"u","ContainerName":"c","ResourceName":"x.com/a",)"
    R"("DeviceIDs":{"-1":["X"]},"AllocResp":""}],"RegisteredDevices":{}},"Checksum":0})";

struct Rig {
  test::TempDir files;
  EventLoop loop;
  Log log{LogLevel::kError, LogFormat::kJson};
  Workers workers{loop, 2};
  std::vector<CheckpointReader::Reading> told;

  CheckpointReader reader(std::chrono::milliseconds deadline = 1min) {
    return CheckpointReader(workers, log, files.at("checkpoint"), files.at("pods"), deadline);
  }
  CheckpointReader::Done notify() {
    return [this](const CheckpointReader::Reading& reading) { told.push_back(reading); };
  }
  bool says(std::size_t times) {
    return test::run_until(loop, [&] { return told.size() >= times; });
  }
  std::size_t pods(std::size_t n) const { return told.at(n).checkpoint->pod_devices.size(); }
};

TEST_CASE("the checkpoint: a missing file means that there are no holders") {
  Rig rig;
  CheckpointReader reader = rig.reader();
  reader.read(Clock::now(), rig.notify());
  REQUIRE(rig.says(1));
  REQUIRE(rig.told[0].checkpoint);
  CHECK(rig.pods(0) == 0);
}

TEST_CASE(
    "the checkpoint: callers that accept the same age share one read, and a read that is too old is "
    "repeated") {
  Rig rig;
  rig.files.file("checkpoint", kOnePod);
  CheckpointReader reader = rig.reader();
  const auto before = Clock::now();
  reader.read(before, rig.notify());
  reader.read(before, rig.notify());
  CHECK(rig.told.empty());
  REQUIRE(rig.says(2));
  CHECK(rig.told[0].checkpoint == rig.told[1].checkpoint);
  CHECK(rig.pods(0) == 1);
  CHECK(rig.told[0].began >= before);
  reader.read(rig.told[0].began, rig.notify());
  REQUIRE(rig.told.size() == 3);
  CHECK(rig.told[2].checkpoint == rig.told[0].checkpoint);
  rig.files.file("checkpoint", R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":0})");
  reader.read(rig.told[0].began + 1ns, rig.notify());
  REQUIRE(rig.says(4));
  CHECK(rig.pods(3) == 0);
}

TEST_CASE("the checkpoint: a caller that needs a newer reading than the current one gets the next") {
  Rig rig;
  CheckpointReader reader = rig.reader();
  reader.read(Clock::now(), rig.notify());
  reader.read(Clock::now() + 1ns, rig.notify());
  REQUIRE(rig.says(2));
  CHECK(rig.told[0].checkpoint != rig.told[1].checkpoint);
  CHECK(rig.told[0].began < rig.told[1].began);
}

TEST_CASE(
    "the checkpoint: a callback may request a read, and gets the same result at once or the next one later") {
  Rig rig;
  CheckpointReader reader = rig.reader();
  reader.read(Clock::now(), [&](const CheckpointReader::Reading& reading) {
    reader.read(reading.began, rig.notify());
    CHECK(rig.told.size() == 1);
    reader.read(Clock::now(), rig.notify());
    CHECK(rig.told.size() == 1);
  });
  REQUIRE(rig.says(2));
  CHECK(rig.told[1].began > rig.told[0].began);
}

TEST_CASE("the checkpoint: an invalid file is reported as unknown, not as empty") {
  Rig rig;
  rig.files.file("checkpoint", "{");
  CheckpointReader reader = rig.reader();
  reader.read(Clock::now(), rig.notify());
  REQUIRE(rig.says(1));
  CHECK_FALSE(rig.told[0].checkpoint);
}

TEST_CASE(
    "the checkpoint: while a reading hangs, no caller waits longer than the deadline, and a reading that "
    "ends late is used") {
  Rig rig;
  REQUIRE(::mkfifo(rig.files.at("checkpoint").c_str(), 0600) == 0);
  CheckpointReader reader = rig.reader(20ms);
  reader.read(Clock::now(), rig.notify());
  reader.read(Clock::now() + 1ns, rig.notify());
  REQUIRE(rig.says(2));
  CHECK_FALSE(rig.told[0].checkpoint);
  CHECK_FALSE(rig.told[1].checkpoint);
  const auto now = Clock::now();
  reader.read(now, rig.notify());
  REQUIRE(rig.told.size() == 3);
  CHECK_FALSE(rig.told[2].checkpoint);
  CHECK(rig.told[2].began >= now);
  {
    const UniqueFd writer(::open(rig.files.at("checkpoint").c_str(), O_WRONLY | O_CLOEXEC));
    REQUIRE(::write(writer.get(), kOnePod, std::string_view(kOnePod).size()) > 0);
  }
  REQUIRE(test::run_until(rig.loop, [&] {
    reader.read(Clock::time_point::min(), rig.notify());
    return rig.told.back().checkpoint != nullptr;
  }));
  CHECK(rig.pods(rig.told.size() - 1) == 1);
}

TEST_CASE("the checkpoint: a reading has the pods with a directory, if their directories can be read") {
  Rig rig;
  rig.files.file("checkpoint", kOnePod);
  CheckpointReader reader = rig.reader();
  reader.read(Clock::now(), rig.notify());
  REQUIRE(rig.says(1));
  CHECK_FALSE(rig.told[0].pods);
  rig.files.directory("pods/u");
  rig.files.directory("pods/v");
  reader.read(Clock::now(), rig.notify());
  REQUIRE(rig.says(2));
  REQUIRE(rig.told[1].pods);
  CHECK(*rig.told[1].pods == std::set<std::string>{"u", "v"});
}

}  // namespace
}  // namespace plughost
