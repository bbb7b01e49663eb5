#include "daemon/adoption/adoption_tracker.hpp"

#include <doctest/doctest.h>

#include "unit/daemon/resource_names.hpp"

namespace plughost {
namespace {

using test::kA;
using test::kB;

Adoption held(std::initializer_list<std::pair<const char*, const char*>> devices) {
  Adoption adoption;
  for (const auto& [device, id] : devices)
    adoption.devices[device].push_back({.id = id, .pod_uid = "uid", .container = "main"});
  return adoption;
}

Holdings holds(const std::string& resource, std::initializer_list<const char*> ids) {
  HoldingsBuilder holdings;
  const auto pod = std::make_shared<const Holder>(Holder{"default", "pod", "main"});
  for (const char* id : ids) holdings.add(resource, id, pod);
  return std::move(holdings).build();
}

IdsPointer ids(std::vector<std::string_view> of) { return std::make_shared<const IdList>(std::move(of)); }

// Returns the device with the changes that `adopted` makes to it.
Device with(const AdoptedDevices& adopted, Device device, const std::string& resource = kA) {
  std::vector<Device> devices{std::move(device)};
  adopted.apply(resource, devices);
  return devices[0];
}

TEST_CASE("an adopted device is Unhealthy, and its reason names the holder") {
  AdoptedDevices adopted;
  CHECK_FALSE(adopted.open());
  const auto news = adopted.merge({{kA, held({{"amy", "X"}})}});
  REQUIRE(news.adopted.size() == 1);
  CHECK(news.adopted[0].device == AdoptedDevices::Name{kA, "amy"});
  CHECK(news.adopted[0].holder.id == "X");
  CHECK(adopted.open());
  CHECK(adopted.ids().at(kA) == std::set<std::string>{"X"});
  Device amy = with(adopted, {.id = "amy"});
  CHECK_FALSE(amy.healthy());
  CHECK(amy.error.empty());
  CHECK(amy.reason() == "held by uid since before plughost, as X");
  CHECK(with(adopted, {.id = "bob"}).healthy());
  CHECK(with(adopted, {.id = "amy"}, kB).healthy());
  CHECK(with(adopted, {.id = "amy", .error = "sick"}).reason() ==
        "held by uid since before plughost, as X; and by itself: sick");
  // The kubelet knows the pod's name; the checkpoint does not.
  CHECK(adopted.update({{kA, {{"X", {.pod_namespace = "", .pod = "uid", .container = "main"}}}}}, true)
            .over.empty());
  CHECK(with(adopted, {.id = "amy"}).reason() == "held by uid since before plughost, as X");
  CHECK(adopted.update(holds(kA, {"X"}), true).over.empty());
  CHECK(with(adopted, {.id = "amy"}).reason() == "held by default/pod since before plughost, as X");
  // The adoption is reported only once.
  CHECK(adopted.merge({{kA, held({{"amy", "X"}})}}).adopted.empty());
}

TEST_CASE(
    "an id whose holder has ended no longer makes its device Unhealthy, even if the checkpoint has it") {
  AdoptedDevices adopted;
  adopted.merge({{kA, held({{"amy", "X"}, {"bob", "Y"}})}});
  const auto news = adopted.update(holds(kA, {"Y"}), true);
  REQUIRE(news.over.size() == 1);
  CHECK(news.over[0] == AdoptedDevices::Name{kA, "X"});
  CHECK(with(adopted, {.id = "amy"}).healthy());
  CHECK_FALSE(with(adopted, {.id = "bob"}).healthy());
  CHECK(adopted.merge({{kA, held({{"amy", "X"}, {"bob", "Y"}})}}).adopted.empty());
  CHECK(with(adopted, {.id = "amy"}).healthy());
  CHECK(adopted.ids().at(kA) == std::set<std::string>{"Y"});
  CHECK(adopted.update(holds(kB, {"Y"}), true).over.size() == 1);
  CHECK_FALSE(adopted.open());
  CHECK(adopted.ids().empty());
  CHECK(with(adopted, {.id = "bob"}).healthy());
}

TEST_CASE("an incomplete response about holders releases no device, but names the holders that it contains") {
  AdoptedDevices adopted;
  adopted.merge({{kA, held({{"amy", "X"}, {"bob", "Y"}})}});
  CHECK(adopted.update(holds(kA, {"X"}), false).over.empty());
  CHECK(with(adopted, {.id = "amy"}).reason() == "held by default/pod since before plughost, as X");
  CHECK(with(adopted, {.id = "bob"}).reason() == "held by uid since before plughost, as Y");
}

TEST_CASE("a released device is adopted again if the checkpoint is read again and still has the hold") {
  AdoptedDevices adopted;
  adopted.merge({{kA, held({{"amy", "X"}})}});
  adopted.update({}, true);
  adopted.read_again();
  CHECK(adopted.merge({{kA, held({{"amy", "X"}})}}).adopted.size() == 1);
  CHECK_FALSE(with(adopted, {.id = "amy"}).healthy());
}

TEST_CASE("an adopted device that vanishes and returns is adopted again") {
  AdoptedDevices adopted;
  adopted.merge({{kA, held({{"amy", "X"}})}});
  adopted.merge({{kA, Adoption()}});
  CHECK(with(adopted, {.id = "amy"}).healthy());
  CHECK(adopted.ids().at(kA).contains("X"));
  adopted.merge({});
  CHECK(adopted.ids().at(kA).contains("X"));
  CHECK(adopted.merge({{kA, held({{"amy", "X"}})}}).adopted.empty());
  CHECK_FALSE(with(adopted, {.id = "amy"}).healthy());
}

TEST_CASE("a device with several holders is reserved until the last one ends") {
  AdoptedDevices adopted;
  adopted.merge({{kA, held({{"amy", "X"}, {"amy", "Y"}, {"amy", "Z"}})}});
  CHECK(with(adopted, {.id = "amy"}).reason() == "held by uid since before plughost, as X, and by 2 more");
  adopted.update(holds(kA, {"Y"}), true);
  CHECK(with(adopted, {.id = "amy"}).reason() == "held by default/pod since before plughost, as Y");
  adopted.update({}, true);
  CHECK(with(adopted, {.id = "amy"}).healthy());
}

TEST_CASE("as many of a device's last free shares are reserved as pods hold by adopted ids") {
  const auto taken = [](Adoption adoption, unsigned replicas) {
    AdoptedDevices adopted;
    adopted.merge({{kA, std::move(adoption)}});
    return with(adopted, {.id = "gpu", .replicas = replicas});
  };
  using Shares = std::vector<unsigned>;
  Adoption two = held({{"gpu", "X"}, {"gpu", "Y"}});
  Device gpu = taken(two, 4);
  CHECK(gpu.reasons.at(0).shares == Shares{2, 3});
  CHECK(gpu.healthy());
  CHECK(gpu.reason() == "2 of its 4 shares held by uid since before plughost, as X, and by 1 more");
  CHECK(gpu.healthy_share(1));
  CHECK_FALSE(gpu.healthy_share(2));
  CHECK_FALSE(gpu.healthy_share(3));
  CHECK(taken(two, 3).reasons.at(0).shares == Shares{1, 2});
  gpu = taken(two, 2);
  CHECK(gpu.reasons.at(0).shares == Shares{0, 1});
  CHECK_FALSE(gpu.healthy());
  two.used["gpu"] = {1, 3};
  CHECK(taken(two, 4).reasons.at(0).shares == Shares{0, 2});
  CHECK(taken(two, 5).reasons.at(0).shares == Shares{2, 4});
  // There are more holds than shares: a used share is reserved, too, for the time after its pod has ended.
  two.used["gpu"] = {0, 1, 2};
  CHECK(taken(two, 4).reasons.at(0).shares == Shares{2, 3});
  two.used["gpu"] = {0, 1, 2, 3};
  CHECK(taken(two, 4).reasons.at(0).shares == Shares{2, 3});
  CHECK(taken(held({{"gpu", "X"}, {"gpu", "Y"}}), 1).reasons.at(0).shares == Shares{0});
}

TEST_CASE("the holder of an adopted id is also found under the resource's name with, or without, .shared") {
  for (const auto& [listed, asked] : {std::pair(kA + ".shared", kA), std::pair(kA, kA + ".shared")}) {
    AdoptedDevices adopted;
    adopted.merge({{listed, held({{"gpu", "gpu"}})}});
    CHECK(adopted.update(holds(asked, {"gpu"}), true).over.empty());
    CHECK(with(adopted, {.id = "gpu"}, listed).reason() ==
          "held by default/pod since before plughost, as gpu");
    CHECK(adopted.update(holds(asked, {"other"}), true).over.size() == 1);
    CHECK(with(adopted, {.id = "gpu"}, listed).healthy());
  }
}

TEST_CASE("a holder whose device is not recognised is reported once, when the kubelet's answer is complete") {
  AdoptedDevices adopted;
  const auto found = [] {
    Adoption adoption;
    for (const char* id : {"X", "Y"})
      adoption.strangers.push_back({.id = id, .pod_uid = "uid", .container = "main"});
    return std::map<std::string, Adoption>{{kA, adoption}};
  };
  CHECK(adopted.merge(found()).strangers.empty());
  CHECK(adopted.open());
  CHECK(adopted.update({}, false).strangers.empty());
  CHECK(adopted.open());
  const auto news = adopted.update(holds(kA, {"X"}), true);
  REQUIRE(news.strangers.size() == 1);
  CHECK(news.strangers[0].first == AdoptedDevices::Name{kA, "X"});
  CHECK(news.strangers[0].second.pod == "pod");
  CHECK(news.over.empty());
  CHECK_FALSE(adopted.open());
  adopted.merge(found());
  CHECK_FALSE(adopted.open());
  // A holder is no longer unrecognised when its device has appeared.
  adopted.read_again();
  adopted.merge(found());
  CHECK(adopted.open());
  adopted.merge({});
  CHECK_FALSE(adopted.open());
}

TEST_CASE("the ids that a resource has listed are remembered after later scans") {
  AdoptedDevices adopted;
  Adoption own;
  own.own = ids({"a"});
  adopted.merge({{kA, own}});
  own.own = ids({"b"});
  adopted.merge({{kA, own}, {kB, own}});
  adopted.merge({});
  CHECK(std::ranges::equal(*adopted.own().at(kA), std::vector{"a", "b"}));
  CHECK(std::ranges::equal(*adopted.own().at(kB), std::vector{"b"}));
  CHECK_FALSE(adopted.open());
}

TEST_CASE("a device with other nodes than its container was given is Unhealthy until that container ends") {
  AdoptedDevices adopted;
  const auto stale = [](const std::string& now) {
    Adoption adoption;
    adoption.own = ids({"amy"});
    adoption.stale["amy"] = {
        {.holder = {"amy", "uid", "main"}, .given = {"/dev/0", "/dev/1"}, .now = now, .units = {"/sys/0"}}};
    return std::map<std::string, Adoption>{{kA, adoption}};
  };
  const auto news = adopted.merge(stale("/dev/2"));
  REQUIRE(news.moved.size() == 1);
  CHECK(news.moved[0].first == AdoptedDevices::Name{kA, "amy"});
  CHECK(news.adopted.empty());
  CHECK(adopted.open());
  CHECK(adopted.ids().empty());
  CHECK(adopted.touches(kA));
  CHECK_FALSE(adopted.touches(kB));
  CHECK(with(adopted, {.id = "amy"}).reason() ==
        "uid was given /dev/0, /dev/1 for it, and it is /dev/2 now: delete the pod");
  CHECK(with(adopted, {.id = "bob"}).healthy());
  CHECK(adopted.units_elsewhere(kA) == std::map<std::string, std::vector<std::string>>{{"amy", {"/sys/0"}}});
  CHECK(adopted.units_elsewhere(kB).empty());
  adopted.update(holds(kA, {"amy"}), true);
  CHECK(with(adopted, {.id = "amy"}).reason().starts_with("default/pod was given"));
  CHECK(adopted.merge(stale("/dev/2")).moved.empty());
  adopted.update({}, false);
  CHECK(adopted.open());
  adopted.update({}, true);
  CHECK_FALSE(adopted.open());
  CHECK(adopted.units_elsewhere(kA).empty());
  CHECK(with(adopted, {.id = "amy"}).healthy());
  adopted.merge(stale("/dev/2"));  // the checkpoint still has the container
  CHECK(with(adopted, {.id = "amy"}).healthy());
  adopted.read_again();
  CHECK(adopted.merge(stale("")).moved.empty());  // its nodes were given, and a foreign one
  CHECK(adopted.open());
  CHECK(with(adopted, {.id = "amy"}).healthy());
  CHECK_FALSE(adopted.units_elsewhere(kA).empty());
  CHECK(adopted.merge(stale("/dev/3")).moved.size() == 1);
  CHECK(adopted.merge(stale("")).moved.empty());
  CHECK(adopted.merge(stale("/dev/3")).moved.empty());  // the move was reported already
}

TEST_CASE(
    "if a container of one share was given other nodes than the device has, only this share is Unhealthy") {
  AdoptedDevices adopted;
  Adoption adoption;
  adoption.stale["amy"] = {
      {.holder = {"amy::1", "uid", "main"}, .share = 1, .given = {"/dev/0"}, .now = "/dev/2"}};
  adopted.merge({{kA, adoption}});
  const Device amy = with(adopted, {.id = "amy", .replicas = 3});
  CHECK(amy.healthy_shares() == 2);
  CHECK_FALSE(amy.healthy_share(1));
}

}  // namespace
}  // namespace plughost
