// Compares plughost's responses to Allocate with those of NVIDIA's device plugin.

#include <doctest/doctest.h>

#include <algorithm>

#include "unit/kinds/gpu/rig.hpp"

namespace plughost {
namespace {

using namespace test;
using Texts = std::vector<std::string>;
using Env = std::map<std::string, std::string>;
using Keys = GpuRig::Keys;

const std::string kA = "GPU-00000000-0000-0000-0000-00000000000a";
const std::string kB = "GPU-00000000-0000-0000-0000-00000000000b";
const std::string kCards = "card " + kA + " minor=3\ncard " + kB + " minor=1\n";
const std::string kVolumes = "/var/run/nvidia-container-devices";
const std::string kCdi = "k8s.device-plugin.nvidia.com/gpu=";
const std::string kAnnotation = "cdi.k8s.io/nvidia-device-plugin_";

Node words(const Texts& all) {
  std::vector<Node> items;
  for (const std::string& each : all) items.push_back(text(each));
  return list(std::move(items));
}

Allocation answer_of(Keys keys, const Texts& ids, unsigned replicas = 1) {
  const FakeNvml fake(kCards);
  const GpuRig rig(std::move(keys));
  for (const char* node : {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia3", "/dev/nvidia1"})
    rig.machine.tree().file(node);
  AllocationSpec spec;
  spec.replicas = replicas;
  return allocation(rig.scan(), spec, ids);
}

struct Row {
  Texts strategies;
  std::string id_strategy;
  bool specs;
};

std::vector<Row> all_rows() {
  constexpr const char* kWords[] = {"envvar", "volume-mounts", "cdi-annotations", "cdi-cri"};
  std::vector<Row> rows;
  for (unsigned mask = 1; mask < 16; ++mask) {
    Texts strategies;
    for (unsigned bit = 0; bit < 4; ++bit) {
      if (mask & (1u << bit)) strategies.emplace_back(kWords[bit]);
    }
    for (const char* id_strategy : {"uuid", "index"}) {
      for (const bool specs : {false, true}) rows.push_back({strategies, id_strategy, specs});
    }
  }
  return rows;
}

// Checks plughost's response against the rules of NVIDIA's plugin, which are written here independently of
// src.
void check(const Row& row, const Allocation& got) {
  const auto has = [&](const char* word) {
    return std::ranges::find(row.strategies, word) != row.strategies.end();
  };
  const bool by_uuid = row.id_strategy == "uuid";
  const std::string a = by_uuid ? kA : "0";
  const std::string b = by_uuid ? kB : "1";
  Env env;
  if (has("envvar")) env = {{"NVIDIA_VISIBLE_DEVICES", b + "," + a}};
  if (has("volume-mounts")) env = {{"NVIDIA_VISIBLE_DEVICES", kVolumes}};
  CHECK(got.env == env);

  std::vector<ContainerMount> mounts;
  if (has("volume-mounts"))
    mounts = {{.host_path = "/dev/null", .container_path = kVolumes + "/" + b},
              {.host_path = "/dev/null", .container_path = kVolumes + "/" + a}};
  CHECK(got.mounts == mounts);

  REQUIRE(got.annotations.size() == (has("cdi-annotations") ? 1 : 0));
  for (const auto& [key, text] : got.annotations) {
    CHECK(key.starts_with(kAnnotation));
    CHECK(key.size() == kAnnotation.size() + 36);
    CHECK(key[kAnnotation.size() + 14] == '4');
    CHECK(text == kCdi + b + "," + kCdi + a);
  }
  CHECK(got.cdi == (has("cdi-cri") ? Texts{kCdi + b, kCdi + a} : Texts{}));

  Texts nodes;
  for (const ContainerNode& node : got.nodes) {
    CHECK(node.host_path == node.container_path);
    CHECK(node.permissions == "rw");
    nodes.push_back(node.host_path);
  }
  CHECK(nodes ==
        (row.specs ? Texts{"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia1", "/dev/nvidia3"} : Texts{}));
}

TEST_CASE("every combination of strategies gives the response of NVIDIA's plugin") {
  for (const Row& row : all_rows()) {
    std::string name;
    for (const std::string& strategy : row.strategies) name += strategy + ' ';
    CAPTURE(name);
    CAPTURE(row.id_strategy);
    CAPTURE(row.specs);
    const Keys keys{{"deviceListStrategy", words(row.strategies)},
                    {"deviceIDStrategy", text(row.id_strategy)},
                    {"passDeviceSpecs", text(row.specs ? "true" : "false")}};
    check(row, answer_of(keys, {kB, kA}));
    // Several replicas of one card give the card once.
    check(row, answer_of(keys, {kB + "::1", kB + "::0", kA + "::3"}, 4));
  }
}

TEST_CASE("without a strategy the variable has the cards' UUIDs") {
  CHECK(answer_of({}, {kA}).env == Env{{"NVIDIA_VISIBLE_DEVICES", kA}});
  CHECK(answer_of({{"deviceListStrategy", text("volume-mounts")}}, {kA}).env ==
        Env{{"NVIDIA_VISIBLE_DEVICES", kVolumes}});
}

TEST_CASE("the annotation's key is the same for the same devices, and different for others") {
  const Keys keys{{"deviceListStrategy", text("cdi-annotations")}};
  const auto key = [&](const Texts& ids) { return answer_of(keys, ids).annotations.begin()->first; };
  CHECK(key({kA}) == key({kA}));
  CHECK(key({kA}) != key({kB}));
}

TEST_CASE("gds, mofed and gdrcopy are separate variables, once for all cards") {
  const Allocation got =
      answer_of({{"gds", text("true")}, {"mofed", text("true")}, {"gdrcopy", text("true")}}, {kA, kB});
  CHECK(got.env == Env{{"NVIDIA_VISIBLE_DEVICES", kA + "," + kB},
                       {"NVIDIA_GDS", "enabled"},
                       {"NVIDIA_MOFED", "enabled"},
                       {"NVIDIA_GDRCOPY", "enabled"}});
}

TEST_CASE("with MPS a container gets the pipe and the shared memory, and the cards wait for the MPS daemon") {
  const FakeNvml fake(kCards);
  const GpuRig rig({{"mps", text("true")}});
  const std::string control = "/run/nvidia/mps/nvidia.com/gpu/pipe/control";
  CHECK(rig.error(kA) == "the MPS control daemon is not ready: there is no " + control);
  CHECK(rig.scan().not_yet == rig.error(kA));
  rig.machine.tree().file(control);
  CHECK(rig.error(kA).empty());
  CHECK(rig.scan().not_yet.empty());
  const Allocation got = allocation(rig.scan(), {}, {kA, kB});
  CHECK(got.env.at("CUDA_MPS_PIPE_DIRECTORY") == "/mps/nvidia.com/gpu/pipe");
  const std::vector<ContainerMount> mounts{
      {.host_path = "/run/nvidia/mps/nvidia.com/gpu/pipe", .container_path = "/mps/nvidia.com/gpu/pipe"},
      {.host_path = "/run/nvidia/mps/shm", .container_path = "/dev/shm"}};
  CHECK(got.mounts == mounts);
}

TEST_CASE("IMEX channels are passed by every strategy") {
  const Allocation got = answer_of({{"imexChannels", words({"0", "7"})},
                                    {"deviceListStrategy", words({"envvar", "cdi-cri"})},
                                    {"passDeviceSpecs", text("true")}},
                                   {kA});
  CHECK(got.env.at("NVIDIA_IMEX_CHANNELS") == "0,7");
  CHECK(got.cdi == Texts{kCdi + kA, "k8s.device-plugin.nvidia.com/imex-channel=0",
                         "k8s.device-plugin.nvidia.com/imex-channel=7"});
  CHECK(std::ranges::count(got.nodes, "/dev/nvidia-caps-imex-channels/channel7", &ContainerNode::host_path) ==
        1);
  const Allocation mounted =
      answer_of({{"imexChannels", text("0")}, {"deviceListStrategy", text("volume-mounts")}}, {kA});
  CHECK(mounted.mounts.back().container_path == kVolumes + "/imex/0");
}

TEST_CASE("variables that the entry sets override the kind's") {
  const FakeNvml fake(kCards);
  const GpuRig rig({{"gds", text("true")}});
  AllocationSpec spec;
  spec.env.emplace_back(Template("NVIDIA_VISIBLE_DEVICES"), Template("all"));
  CHECK(allocation(rig.scan(), spec, {kA}).env ==
        Env{{"NVIDIA_VISIBLE_DEVICES", "all"}, {"NVIDIA_GDS", "enabled"}});
}

TEST_CASE("an entry can refuse containers that request several shares") {
  const FakeNvml fake(kCards);
  const GpuRig rig({});
  AllocationSpec spec;
  spec.one_share_only = true;
  CHECK(std::holds_alternative<Allocation>(answer(rig.scan(), spec, {kA, kB})));
  spec.replicas = 2;
  CHECK(std::holds_alternative<Allocation>(answer(rig.scan(), spec, {kA + "::0"})));
  const auto refused = answer(rig.scan(), spec, {kA + "::0", kB + "::0"});
  REQUIRE(std::holds_alternative<Refusal>(refused));
  CHECK(std::get<Refusal>(refused).reason == Refusal::Reason::kTooMany);
}

}  // namespace
}  // namespace plughost
