#include "daemon/hooks/device_programs.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "base/text/json.hpp"
#include "host/hardware/machine_files.hpp"
#include "unit/daemon/resource_names.hpp"
#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

using namespace plughost;
using namespace std::chrono_literals;

namespace {

using test::kA;

// Devices for which a shell script runs when they become Unhealthy. $1 is the test's directory and $2 the
// device's id.
struct Watched {
  test::TempDir dir;
  EventLoop loop;
  Log log{LogLevel::kError, LogFormat::kAuto};
  Programs programs{loop};
  PodResources::Answer holders{
      .holdings = std::make_shared<const Holdings>(
          Holdings{{kA, {{"a", {.pod_namespace = "default", .pod = "pod-a", .container = "main"}}}}})};
  bool silent = false;  // no query for holders is answered
  std::function<void()> told;
  UnhealthyPrograms watched{programs, log, [this](auto done) {
                              told = [this, done] { done(holders); };
                              if (!silent) told();
                            }};
  ResourceSnapshot snapshot{.resource = kA};

  explicit Watched(const std::string& script, std::chrono::milliseconds after = 0ms) {
    AllocationSpec spec;
    spec.when_unhealthy = UnhealthyProgramSpec{.program = {.timeout = 1min}, .after = after};
    for (const std::string& word : {std::string("/bin/sh"), std::string("-c"), Template::escape(script),
                                    std::string("sh"), dir.path().string(), std::string("{id}")})
      spec.when_unhealthy->program.command.emplace_back(word);
    snapshot.spec = std::make_shared<const AllocationSpec>(spec);
  }
  void snapshots(std::vector<Device> devices) {
    snapshot.inventory = Inventory(std::move(devices));
    watched.follow(snapshot);
  }
  bool logged(const std::string& level, const std::string& part) {
    std::uint64_t number = 0;
    while (const auto record = log.history().after(number)) {
      number = record->number;
      const std::string text = record->json().dump();
      if (text.find("\"" + level + "\"") != std::string::npos && text.find(part) != std::string::npos)
        return true;
    }
    return false;
  }
  bool until_logged(const std::string& level, const std::string& part) {
    return test::run_until(loop, [&] { return logged(level, part); });
  }
  std::string text(const std::string& file) const { return file_text(dir.at(file)).value_or(""); }
};

}  // namespace

TEST_CASE("whenUnhealthy: the program reads the device, the reason, the time of the change and the holders") {
  Watched disks("cat >> $1/read-$2");
  disks.snapshots({{.id = "a", .error = "the fan"}, {.id = "b"}});
  REQUIRE(disks.until_logged("info", "whenUnhealthy program finished"));
  const Json read = Json::parse(disks.text("read-a"));
  CHECK(read["resource"].text() == kA);
  CHECK(read["device"].text() == "a");
  CHECK(read["reason"].text() == "the fan");
  CHECK(read["since"].text().starts_with("20"));
  CHECK(read["holdersUnknown"].text() == "");
  REQUIRE(read["holders"].array().size() == 1);
  CHECK(read["holders"].array()[0]["pod"].text() == "pod-a");
  CHECK_FALSE(std::filesystem::exists(disks.dir.at("read-b")));
}

TEST_CASE("whenUnhealthy: unhealthy_document() returns the program's input as one line of JSON") {
  const Device device{.id = "0", .error = "the fan", .replicas = 2};
  PodResources::Answer answer;
  answer.why = "nobody tells";
  CHECK(unhealthy_document(kA, device, std::chrono::system_clock::time_point(1h), answer) ==
        R"({"resource":"x.com/a","device":"0","reason":"the fan","since":"1970-01-01T01:00:00.000000Z",)"
        R"("holders":[],"holdersUnknown":"nobody tells"})"
        "\n");
  answer.holdings = std::make_shared<const Holdings>(
      Holdings{{kA, {{"0::1", {.pod_namespace = "n", .pod = "p", .container = "c"}}}}});
  CHECK(
      unhealthy_document(kA, device, {}, answer)
          .find(
              R"("holders":[{"id":"0::1","namespace":"n","pod":"p","container":"c"}],"holdersUnknown":"")") !=
      std::string::npos);
}

TEST_CASE("whenUnhealthy: the program runs once each time that a device becomes Unhealthy") {
  Watched disks("echo >> $1/ran-$2");
  disks.snapshots({{.id = "a", .error = "sick"}});
  REQUIRE(test::run_until(disks.loop, [&] { return disks.text("ran-a") == "\n"; }));
  disks.snapshots({{.id = "a", .error = "sicker"}});
  disks.snapshots({{.id = "a"}});
  disks.snapshots({{.id = "a", .error = "sick"}, {.id = "b", .error = "sick"}});
  REQUIRE(test::run_until(disks.loop, [&] { return disks.text("ran-b") == "\n"; }));
  CHECK(test::run_until(disks.loop, [&] { return disks.text("ran-a") == "\n\n"; }));
}

