#include "kubernetes/plugin/served_resource.hpp"

#include <doctest/doctest.h>

#include "deviceplugin/v1beta1/deviceplugin.pb.h"
#include "kubernetes/kubelet/wire.hpp"

using namespace plughost;

namespace {

const auto kAllThere = [](const Allocation&) { return std::string(); };

ResourceSnapshot snapshot() {
  std::vector<Device> devices{{.id = "a",
                               .nodes = {{.host_path = "/dev/a", .container_path = "/dev/a"}},
                               .attributes = {{"pciPath", "pci0000:00/0000:00:01.0"}}},
                              {.id = "ill"}};
  devices[1].error = "it smokes";
  return {.resource = "x.com/r",
          .inventory = Inventory(std::move(devices)),
          .spec = std::make_shared<const AllocationSpec>(),
          .given = std::make_shared<LastGiven>()};
}

grpc::Status answer(const ResourceSnapshot& from, const std::vector<std::string>& ids,
                    const Allocation& more = {}, const CheckAnswer& check = kAllThere) {
  v1beta1::ContainerAllocateResponse response;
  return answer_container(from, ids, more, check, response);
}

// Returns an addition with which the response has exactly `bytes` bytes.
Allocation addition_for(std::size_t bytes) {
  Allocation more{.env = {{"LONG", std::string(bytes - 200, 'x')}}};
  const auto all =
      std::get<Allocation>(container_allocation(snapshot(), std::vector<std::string>{"a"}, more));
  v1beta1::ContainerAllocateResponse message;
  write_allocation(all, message);
  more.env["LONG"].append(bytes - message.ByteSizeLong(), 'x');
  return more;
}

}  // namespace

TEST_CASE("a container's response has the devices, and the program's additions") {
  v1beta1::ContainerAllocateResponse response;
  REQUIRE(
      answer_container(snapshot(), std::vector<std::string>{"a"}, {.env = {{"K", "v"}}}, kAllThere, response)
          .ok());
  REQUIRE(response.devices_size() == 1);
  CHECK(response.devices(0).host_path() == "/dev/a");
  CHECK(response.envs().at("K") == "v");
}

TEST_CASE("the gRPC code of a refusal depends on the reason") {
  CHECK(answer(snapshot(), {"none"}).error_code() == grpc::StatusCode::NOT_FOUND);
  CHECK(answer(snapshot(), {"ill"}).error_code() == grpc::StatusCode::UNAVAILABLE);
  CHECK(answer(snapshot(), {"a"}, {.nodes = {{.host_path = "/dev/b", .container_path = "/dev/a"}}})
            .error_code() == grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_CASE(
    "while all devices are refused for a common reason, an unknown device is still refused as unknown") {
  ResourceSnapshot stalled = snapshot();
  stalled.stalls = {{.terms = nullptr, .why = "the driver hangs"}};
  const grpc::Status status = answer(stalled, {"a"});
  CHECK(status.error_code() == grpc::StatusCode::UNAVAILABLE);
  CHECK(status.error_message() == "x.com/r: the driver hangs");
  CHECK(answer(stalled, {"none"}).error_code() == grpc::StatusCode::NOT_FOUND);
}

TEST_CASE(
    "an Allocate records its hardware in the ledger, and hardware held through a different resource is "
    "refused") {
  ResourceSnapshot one = snapshot();
  one.ledger = std::make_shared<Ledger>();
  ResourceSnapshot other = one;
  other.resource = "x.com/other";
  std::vector<Device> devices{{.id = "a"}, {.id = "shared", .replicas = 2}};
  devices[0].hardware.edit().units = {"/sys/devices/card"};
  one.inventory = Inventory(devices);
  other.inventory = Inventory(devices);
  for (const ResourceSnapshot* each : {&one, &other})
    one.ledger->list(each->resource, each->inventory.devices(), Ledger::Clock::now());
  CHECK(answer(one, {"a"}, {}, [](const Allocation&) { return std::string("it is gone"); }).error_code() ==
        grpc::StatusCode::UNAVAILABLE);
  CHECK_FALSE(one.ledger->held({one.resource, "a"}));
  CHECK(answer(one, {"a"}).ok());
  CHECK(one.ledger->held({one.resource, "a"}));
  const grpc::Status status = answer(other, {"a"});
  CHECK(status.error_code() == grpc::StatusCode::UNAVAILABLE);
  CHECK(status.error_message() ==
        "resource x.com/other: device a: held by a container that has just got it as x.com/r a");
  CHECK(answer(other, {"shared::1"}).ok());
  CHECK(one.ledger->held({other.resource, "shared"}));
  CHECK(answer(one, {"a"}).ok());  // allowed, because the kubelet may give an id again
}

TEST_CASE(
    "an Allocate like an earlier one is for a new container, which gets no hardware of the earlier one's "
    "IOMMU group") {
  ResourceSnapshot cards = snapshot();
  int given = 0;
  cards.ledger = std::make_shared<Ledger>([&] { ++given; });
  ResourceSnapshot others = cards, shares = cards;
  others.resource = "x.com/others";
  shares.resource = "x.com/shares";
  const auto list = [](ResourceSnapshot& each, Device device, std::vector<std::string> units) {
    device.hardware.edit().units = std::move(units);
    each.inventory = Inventory({std::move(device)});
    each.ledger->list(each.resource, each.inventory.devices(), Ledger::Clock::now());
  };
  const std::string group = std::string(kIommuGroup) + "7";
  list(cards, {.id = "card"}, {"/sys/devices/card", group});
  list(others, {.id = "sound"}, {"/sys/devices/sound", group});
  list(shares, {.id = "shared", .replicas = 2}, {});
  CHECK(answer(cards, {"card"}).ok());
  CHECK(answer(shares, {"shared::0"}).ok());
  CHECK(answer(shares, {"shared::1"}).ok());
  CHECK(given == 3);
  CHECK(answer(others, {"sound"}).error_code() == grpc::StatusCode::UNAVAILABLE);
}

TEST_CASE("a device whose node is missing is refused, and does not count as given for `near`") {
  const ResourceSnapshot whole = snapshot();
  const grpc::Status status =
      answer(whole, {"a"}, {}, [](const Allocation& of) { return of.nodes.at(0).host_path + " is gone"; });
  CHECK(status.error_code() == grpc::StatusCode::UNAVAILABLE);
  CHECK(status.error_message() == "x.com/r: /dev/a is gone");
  CHECK(whole.given->just_now(LastGiven::Clock::now()).empty());
  CHECK(answer(whole, {"a"}).ok());
  CHECK(whole.given->just_now(LastGiven::Clock::now()) ==
        std::vector<std::string>{"pci0000:00/0000:00:01.0"});
}

TEST_CASE("a response that the kubelet would not accept is refused") {
  CHECK(answer(snapshot(), {"a"}, addition_for(kListLimit)).ok());
  const grpc::Status status = answer(snapshot(), {"a"}, addition_for(kListLimit + 1));
  CHECK(status.error_code() == grpc::StatusCode::FAILED_PRECONDITION);
  CHECK(status.error_message() == "resource x.com/r: the answer has " + std::to_string(kListLimit + 1) +
                                      " bytes, and the kubelet takes 4 MiB");
}
