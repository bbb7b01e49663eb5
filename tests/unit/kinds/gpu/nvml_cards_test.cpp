// Tests what NVML reports on cards and their errors, and what happens if NVML fails.

#include <doctest/doctest.h>

#include <algorithm>
#include <future>

#include "places.hpp"
#include "unit/kinds/gpu/rig.hpp"

namespace plughost {
namespace {

using namespace test;
using namespace std::chrono_literals;
using Texts = std::vector<std::string>;
using Keys = GpuRig::Keys;

TEST_CASE("the distance of cards comes from the switches and links between them") {
  const std::string cards =
      "card GPU-a pci=0000:01:00.0\ncard GPU-b pci=0000:02:00.0\ncard GPU-c pci=0000:03:00.0 mig=1\n"
      "mig 2 MIG-x name=A_MIG_1g.5gb\n";
  const FakeNvml fake(cards + "level 0 1 10\nlink 0 1 2\nlevel 0 2 40\n");
  const GpuRig rig({{"mig", text("mixed")}});
  const Scan scan = rig.scan();
  REQUIRE(scan.devices.size() == 3);
  const std::vector<Bond> first{{.pci = "0000:02:00.0", .score = 250}, {.pci = "0000:03:00.0", .score = 20}};
  const std::vector<Bond> part{{.pci = "0000:01:00.0", .score = 20},
                               {.pci = "0000:02:00.0", .score = 10},
                               {.pci = "0000:03:00.0", .score = 60}};
  CHECK(scan.devices[0].hardware->bonds == first);
  CHECK(scan.devices[2].hardware->bonds == part);
}

TEST_CASE("an error makes its card Unhealthy, and 30 s without errors make the card Healthy") {
  const FakeNvml fake(kTwoCards);
  GpuRig rig({});
  CHECK(rig.error("GPU-a").empty());
  fake.show(kTwoCards + "event 1 0 8 63\n");
  CHECK(rig.error("GPU-a") == "XID 63: a row of memory is retired or remapped");
  CHECK(rig.error("GPU-b").empty());
  rig.wait(28s);
  CHECK_FALSE(rig.error("GPU-a").empty());
  fake.show(kTwoCards + "event 1 0 8 63\nevent 2 0 8 92\n");
  CHECK(rig.error("GPU-a") == "XID 92: a high rate of single-bit memory errors");
  rig.wait(28s);
  CHECK_FALSE(rig.error("GPU-a").empty());
  rig.wait(2s);
  CHECK(rig.error("GPU-a").empty());
}

TEST_CASE("after an error that only a reset clears, time does not make a card healthy") {
  const std::string lasts = "XID 95: an uncontained memory error: until the GPU has been reset";
  const FakeNvml fake(kTwoCards);
  GpuRig rig({});
  const auto device = [&] { return rig.scan().devices.front(); };
  add_pci(rig.machine, "0000:3b:00.0", "10de", "030200", "nvidia");
  rig.scan();
  fake.show(kTwoCards + "event 1 0 8 95\n");
  CHECK(rig.error("GPU-a") == lasts);
  fake.show(kTwoCards + "event 1 0 8 95\nevent 2 0 8 63\n");  // this error does not end the lasting one
  rig.wait(24h);
  CHECK(device().error == lasts);
  CHECK(device().lasting);
  SUBCASE("until its fault is cleared") {
    rig.source->set_fault(rig.scan().devices.back(), {});
    CHECK(rig.error("GPU-a") == lasts);
    rig.source->set_fault(device(), {});
    CHECK(device().healthy());
    CHECK_FALSE(device().lasting);
    fake.show(kTwoCards + "event 3 0 8 95\n");
    CHECK(rig.error("GPU-a") == lasts);
  }
  SUBCASE("until the driver has requested a reset and no longer does") {
    fake.show("card GPU-a minor=3 pci=0000:3b:00.0 recovery=1\n");
    CHECK_FALSE(device().healthy());
    fake.show(kTwoCards);
    CHECK_FALSE(device().healthy());
    CHECK_FALSE(device().lasting);
    rig.wait(30s);
    CHECK(device().healthy());
  }
  SUBCASE("until the card was lost and responds again") {
    fake.show("card GPU-a lost=1\ncard GPU-b minor=1\n");
    CHECK_FALSE(device().healthy());
    fake.show(kTwoCards);
    CHECK_FALSE(device().healthy());
    rig.wait(30s);
    CHECK(device().healthy());
  }
  SUBCASE("until the card was bound to a different driver and back, which resets the card") {
    fake.show(kTwoCards);
    rig.machine.bind(kPciRoot + "0000:3b:00.0", "vfio-pci");
    rig.scan();
    rig.machine.bind(kPciRoot + "0000:3b:00.0", "nvidia");
    rig.wait(30s);
    CHECK(device().healthy());
  }
  SUBCASE("until the driver was unloaded and loaded again") {
    fake.show("fail nvmlInit_v2 9\nfail nvmlDeviceGetCount_v2 1\n");
    rig.scan();
    fake.show(kTwoCards);
    rig.wait(30s);
    CHECK(device().healthy());
  }
}

TEST_CASE("a lasting fault that a predecessor has found is the card's until it is cleared") {
  const FakeNvml fake(kTwoCards);
  GpuRig rig({});
  const auto device = [&] { return rig.scan().devices.front(); };
  rig.source->set_fault(device(), "XID 79: the GPU has fallen off the bus");
  CHECK(device().error == "XID 79: the GPU has fallen off the bus");
  CHECK(device().lasting);
  CHECK(rig.scan().devices.back().healthy());
  rig.wait(24h);
  CHECK_FALSE(device().healthy());
  rig.source->set_fault(device(), {});
  CHECK(device().healthy());
}

TEST_CASE("errors from which a card recovers by itself are known") {
  for (const unsigned xid : {13U, 31U, 43U, 45U, 63U, 68U, 69U, 92U, 137U, 157U}) CHECK_FALSE(xid_lasts(xid));
  for (const unsigned xid : {46U, 48U, 62U, 64U, 74U, 79U, 94U, 95U, 119U, 120U, 140U, 143U, 149U, 158U})
    CHECK(xid_lasts(xid));
  CHECK(xid_lasts(9'999));  // an unknown XID lasts
  CHECK(xid_words(9'999) == "XID 9999");
}

TEST_CASE("a memory error that NVML reports as its own event lasts until a reset") {
  const FakeNvml fake(kTwoCards);
  GpuRig rig({});
  rig.scan();
  fake.show(kTwoCards + "event 1 0 2 0\n");
  CHECK(rig.error("GPU-a") == "an uncorrectable (double-bit) memory error: until the GPU has been reset");
  rig.wait(1h);
  CHECK_FALSE(rig.error("GPU-a").empty());
}

TEST_CASE("errors that programs cause are not the card's, unless configured") {
  const std::string events = "event 1 0 8 31\nevent 2 1 8 48\n";
  const auto errors = [&](Keys keys) {
    const FakeNvml fake(kTwoCards);
    const GpuRig rig(std::move(keys));
    rig.scan();
    fake.show(kTwoCards + events);
    rig.scan();  // reads both events
    return std::pair(!rig.error("GPU-a").empty(), !rig.error("GPU-b").empty());
  };
  CHECK(errors({}) == std::pair(false, true));
  CHECK(errors({{"ignoredXids", text("48")}}) == std::pair(true, false));
  CHECK(errors({{"healthChecks", text("false")}}) == std::pair(false, false));
  ::setenv("DP_DISABLE_HEALTHCHECKS", "48, 74", 1);
  CHECK(errors({}) == std::pair(false, false));
  ::setenv("DP_DISABLE_HEALTHCHECKS", "48 ,74", 1);
  CHECK(errors({}) == std::pair(false, false));
  ::setenv("DP_DISABLE_HEALTHCHECKS", "74, 48 ", 1);
  CHECK(errors({}) == std::pair(false, false));
  ::setenv("DP_DISABLE_HEALTHCHECKS", "xids", 1);
  CHECK(errors({}) == std::pair(false, false));
  ::setenv("DP_ENABLE_HEALTHCHECKS", "31", 1);
  CHECK(errors({}) == std::pair(true, false));
  ::unsetenv("DP_DISABLE_HEALTHCHECKS");
  ::unsetenv("DP_ENABLE_HEALTHCHECKS");
}

TEST_CASE("an error of a MIG device affects only that device, and an error of its card all MIG devices") {
  const FakeNvml fake(kDividedCards);
  const GpuRig rig({{"mig", text("mixed")}});
  rig.scan();
  fake.show(kDividedCards + "event 1 0 8 48 8 0\n");
  CHECK(rig.error("MIG-y").starts_with("XID 48"));
  CHECK(rig.error("MIG-x").empty());
  fake.show(kDividedCards + "event 2 0 8 79\n");
  CHECK(rig.error("MIG-x").starts_with("XID 79"));
  // set_fault() without a fault for a MIG device also clears its card's errors, but not those of other MIG
  // devices.
  rig.source->set_fault(rig.scan().devices[0], {});
  CHECK(rig.error("MIG-x").empty());
  CHECK(rig.error("MIG-y").starts_with("XID 48"));
}

TEST_CASE("an error of a GPU instance affects its compute instances, and no others") {
  const std::string cards =
      "card GPU-a minor=3 mig=1\n"
      "mig 0 MIG-x gi=7 ci=0 memory=4864 name=NVIDIA_A100_MIG_1c.2g.10gb\n"
      "mig 0 MIG-y gi=7 ci=1 memory=4864 name=NVIDIA_A100_MIG_1c.2g.10gb\n"
      "mig 0 MIG-z gi=8 ci=0 memory=4864 name=NVIDIA_A100_MIG_1g.5gb\n";
  const FakeNvml fake(cards);
  const GpuRig rig({{"mig", text("mixed")}});
  rig.scan();
  fake.show(cards + "event 1 0 8 79 7\n");
  CHECK_FALSE(rig.error("MIG-x").empty());
  CHECK_FALSE(rig.error("MIG-y").empty());
  CHECK(rig.error("MIG-z").empty());
}

TEST_CASE("errors are watched again after the driver was unloaded and loaded") {
  const FakeNvml fake(kTwoCards);
  const GpuRig rig({});
  rig.scan();
  fake.show("fail nvmlInit_v2 9\nfail nvmlDeviceGetCount_v2 1\n");
  rig.scan();
  fake.show(kTwoCards);
  rig.scan();
  fake.show(kTwoCards + "event 1 0 8 79\n");
  CHECK_FALSE(rig.error("GPU-a").empty());
  CHECK(rig.error("GPU-b").empty());
}

TEST_CASE("a lost card affects no other card, and returns when it responds again") {
  const FakeNvml fake(kTwoCards);
  GpuRig rig({});
  rig.scan();
  fake.show("card GPU-a lost=1\ncard GPU-b minor=1\n");
  CHECK(rig.error("GPU-a") == "nvmlDeviceGetHandleByIndex: GPU is lost (15)");
  CHECK(rig.error("GPU-b").empty());
  const auto refused = answer(rig.scan(), {}, {"GPU-a"});
  REQUIRE(std::holds_alternative<Refusal>(refused));
  CHECK(std::get<Refusal>(refused).text.find("GPU is lost") != std::string::npos);
  fake.show(kTwoCards);
  CHECK_FALSE(rig.error("GPU-a").empty());
  rig.wait(30s);
  CHECK(rig.error("GPU-a").empty());
}

TEST_CASE("a card that is lost at the start is left out with a remark") {
  const FakeNvml fake("card GPU-a lost=1\ncard GPU-b minor=1\n");
  const GpuRig rig({});
  const Scan scan = rig.scan();
  CHECK(ids_of(scan) == Texts{"GPU-b"});
  CHECK(value(scan.devices[0], "index") == "1");
  REQUIRE(scan.remarks.size() == 1);
  CHECK(scan.remarks[0].find("GPU 0 is left out") == 0);
}

TEST_CASE("a card that has left the bus does not make a different card with its former index Unhealthy") {
  const FakeNvml fake("card GPU-a\ncard GPU-b\ncard GPU-c\n");
  const GpuRig rig({});
  rig.scan();
  fake.show("card GPU-b\ncard GPU-x lost=1\ncard GPU-c\n");
  const Scan scan = rig.scan();
  CHECK(ids_of(scan) == Texts{"GPU-b", "GPU-c"});
  for (const Device& device : scan.devices) CHECK(device.healthy());
}

TEST_CASE("a card that requests a reset is Unhealthy until it no longer does") {
  const FakeNvml fake("card GPU-a recovery=1\n");
  GpuRig rig({});
  CHECK(rig.error("GPU-a").find("recovery action (1)") != std::string::npos);
  fake.show("card GPU-a\n");
  rig.wait(30s);
  CHECK(rig.error("GPU-a").empty());
}

TEST_CASE("a card is Unhealthy until the fabric manager has finished, and Healthy at the next scan") {
  const std::string cards = "card GPU-a minor=3 fabric=";
  const FakeNvml fake(cards + "2\ncard GPU-b minor=1\n");
  const GpuRig rig({});
  CHECK(rig.error("GPU-a") ==
        "the fabric manager has not finished: In Progress; a CUDA program would fail with error 802 (system "
        "not yet initialized): start nvidia-fabricmanager in the version of the driver, or see its log");
  CHECK(rig.error("GPU-b").empty());
  CHECK(rig.scan().rescan_after == 5s);
  fake.show(cards + "3\ncard GPU-b minor=1\n");
  CHECK(rig.error("GPU-a").empty());
  fake.show(cards + "3 fabricStatus=999\ncard GPU-b minor=1\n");
  CHECK(rig.error("GPU-a").starts_with("the fabric manager has failed: Unknown Error (999); "));
  const GpuRig unasked({{"healthChecks", text("false")}});
  CHECK(unasked.error("GPU-a").empty());
}

TEST_CASE("with an old library without versioned calls the cards are listed and their errors reported") {
  const FakeNvml fake(kTwoCards);
  const GpuRig rig({}, kFakeNvmlOld);
  CHECK(ids_of(rig.scan()) == Texts{"GPU-a", "GPU-b"});
  fake.show(kTwoCards + "event 1 1 8 79\n");
  CHECK(rig.error("GPU-b").starts_with("XID 79"));
}

TEST_CASE("a scan in which an NVML call hangs lists all cards when the driver responds") {
  for (const char* call :
       {"nvmlInit_v2", "nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetUUID",
        "nvmlDeviceGetName", "nvmlDeviceGetMinorNumber", "nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetMemoryInfo",
        "nvmlDeviceGetMigMode", "nvmlDeviceGetTopologyCommonAncestor", "nvmlDeviceGetNvLinkState",
        "nvmlDeviceGetFieldValues", "nvmlDeviceGetGpuFabricInfoV", "nvmlEventSetCreate",
        "nvmlDeviceGetSupportedEventTypes", "nvmlDeviceRegisterEvents", "nvmlEventSetWait_v2"}) {
    CAPTURE(call);
    const FakeNvml fake(kTwoCards + "hang " + call + '\n');
    const GpuRig rig({});
    auto look = std::async(std::launch::async, [&] { return rig.source->scan(rig.machine.host()); });
    CHECK(look.wait_for(20ms) == std::future_status::timeout);
    fake.show(kTwoCards);
    CHECK(ids_of(look.get()) == Texts{"GPU-a", "GPU-b"});
  }
}

TEST_CASE("a card whose errors cannot be watched is Unhealthy, if health checks are on") {
  for (const char* call : {"nvmlEventSetCreate", "nvmlDeviceGetSupportedEventTypes",
                           "nvmlDeviceRegisterEvents", "nvmlEventSetWait_v2"}) {
    CAPTURE(call);
    const FakeNvml fake(kTwoCards + "fail " + call + " 999\n");
    GpuRig rig({});
    for (const Device& device : rig.scan().devices)
      CHECK(device.error.starts_with("its errors cannot be followed: nvml"));
    const GpuRig unasked({{"healthChecks", text("false")}});
    for (const Device& device : unasked.scan().devices) CHECK(device.healthy());
    // Error 3 means that the card supports no events, so nothing can be watched.
    fake.show(kTwoCards + "fail " + call + " 3\n");
    rig.wait(30s);
    for (const Device& device : rig.scan().devices) CHECK(device.healthy());
  }
}

TEST_CASE("if an NVML call for one attribute fails, the cards are still listed and Healthy") {
  for (const char* call :
       {"nvmlDeviceGetName", "nvmlDeviceGetMinorNumber", "nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetMemoryInfo",
        "nvmlDeviceGetMigMode", "nvmlDeviceGetTopologyCommonAncestor", "nvmlDeviceGetNvLinkState",
        "nvmlDeviceGetFieldValues", "nvmlDeviceGetGpuFabricInfoV", "nvmlDeviceGetGpuFabricInfo"}) {
    CAPTURE(call);
    const FakeNvml fake(kTwoCards + "fail " + call + " 999\n");
    const GpuRig rig({});
    const Scan scan = rig.scan();
    CHECK(ids_of(scan) == Texts{"GPU-a", "GPU-b"});
    for (const Device& device : scan.devices) CHECK(device.healthy());
  }
}

}  // namespace
}  // namespace plughost
