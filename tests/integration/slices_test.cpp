// What would be in the API server, without one.

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "integration/node.hpp"
#include "unit/fake_nvml.hpp"

using namespace plughost;
using namespace plughost::test;

namespace {

Finished discover(const Node& node, const std::string& format) {
  return run_plughost({"discover", "--config", node.configuration(), "-o", format});
}

}  // namespace

TEST_CASE("discover prints the slices that entries with DRA would have") {
  Node node;
  node.set_top("apiServer: {node: worker-1}\n");
  node.configure(
      "- {name: example.com/seat, count: 2, replicas: 3, advertise: dra, attributes: {room: lab}}\n"
      "- {name: example.com/token, count: 1}\n");
  const Finished slices = discover(node, "slices");
  CHECK(slices.exit_code == 0);
  const auto lines = [&](const std::string& line) { return slices.output.find(line) != std::string::npos; };
  CHECK(lines("kind: \"List\"\n"));
  CHECK(lines("apiVersion: \"resource.k8s.io/v1\"\n"));
  CHECK(lines("driver: \"plughost.example.com\"\n"));
  CHECK(lines("nodeName: \"worker-1\"\n"));
  CHECK(lines("name: \"worker-1/example.com/seat\"\n"));
  CHECK(lines("allowMultipleAllocations: true\n"));
  CHECK(lines("string: \"lab\"\n"));
  CHECK_FALSE(lines("token"));
}

TEST_CASE("discover shows a divided card beside its parts, and what all of them use of it") {
  const FakeNvml fake(
      "card GPU-a memory=40960 mig=1\nmig 0 MIG-x gi=7 memory=4864 sms=14 slices=4:1 name=A_MIG_1g.5gb\n"
      "mig 0 MIG-y gi=8 memory=9856 sms=28 slices=0:2 name=A_MIG_2g.10gb\n");
  Node node;
  node.set_top("apiServer: {node: worker-1}\n");
  node.configure(
      "- {name: nvidia.com/gpu, gpu: {vendor: nvidia, mig: mixed, whole: true}, advertise: dra}\n");
  const Finished slices = run_plughost({"discover", "--config", node.configuration(), "-o", "slices"},
                                       {"env", "LD_LIBRARY_PATH=" PLUGHOST_FAKE_NVML_DIRECTORY});
  CHECK_MESSAGE(slices.exit_code == 0, slices.output);
  const auto count = [&](const std::string& line) {
    std::size_t found = 0;
    for (std::size_t at = slices.output.find(line); at != std::string::npos;
         at = slices.output.find(line, at + 1))
      ++found;
    return found;
  };
  CHECK(count("sharedCounters:") == 1);
  CHECK(count("consumesCounters:") == 3);
  // Of the card, of the part, and of the whole.
  CHECK(count("memory-slice-4:") == 3);
  CHECK(count("string: \"mig-all\"") == 1);
}

TEST_CASE("discover says that there are no slices where no entry has DRA") {
  Node node;
  node.configure("- {name: example.com/token, count: 1}\n");
  const Finished slices = discover(node, "slices");
  CHECK(slices.exit_code == 0);
  CHECK(slices.output.find("no entry has `advertise: dra`") != std::string::npos);
}

TEST_CASE("discover refuses slices that the API server would refuse") {
  Node node;
  node.set_top("apiServer: {node: " + std::string(245, 'n') + "}\n");
  node.configure("- {name: example.com/seat, count: 1, advertise: dra}\n");
  const Finished slices = discover(node, "slices");
  CHECK(slices.exit_code == 1);
  CHECK(slices.output.find("error: example.com/seat: the pool's name has 2") != std::string::npos);
}
