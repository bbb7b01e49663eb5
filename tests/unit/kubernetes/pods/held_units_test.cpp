#include "kubernetes/pods/assuming.hpp"

#include <doctest/doctest.h>

using namespace plughost;

namespace {

Checkpoint::PodDevices some(const std::string& pod, const std::string& container, const std::string& resource,
                            std::map<int, std::vector<std::string>> ids, const std::string& value = "") {
  Checkpoint::PodDevices devices{pod, container, resource, std::move(ids), std::nullopt};
  std::vector<std::string> all;
  for (const auto& [node, on_node] : devices.ids) all.insert(all.end(), on_node.begin(), on_node.end());
  devices.set = IdSet::of(resource, all);
  if (!value.empty()) devices.allocation = Allocation{.env = {{"CARD", value}}};
  return devices;
}

const Checkpoint kCheckpoint{.pod_devices = {some("a", "c0", "x.com/m", {{0, {"1"}}, {1, {"3", "2"}}}, "0"),
                                             some("a", "c1", "x.com/m", {{-1, {"4"}}}, "1"),
                                             some("a", "c1", "x.com/n", {{-1, {"5"}}}, "2"),
                                             some("b", "c0", "x.com/m", {{-1, {"6"}}})},
                             .registered = {}};

}  // namespace

TEST_CASE("the containers that hold units of a resource are found, with the ids of all NUMA nodes together") {
  const std::vector<HeldUnits> held = held_units(kCheckpoint, "x.com/m");
  REQUIRE(held.size() == 3);
  CHECK(held[0].pod_uid == "a");
  CHECK(held[0].container == "c0");
  CHECK(held[0].ids == IdSet::of("x.com/m", std::vector<std::string>{"2", "1", "3"}));
  CHECK(held[0].ids.count == 3);
  CHECK(held[2].pod_uid == "b");
  CHECK(containers_of(held) == AnsweredContainers{{"a", "c0"}, {"a", "c1"}, {"b", "c0"}});
  CHECK(held_units(kCheckpoint, "x.com/o").empty());
}

TEST_CASE("a container's response is found by its resource, if the checkpoint has it") {
  const std::vector<HeldUnits> held = held_units(kCheckpoint, "x.com/m");
  CHECK(answer_for(kCheckpoint, "x.com/m", held[0])->env.at("CARD") == "0");
  CHECK(answer_for(kCheckpoint, "x.com/m", held[1])->env.at("CARD") == "1");
  CHECK(answer_for(kCheckpoint, "x.com/n", held[1])->env.at("CARD") == "2");
  CHECK(answer_for(kCheckpoint, "x.com/m", held[2]) == nullptr);
  CHECK(answer_for(kCheckpoint, "x.com/n", held[2]) == nullptr);
}

TEST_CASE("the late devices in use are those for the ids of each container and resource") {
  const auto device = [](const std::string& resource, const std::vector<std::string>& ids) {
    return late_device(IdSet::of(resource, ids));
  };
  CHECK(late_devices(kCheckpoint) == std::set<std::string>{device("x.com/m", {"1", "2", "3"}),
                                                           device("x.com/m", {"4"}), device("x.com/n", {"5"}),
                                                           device("x.com/m", {"6"})});
}