TEST_CASE(
    "whenUnhealthy: the program runs after the configured time, if the device has not recovered by then") {
  Watched disks("echo >> $1/ran-$2", 200ms);
  const auto began = EventLoop::Clock::now();
  disks.snapshots({{.id = "a", .error = "sick"}, {.id = "b", .error = "sick"}});
  disks.snapshots({{.id = "a"}, {.id = "b", .error = "sick"}});
  REQUIRE(test::run_until(disks.loop, [&] { return disks.text("ran-b") == "\n"; }));
  CHECK(EventLoop::Clock::now() - began >= 200ms);
  CHECK(disks.text("ran-a").empty());
}

TEST_CASE("whenUnhealthy: a device that recovers or is forgotten before the kubelet responds is skipped") {
  Watched disks("echo >> $1/ran-$2");
  disks.silent = true;
  disks.snapshots({{.id = "a", .error = "sick"}, {.id = "b", .error = "sick"}});
  REQUIRE(test::run_until(disks.loop, [&] { return disks.told != nullptr; }));
  disks.snapshots({{.id = "a"}, {.id = "b", .error = "sick"}});
  disks.told();
  REQUIRE(disks.until_logged("info", "\"b\""));
  CHECK(disks.text("ran-a").empty());

  disks.told = nullptr;
  disks.snapshots({{.id = "a", .error = "sick"}});
  REQUIRE(test::run_until(disks.loop, [&] { return disks.told != nullptr; }));
  disks.watched.forget(kA);
  disks.told();
  test::run_once(disks.loop);
  CHECK_FALSE(disks.logged("info", "\"a\""));
}

TEST_CASE("whenUnhealthy: a program that fails is reported with its output, and not run again") {
  Watched disks("echo >> $1/ran-$2; echo no room; exit 3");
  disks.snapshots({{.id = "a", .error = "sick"}});
  REQUIRE(disks.until_logged("warn", "no room"));
  CHECK(disks.logged("warn", "the whenUnhealthy program failed"));
  CHECK(disks.text("ran-a") == "\n");
}

TEST_CASE("whenUnhealthy: an attribute that the program needs and the device lacks is reported") {
  Watched disks("true");
  AllocationSpec spec = *disks.snapshot.spec;
  spec.when_unhealthy->program.command.emplace_back("{serial}");
  disks.snapshot.spec = std::make_shared<const AllocationSpec>(spec);
  disks.snapshots({{.id = "a", .error = "sick"}});
  CHECK(disks.until_logged("warn", "the device has no {serial}, which whenUnhealthy needs"));
}

TEST_CASE("whenUnhealthy: a program that a reload removes does not run for a device that waits for it") {
  Watched disks("echo >> $1/ran-$2", 100ms);
  disks.snapshots({{.id = "a", .error = "sick"}});
  const auto wants = disks.snapshot.spec;
  disks.snapshot.spec = std::make_shared<const AllocationSpec>();
  disks.snapshots({{.id = "a", .error = "sick"}});
  disks.snapshot.resource = "x.com/b";
  disks.snapshot.spec = wants;
  disks.snapshots({{.id = "b", .error = "sick"}});
  REQUIRE(test::run_until(disks.loop, [&] { return disks.text("ran-b") == "\n"; }));
  CHECK(disks.text("ran-a").empty());
}

TEST_CASE("whenUnhealthy: the device's own entry decides which program runs, and after how long") {
  Watched first("touch $1/first-$2", 1h), second("touch $1/second-$2");
  const auto none = std::make_shared<const AllocationSpec>();
  first.snapshots({{.id = "a", .error = "sick", .terms = first.snapshot.spec},
                   {.id = "b", .error = "sick", .terms = second.snapshot.spec},
                   {.id = "c", .error = "sick", .terms = none}});
  REQUIRE(test::run_until(first.loop, [&] { return std::filesystem::exists(second.dir.at("second-b")); }));
  CHECK(first.text("first-a").empty());
  CHECK_FALSE(std::filesystem::exists(first.dir.at("first-a")));
  CHECK_FALSE(std::filesystem::exists(second.dir.at("second-c")));
  // The resource's first entry has no whenUnhealthy program.
  first.snapshot.spec = none;
  first.snapshots({{.id = "b", .error = "", .terms = second.snapshot.spec}});
  std::filesystem::remove(second.dir.at("second-b"));
  first.snapshots({{.id = "b", .error = "sick", .terms = second.snapshot.spec}});
  CHECK(test::run_until(first.loop, [&] { return std::filesystem::exists(second.dir.at("second-b")); }));
}

TEST_CASE("whenUnhealthy: a device whose entry drops the program while holders are queried is skipped") {
  Watched first("touch $1/first-$2"), second("touch $1/second-$2");
  const auto none = std::make_shared<const AllocationSpec>();
  first.silent = true;
  const auto snapshots = [&](const std::shared_ptr<const AllocationSpec>& of_a) {
    first.snapshots({{.id = "a", .error = "sick", .terms = of_a},
                     {.id = "b", .error = "sick", .terms = second.snapshot.spec}});
  };
  snapshots(first.snapshot.spec);
  REQUIRE(test::run_until(first.loop, [&] { return first.told != nullptr; }));
  snapshots(none);
  first.told();
  CHECK(test::run_until(first.loop, [&] { return std::filesystem::exists(second.dir.at("second-b")); }));
  CHECK_FALSE(std::filesystem::exists(first.dir.at("first-a")));
}
