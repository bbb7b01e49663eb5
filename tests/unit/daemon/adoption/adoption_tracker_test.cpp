#include "daemon/adoption/adoption_tracker.hpp"

#include <doctest/doctest.h>

#include "unit/daemon/platform/process.hpp"
#include "unit/daemon/resource_names.hpp"
#include "unit/kubernetes/kubelet/telling_kubelet.hpp"
#include "unit/run_until.hpp"
#include "unit/temp_dir.hpp"

namespace plughost {
namespace {

using test::kA;
using namespace std::chrono_literals;

constexpr const char* kCheckpoint = "plugins/kubelet_internal_checkpoint";
constexpr const char* kOnePod =
    R"({"Data":{"PodDeviceEntries":[{"PodUID":"u","ContainerName":"c","ResourceName":"x.com/a",)"
    R"("DeviceIDs":{"-1":["X"]},"AllocResp":""}],"RegisteredDevices":{}},"Checksum":0})";

struct Root : test::TempDir {
  Root() {
    directory("plugins");
    directory("pod-resources");
  }
};

// An entry's adoption tracker, and a kubelet that answers queries for holders.
struct Rig {
  Root dir;
  test::Process process;
  test::TellingKubelet kubelet{dir.at("pod-resources/kubelet.sock")};
  KubeletLink link{process.platform,
                   {.directory = dir.at("plugins"), .pod_resources = dir.at("pod-resources/kubelet.sock")},
                   nullptr,
                   [] {},
                   [] {}};
  unsigned changes = 0;
  AdoptionTracker tracker{process.platform, link, [this] { ++changes; }};

  HeldIds prepare(bool may_be_new = false) {
    std::optional<HeldIds> held;
    tracker.prepare(may_be_new, [&](HeldIds told) { held = std::move(told); });
    REQUIRE(test::run_until(process.loop, [&] { return held.has_value(); }));
    return *held;
  }
  // Makes the tracker adopt the device amy, which a pod holds as X.
  void adopt() {
    Adoption adoption;
    adoption.devices["amy"] = {{.id = "X", .pod_uid = "u", .container = "c"}};
    tracker.merge({{kA, adoption}});
  }
  bool asked(std::size_t times) {
    return test::run_until(process.loop, [&] { return kubelet.calls().size() >= times; });
  }
  bool told(unsigned times) {
    return test::run_until(process.loop, [&] { return changes >= times; });
  }
  bool adopted() const { return tracker.devices().touches(kA); }
};

TEST_CASE("adoption: the checkpoint is read for the first scan, and not again for the next") {
  Rig rig;
  rig.dir.file(kCheckpoint, kOnePod);
  REQUIRE(rig.prepare().checkpoint);
  CHECK(rig.prepare().checkpoint->pod_devices.size() == 1);
  rig.dir.file(kCheckpoint, R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":0})");
  CHECK(rig.prepare().checkpoint->pod_devices.size() == 1);
  SUBCASE("the checkpoint is read again if resources may be new") {
    CHECK(rig.prepare(true).checkpoint->pod_devices.empty());
  }
  SUBCASE("the checkpoint is read again after a reload") {
    rig.tracker.on_reload({});
    const HeldIds held = rig.prepare();
    CHECK(held.checkpoint->pod_devices.empty());
    CHECK(held.reloaded);
    rig.tracker.merge({});
    CHECK_FALSE(rig.prepare().reloaded);
  }
}

TEST_CASE("adoption: an unreadable checkpoint is read again half a minute later") {
  Rig rig;
  rig.dir.file(kCheckpoint, "{");
  CHECK_FALSE(rig.prepare().checkpoint);
  rig.dir.file(kCheckpoint, kOnePod);
  test::pass(rig.process.loop, AdoptionTracker::kReadAgain - 1s);
  CHECK_FALSE(rig.prepare().checkpoint);
  test::pass(rig.process.loop, 1s);
  CHECK(rig.prepare().checkpoint);
}

TEST_CASE("adoption: the former content of a checkpoint is kept if the checkpoint becomes unreadable") {
  Rig rig;
  rig.dir.file(kCheckpoint, kOnePod);
  REQUIRE(rig.prepare().checkpoint);
  rig.dir.file(kCheckpoint, "{");
  CHECK(rig.prepare(true).checkpoint->pod_devices.size() == 1);
}

TEST_CASE(
    "adoption: holders are queried after 1 s, 2 s and so on, at most every 10 s, until no holder is left") {
  Rig rig;
  rig.kubelet.add(kA, "X");
  rig.adopt();
  REQUIRE(rig.told(1));
  CHECK(rig.adopted());
  unsigned asked = 1;
  for (const auto pause : {1s, 2s, 4s, 8s, 10s, 10s}) {
    test::pass(rig.process.loop, pause - 500ms);
    CHECK(rig.kubelet.calls().size() == asked);
    test::pass(rig.process.loop, 500ms);
    REQUIRE(rig.told(++asked));
  }
  CHECK(rig.adopted());
  rig.kubelet.forget();
  test::pass(rig.process.loop, 10s);
  REQUIRE(rig.told(++asked));
  CHECK_FALSE(rig.adopted());
  test::pass(rig.process.loop, 1min);
  CHECK(rig.kubelet.calls().size() == asked);
}

TEST_CASE("adoption: no device is released before the kubelet has run for 10 s") {
  Rig rig;
  rig.adopt();
  REQUIRE(rig.told(1));
  CHECK(rig.adopted());
  test::pass(rig.process.loop, KubeletAge::kSettling);
  REQUIRE(rig.told(2));
  CHECK_FALSE(rig.adopted());
}

TEST_CASE("adoption: an id that List omits stays adopted while its pod has a directory") {
  Rig rig;
  rig.dir.file(kCheckpoint, kOnePod);
  rig.dir.directory("pods/u");
  rig.adopt();
  REQUIRE(rig.told(1));
  test::pass(rig.process.loop, KubeletAge::kSettling);
  REQUIRE(rig.told(2));
  CHECK(rig.adopted());
  rig.dir.remove("pods/u");
  test::pass(rig.process.loop, 2s);
  REQUIRE(rig.told(3));
  CHECK_FALSE(rig.adopted());
}

TEST_CASE("adoption: without the kubelet's pod resources API, holders are read from the checkpoint") {
  Rig rig;
  rig.dir.file(kCheckpoint, kOnePod);
  rig.kubelet.refuse_next({grpc::StatusCode::UNIMPLEMENTED, "off"});
  rig.adopt();
  REQUIRE(rig.told(1));
  CHECK(rig.adopted());
  SUBCASE("a device stays adopted while the checkpoint has its holder") {
    rig.kubelet.refuse_next({grpc::StatusCode::UNIMPLEMENTED, "off"});
    test::pass(rig.process.loop, 1s);
    REQUIRE(rig.told(2));
    CHECK(rig.adopted());
  }
  SUBCASE("a device is released when the checkpoint has no holder") {
    rig.dir.file(kCheckpoint, R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":0})");
    rig.kubelet.refuse_next({grpc::StatusCode::UNIMPLEMENTED, "off"});
    test::pass(rig.process.loop, 1s);
    REQUIRE(rig.told(2));
    CHECK_FALSE(rig.adopted());
  }
  SUBCASE("a device stays adopted if the checkpoint cannot be read") {
    rig.dir.file(kCheckpoint, "{");
    rig.kubelet.refuse_next({grpc::StatusCode::UNIMPLEMENTED, "off"});
    test::pass(rig.process.loop, 1s);
    REQUIRE(rig.told(2));
    CHECK(rig.adopted());
  }
}

}  // namespace
}  // namespace plughost
