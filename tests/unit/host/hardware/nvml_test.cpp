#include "host/hardware/nvml.hpp"

#include <doctest/doctest.h>

#include <future>
#include <thread>

#include "places.hpp"
#include "unit/fake_nvml.hpp"

namespace plughost {
namespace {

using test::FakeNvml;
using namespace std::chrono_literals;

const std::string kTwoCards =
    "card GPU-a minor=3 pci=0000:3b:00.0 memory=81559 name=NVIDIA_H100\n"
    "card GPU-b minor=1 pci=0001:86:00.0 memory=40960 mig=-1\n";

std::unique_ptr<Nvml> opened(const std::string& library = test::kFakeNvml) {
  auto result = Nvml::open(library);
  if (const auto* unusable = std::get_if<Nvml::Unusable>(&result)) FAIL(unusable->why);
  return std::get<std::unique_ptr<Nvml>>(std::move(result));
}

template <typename T>
T value(const NvmlResult<T>& result) {
  if (const auto* failure = std::get_if<NvmlFailure>(&result)) FAIL(failure->what);
  return std::get<T>(result);
}

template <typename T>
NvmlFailure failure(const NvmlResult<T>& result) {
  REQUIRE(std::holds_alternative<NvmlFailure>(result));
  return std::get<NvmlFailure>(result);
}

TEST_CASE("if NVML is missing or cannot be initialized, the reason is reported") {
  const auto missing = std::get<Nvml::Unusable>(Nvml::open("libnvidia-none.so.1"));
  CHECK(missing.why.starts_with("libnvidia-none.so.1"));
  CHECK_FALSE(missing.refuses);
  const FakeNvml fake("fail nvmlInit_v2 9\n");
  const auto idle = std::get<Nvml::Unusable>(Nvml::open(test::kFakeNvml));
  CHECK(idle.why.ends_with("Driver Not Loaded (9)"));
  CHECK(idle.refuses);
  CHECK_FALSE(fake.in_use());
}

TEST_CASE("NVML reports a card's facts, and the library is shut down when Nvml ends") {
  const FakeNvml fake(kTwoCards);
  {
    const auto nvml = opened();
    CHECK(fake.in_use());
    CHECK(nvml->file() == test::kFakeNvml);
    CHECK(value(nvml->count()) == 2);
    const NvmlDevice card = value(nvml->device(0));
    CHECK(value(nvml->uuid(card)) == "GPU-a");
    CHECK(value(nvml->name(card)) == "NVIDIA H100");
    CHECK(value(nvml->minor_number(card)) == 3);
    CHECK(value(nvml->pci_address(card)) == "0000:3b:00.0");
    CHECK(value(nvml->memory(card)) == 81559ull << 20);
    CHECK_FALSE(value(nvml->mig_enabled(card)));
    CHECK(value(nvml->recovery_action(card)) == 0);
    CHECK(failure(nvml->mig_enabled(value(nvml->device(1)))).not_supported());
  }
  CHECK_FALSE(fake.in_use());
}

TEST_CASE("queries about a lost card return an error, and queries about the other cards succeed") {
  const FakeNvml fake(kTwoCards);
  const auto nvml = opened();
  const NvmlDevice card = value(nvml->device(0));
  fake.show("card GPU-a lost=1\ncard GPU-b minor=1\n");
  CHECK(failure(nvml->uuid(card)).lost());
  CHECK(failure(nvml->uuid(card)).what == "nvmlDeviceGetUUID: GPU is lost (15)");
  CHECK(failure(nvml->device(0)).lost());
  CHECK(value(nvml->uuid(value(nvml->device(1)))) == "GPU-b");
}

TEST_CASE("MIG devices are found by their card") {
  const FakeNvml fake(
      "card GPU-a mig=1\nmig 0 MIG-x gi=7 ci=0 memory=4864 name=NVIDIA_A100_MIG_1g.5gb\n"
      "mig 0 MIG-y gi=8 ci=1\n");
  const auto nvml = opened();
  const NvmlDevice card = value(nvml->device(0));
  const std::vector<NvmlDevice> parts = value(nvml->mig_devices(card));
  REQUIRE(parts.size() == 2);
  CHECK(value(nvml->uuid(parts[0])) == "MIG-x");
  CHECK(value(nvml->name(parts[0])) == "NVIDIA A100 MIG 1g.5gb");
  CHECK(value(nvml->gpu_instance(parts[0])) == 7);
  CHECK(value(nvml->compute_instance(parts[1])) == 1);
}

TEST_CASE("the NVLinks and the common ancestor of two cards are reported") {
  const FakeNvml fake("card GPU-a pci=0000:01:00.0\ncard GPU-b pci=0000:02:00.0\nlink 0 1 2\nlevel 0 1 30\n");
  const auto nvml = opened();
  const NvmlDevice card = value(nvml->device(0));
  CHECK(value(nvml->common_ancestor(card, value(nvml->device(1)))) == NvmlLevel::kHostBridge);
  CHECK(nvml->link_peers(card) == std::vector<std::string>(2, "0000:02:00.0"));
}

TEST_CASE("events are reported once, for the watched cards and types") {
  const FakeNvml fake("card GPU-a events=0x8\ncard GPU-b\n");
  const auto nvml = opened();
  const NvmlDevice card = value(nvml->device(0));
  CHECK(failure(nvml->next_event(0ms)).timed_out());
  CHECK_FALSE(nvml->follow(card, NvmlEvent::kXid | NvmlEvent::kDoubleBitError));
  fake.show("card GPU-a events=0x8\ncard GPU-b\nevent 1 1 8 13\nevent 2 0 8 79 5 6\n");
  const NvmlEvent event = value(nvml->next_event(0ms));
  CHECK(event.handle == card.handle);
  CHECK(event.type == NvmlEvent::kXid);
  CHECK(event.code == 79);
  CHECK(event.gpu_instance == 5);
  CHECK(event.compute_instance == 6);
  CHECK(failure(nvml->next_event(0ms)).timed_out());
}

TEST_CASE("an old library without versioned calls is used, and what it lacks is reported as not supported") {
  const FakeNvml fake(kTwoCards);
  const auto nvml = opened(test::kFakeNvmlOld);
  CHECK(value(nvml->count()) == 2);
  const NvmlDevice card = value(nvml->device(1));
  CHECK(value(nvml->pci_address(card)) == "0001:86:00.0");
  CHECK(failure(nvml->mig_enabled(card)).not_supported());
  CHECK(failure(nvml->recovery_action(card)).not_supported());
  CHECK_FALSE(nvml->follow(card, NvmlEvent::kXid));
  fake.show(kTwoCards + "event 1 1 8 48 5 6\n");
  const NvmlEvent event = value(nvml->next_event(0ms));
  CHECK(event.code == 48);
  CHECK(event.gpu_instance == NvmlView::kWholeCard);
}

TEST_CASE("the error of a fabric that is not ready has NVML's text, with both versions of the call") {
  const FakeNvml fake("");
  const auto nvml = opened();
  const auto error = [&](const std::string& fabric) {
    const auto told = [&](const std::string& more) {
      fake.show("card GPU-a " + fabric + "\n" + more);
      return nvml->fabric_error(value(nvml->device(0)));
    };
    CHECK(told("fail nvmlDeviceGetGpuFabricInfoV 25\n") == told("fail nvmlDeviceGetGpuFabricInfo 13\n"));
    return told("");
  };
  CHECK(error("") == "");
  CHECK(error("fabric=0") == "");
  CHECK(error("fabric=1") == "has not finished: Not Started");
  CHECK(error("fabric=2 fabricStatus=999") == "has not finished: In Progress");
  CHECK(error("fabric=3") == "");
  CHECK(error("fabric=3 fabricStatus=999") == "has failed: Unknown Error (999)");
  CHECK(error("fabric=200") == "");
}

TEST_CASE("a library without the call for fabrics reports no error of them") {
  const FakeNvml fake("card GPU-a fabric=2\n");
  const auto nvml = opened(test::kFakeNvmlOld);
  CHECK(nvml->fabric_error(value(nvml->device(0))).empty());
}

TEST_CASE("a call that hangs ends when the driver responds") {
  const FakeNvml fake(kTwoCards);
  const auto nvml = opened();
  fake.show(kTwoCards + "hang nvmlDeviceGetCount_v2\n");
  auto count = std::async(std::launch::async, [&] { return nvml->count(); });
  CHECK(count.wait_for(50ms) == std::future_status::timeout);
  fake.show(kTwoCards);
  CHECK(value(count.get()) == 2);
}

}  // namespace
}  // namespace plughost
