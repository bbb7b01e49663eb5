#include "daemon/reload/provisional_config.hpp"

#include <doctest/doctest.h>

#include "unit/daemon/resource_names.hpp"

using namespace plughost;
using namespace std::chrono_literals;

namespace {

using test::kA;
using test::kB;

const ProvisionalConfig::Time kStart{std::chrono::hours(1)};

// Returns a trial before which x.com/a and x.com/b were attached.
ProvisionalConfig trial(std::chrono::seconds duration, const KubeletConfig& kubelet = {}) {
  return {{.config = std::make_shared<const Config>(), .loaded_at = {}, .resources = {{kA, kA}, {kB, kB}}},
          kubelet,
          duration,
          kStart};
}

Attachments attached(std::map<std::string, std::string> resources, bool kubelet = true) {
  return {.kubelet = kubelet, .resources = std::move(resources), .entries = {kA, kB}};
}

const Attachments kBoth = attached({{kA, kA}, {kB, kB}});
const Attachments kLostA = attached({{kB, kB}});
const std::string kWhy = "the kubelet has lost x.com/a";

}  // namespace

TEST_CASE("a trial ends when its duration is over, and not earlier") {
  ProvisionalConfig of_minutes = trial(5min);
  CHECK(of_minutes.due() == kStart + 5min);
  CHECK(of_minutes.duration() == 5min);
  CHECK(of_minutes.check(kBoth, kStart) == "");
  CHECK(of_minutes.check(kBoth, kStart + 5min - 1ns) == "");
  CHECK(of_minutes.due() == kStart + 5min);
  CHECK(of_minutes.check(kBoth, kStart + 5min) == "not confirmed within 300 s");
}

TEST_CASE("a resource that the kubelet has lost for 5 s ends the trial") {
  ProvisionalConfig of_hours = trial(1h);
  CHECK(of_hours.check(kBoth, kStart) == "");
  CHECK(of_hours.check(kLostA, kStart + 10s) == "");
  CHECK(of_hours.due() == kStart + 15s);
  CHECK(of_hours.check(kLostA, kStart + 12s) == "");
  CHECK(of_hours.due() == kStart + 15s);
  CHECK(of_hours.check(kLostA, kStart + 15s - 1ns) == "");
  CHECK(of_hours.check(kLostA, kStart + 15s) == kWhy);
}

TEST_CASE("the loss of all resources ends the trial") {
  ProvisionalConfig of_hours = trial(1h);
  CHECK(of_hours.check(attached({}), kStart) == "");
  CHECK(of_hours.check(attached({}), kStart + 5s) == kWhy);
}

TEST_CASE("a resource that registers again in time is not lost, and has its full time the next time") {
  ProvisionalConfig of_hours = trial(1h);
  of_hours.check(kLostA, kStart);
  CHECK(of_hours.check(kBoth, kStart + 4s) == "");
  CHECK(of_hours.due() == kStart + 1h);
  CHECK(of_hours.check(kLostA, kStart + 6s) == "");
  CHECK(of_hours.due() == kStart + 11s);
  CHECK(of_hours.check(kLostA, kStart + 11s - 1ns) == "");
  CHECK(of_hours.check(kLostA, kStart + 11s) == kWhy);
}

TEST_CASE("if several resources are missing, the trial ends 5 s after the first loss") {
  ProvisionalConfig of_hours = trial(1h);
  of_hours.check(attached({{kA, kA}}), kStart);
  of_hours.check(attached({}), kStart + 2s);
  CHECK(of_hours.due() == kStart + 5s);
  CHECK(of_hours.check(attached({}), kStart + 5s) == "the kubelet has lost x.com/b");
}

TEST_CASE("a resource whose entry is no longer in force is not lost") {
  ProvisionalConfig of_hours = trial(1h);
  Attachments without = kLostA;
  without.entries = {kB};
  CHECK(of_hours.check(without, kStart) == "");
  CHECK(of_hours.check(without, kStart + 30min) == "");
  CHECK(of_hours.due() == kStart + 1h);
}

TEST_CASE("a resource that a different entry serves now is not lost") {
  ProvisionalConfig of_hours = trial(1h);
  const Attachments moved = attached({{kA, kB}, {kB, kB}});
  of_hours.check(moved, kStart);
  CHECK(of_hours.check(moved, kStart + 30min) == "");
}

TEST_CASE("no resource is lost while the kubelet is gone, and the 5 s begin again when the kubelet is back") {
  ProvisionalConfig of_hours = trial(1h);
  of_hours.check(kLostA, kStart);
  const Attachments gone = attached({}, false);
  CHECK(of_hours.check(gone, kStart + 5s) == "");
  CHECK(of_hours.due() == kStart + 1h);
  CHECK(of_hours.check(attached({}), kStart + 1min) == "");
  CHECK(of_hours.due() == kStart + 65s);
  CHECK(of_hours.check(kBoth, kStart + 61s) == "");
}

TEST_CASE("if the configuration on trial changes the kubelet's directory, a missing kubelet ends the trial") {
  ProvisionalConfig elsewhere = trial(1h, {.directory = "/nowhere"});
  const Attachments gone = attached({}, false);
  CHECK(elsewhere.check(gone, kStart) == "");
  CHECK(elsewhere.check(gone, kStart + 5s - 1ns) == "");
  CHECK(elsewhere.check(gone, kStart + 5s) == kWhy);
}

TEST_CASE("a resource that the kubelet did not have before cannot be lost") {
  ProvisionalConfig of_hours({.config = std::make_shared<const Config>(), .loaded_at = {}, .resources = {}},
                             {}, 1h, kStart);
  of_hours.check(kLostA, kStart);
  CHECK(of_hours.check(kLostA, kStart + 30min) == "");
}
