// Tests the CDI specification for NVIDIA's cards, with a fake nvidia-ctk.

#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "host/programs/programs.hpp"
#include "places.hpp"
#include "unit/kinds/gpu/rig.hpp"
#include "unit/run_until.hpp"

namespace plughost {
namespace {

using namespace test;
using namespace std::chrono_literals;
using Texts = std::vector<std::string>;
using Keys = GpuRig::Keys;

std::string specification_of(const Texts& names) {
  std::string devices;
  for (const std::string& name : names)
    devices += (devices.empty() ? "" : ",") + ("{\"name\":\"" + name + "\"}");
  return R"({"cdiVersion":"0.5.0","kind":"k8s.device-plugin.nvidia.com/gpu","devices":[)" + devices + "]}";
}

// A GpuRig with a fake nvidia-ctk that records its calls.
class ToolRig {
 public:
  explicit ToolRig(Keys keys = {{"deviceListStrategy", text("cdi-cri")}}, const std::string& place = kPlace)
      : rig(std::move(keys)), place_(place) {}

  void tool(const std::string& rest) const {
    const TempDir& tree = rig.machine.tree();
    tree.file(place_, "#!/bin/sh\necho \"$@\" >>" + tree.at("runs").string() + "\n" + rest + "\n");
    std::filesystem::permissions(tree.at(place_), std::filesystem::perms(0755));
  }
  void prints(const std::string& answer) const {
    rig.machine.tree().file("answer", answer);
    tool("cat " + rig.machine.tree().at("answer").string());
  }
  Texts runs() const {
    Texts lines;
    std::ifstream text(rig.machine.tree().at("runs"));
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }

  static constexpr const char* kPlace = "/usr/bin/nvidia-ctk";
  GpuRig rig;

 private:
  std::string place_;
};

TEST_CASE("a scan returns nvidia-ctk's specification, to be written to the CDI directory") {
  const FakeNvml fake(kTwoCards);
  const ToolRig made;
  made.prints(specification_of({"GPU-a", "GPU-b", "all"}));
  const Scan scan = made.rig.scan();
  REQUIRE(scan.cdi.size() == 1);
  CHECK(scan.cdi[0].name == "k8s.device-plugin.nvidia.com-gpu.json");
  CHECK(scan.cdi[0].text == specification_of({"GPU-a", "GPU-b", "all"}));
  CHECK(scan.devices[0].healthy());
  CHECK(made.runs() == Texts{"cdi generate --format=json --vendor=k8s.device-plugin.nvidia.com --class=gpu "
                             "--device-name-strategy=uuid"});
}

TEST_CASE("nvidia-ctk runs again when cards or MIG devices change, and otherwise not") {
  const FakeNvml fake(kTwoCards);
  const ToolRig made({{"deviceListStrategy", text("cdi-annotations")}, {"mig", text("mixed")}});
  made.prints(specification_of({"GPU-a", "GPU-b", "MIG-x"}));
  made.rig.scan();
  CHECK(made.rig.scan().cdi.size() == 1);
  CHECK(made.runs().size() == 1);
  fake.show("card GPU-a minor=3 mig=1\nmig 0 MIG-x gi=1 name=A_MIG_1g.5gb\ncard GPU-b minor=1\n");
  CHECK(made.rig.scan().cdi.size() == 1);
  CHECK(made.runs().size() == 2);
}

TEST_CASE("nvidia-ctk runs again when the driver or the tool has changed, or was missing") {
  const FakeNvml fake(kTwoCards);
  const ToolRig made;
  const TempDir& tree = made.rig.machine.tree();
  tree.file("/proc/driver/nvidia/version", "550.54");
  made.prints(specification_of({"GPU-a", "GPU-b"}));
  std::size_t runs = 0;
  const auto runs_once_more = [&] {
    const Scan scan = made.rig.scan();
    CHECK(scan.cdi.size() == 1);
    made.rig.scan();
    return made.runs().size() == ++runs;
  };
  CHECK(runs_once_more());
  tree.file("/proc/driver/nvidia/version", "570.10");
  CHECK(runs_once_more());
  made.prints(specification_of({"GPU-a", "GPU-b"}));
  CHECK(runs_once_more());
  fake.show("");
  CHECK(made.rig.scan().cdi.empty());
  fake.show(kTwoCards);
  CHECK(runs_once_more());
  const std::filesystem::path tool = tree.at(ToolRig::kPlace);
  std::filesystem::rename(tool, tree.at("elsewhere"));
  CHECK(made.rig.scan().cdi.empty());
  std::filesystem::rename(tree.at("elsewhere"), tool);
  CHECK(runs_once_more());
}

TEST_CASE("nvidia-ctk runs again when the driver's library has changed") {
  const FakeNvml fake(kTwoCards);
  const ToolRig made({{"deviceListStrategy", text("cdi-cri")}, {"driverRoot", text("/run/driver")}});
  const std::filesystem::path library = kFakeNvml;
  const auto install = [&] {
    const auto place = made.rig.machine.tree().at("/run/driver/usr/lib64") / library.filename();
    std::filesystem::copy_file(library, place.string() + ".new");
    std::filesystem::rename(place.string() + ".new", place);
  };
  made.rig.machine.tree().directory("/run/driver/usr/lib64");
  install();
  made.prints(specification_of({"GPU-a", "GPU-b"}));
  made.rig.scan();
  made.rig.scan();
  CHECK(made.runs().size() == 1);
  install();
  CHECK(made.rig.scan().cdi.size() == 1);
  CHECK(made.runs().size() == 2);
}

TEST_CASE("nvidia-ctk runs again when nodes appear, MIG's included") {
  const FakeNvml fake("card GPU-a minor=3 mig=1\nmig 0 MIG-x gi=7 ci=0 name=A_MIG_1g.5gb\n");
  const ToolRig made({{"deviceListStrategy", text("cdi-cri")}, {"mig", text("mixed")}});
  const TempDir& tree = made.rig.machine.tree();
  tree.file("/proc/driver/nvidia-caps/mig-minors", "gpu3/gi7/access 66\n");
  made.prints(specification_of({"MIG-x"}));
  const Scan scan = made.rig.scan();
  CHECK(std::ranges::count(scan.watch, WatchedDirectory{"/dev/nvidia-caps", "*"}) == 1);
  std::size_t runs = 1;
  for (const char* node : {"/dev/nvidia-caps/nvidia-cap66", "/dev/nvidia-uvm", "/dev/nvidia3"}) {
    CAPTURE(node);
    CHECK(made.runs().size() == runs);
    tree.link(node, "/dev/null");
    made.rig.scan();
    made.rig.scan();
    CHECK(made.runs().size() == ++runs);
  }
}

TEST_CASE("without a CDI strategy, or without the tool, nothing runs and nothing is reported") {
  const FakeNvml fake(kTwoCards);
  const ToolRig by_variable(Keys{});
  by_variable.prints(specification_of({"GPU-a", "GPU-b"}));
  CHECK(by_variable.rig.scan().cdi.empty());
  CHECK(by_variable.runs().empty());
  const ToolRig without_tool;
  const Scan scan = without_tool.rig.scan();
  CHECK(scan.cdi.empty());
  CHECK(scan.devices[0].healthy());
  CHECK(scan.remarks.empty());
}

TEST_CASE(
    "`nvidiaCtk` is the path of the tool, and with `deviceIDStrategy: index` the tool names cards by index") {
  const FakeNvml fake(kTwoCards);
  const ToolRig made({{"deviceListStrategy", text("cdi-cri")},
                      {"deviceIDStrategy", text("index")},
                      {"nvidiaCtk", text("/srv/toolkit/ctk")}},
                     "/srv/toolkit/ctk");
  made.prints(specification_of({"0", "1"}));
  CHECK(made.rig.scan().cdi.size() == 1);
  REQUIRE(made.runs().size() == 1);
  CHECK(made.runs()[0].ends_with("--device-name-strategy=index"));
}

TEST_CASE("the tool receives the driver's root") {
  const FakeNvml fake(kTwoCards);
  const ToolRig made({{"deviceListStrategy", text("cdi-cri")}, {"driverRoot", text("/run/driver")}});
  const std::filesystem::path library = kFakeNvml;
  made.rig.machine.tree().directory("/run/driver/usr/lib64");
  std::filesystem::copy_file(library,
                             made.rig.machine.tree().at("/run/driver/usr/lib64") / library.filename());
  made.prints(specification_of({"GPU-a", "GPU-b"}));
  CHECK(made.rig.scan().cdi.size() == 1);
  REQUIRE(made.runs().size() == 1);
  CHECK(made.runs()[0].ends_with("--device-name-strategy=uuid --driver-root=/run/driver"));
}

TEST_CASE("if nvidia-ctk fails or its output is invalid, the cards are Unhealthy with the reason") {
  const FakeNvml fake(kTwoCards);
  const auto error = [](const std::string& tool) {
    const ToolRig made;
    made.tool(tool);
    const Scan scan = made.rig.scan();
    CHECK(scan.cdi.empty());
    CHECK(scan.remarks.empty());
    CHECK(scan.devices[1].error == scan.devices[0].error);
    return scan.devices[0].error;
  };
  CHECK(error("echo 'no NVML' >&2; exit 3") ==
        "/usr/bin/nvidia-ctk cdi generate: the program exited with 3: no NVML");
  CHECK(error("echo devices: []") ==
        "/usr/bin/nvidia-ctk cdi generate: its output is not a CDI specification in JSON");
  CHECK(error("kill -9 $$").find("ended by signal 9") != std::string::npos);
}

TEST_CASE("a failure of nvidia-ctk is retried, and its cards are Healthy afterwards") {
  const FakeNvml fake(kTwoCards);
  ToolRig made;
  made.tool("cat \"${0%/usr/*}/answer\"");
  CHECK_FALSE(made.rig.error("GPU-a").empty());
  made.rig.machine.tree().file("answer", specification_of({"GPU-a", "GPU-b"}));
  CHECK_FALSE(made.rig.error("GPU-a").empty());
  CHECK(made.runs().size() == 1);
  made.rig.wait(30s);
  CHECK(made.rig.error("GPU-a").empty());
  CHECK(made.runs().size() == 2);
}

TEST_CASE("only a card that the specification does not name is Unhealthy") {
  const FakeNvml fake(kTwoCards);
  ToolRig made;
  made.prints(specification_of({"GPU-a"}));
  const Scan scan = made.rig.scan();
  CHECK(scan.cdi.size() == 1);
  CHECK(scan.devices[0].healthy());
  CHECK(scan.devices[1].error == "/usr/bin/nvidia-ctk cdi generate: its specification has no device GPU-b");
  made.prints(specification_of({"GPU-a", "GPU-b"}));
  made.rig.wait(30s);
  CHECK(made.rig.error("GPU-b").empty());
}

// Adds a mount of the driver's library to a specification.
std::string with_library(const std::string& specification, const std::string& library) {
  return specification.substr(0, specification.size() - 1) + R"(,"containerEdits":{"mounts":[{"hostPath":")" +
         library + R"("}]}})";
}

TEST_CASE(
    "the former specification keeps the other cards Healthy if nvidia-ctk fails for a lost card at a "
    "restart") {
  const FakeNvml fake("card GPU-a lost=1\ncard GPU-b minor=1\n");
  const std::string former = with_library(specification_of({"GPU-a", "GPU-b"}), "/lib/libcuda.so.570");
  for (const char* directory : {"/var/run/cdi", "/etc/cdi"}) {
    CAPTURE(directory);
    const ToolRig made;
    const TempDir& tree = made.rig.machine.tree();
    tree.file(directory + std::string("/k8s.device-plugin.nvidia.com-gpu.json"), former);
    tree.file("/lib/libcuda.so.570");
    made.tool("echo 'GPU is lost' >&2; exit 1");
    const Scan scan = made.rig.scan();
    REQUIRE(ids_of(scan) == Texts{"GPU-b"});
    CHECK(scan.devices[0].healthy());
    REQUIRE(scan.cdi.size() == 1);
    CHECK(scan.cdi[0].text == former);
    REQUIRE(scan.remarks.size() == 2);
    CHECK(scan.remarks[0] == "GPU 0 is left out: nvmlDeviceGetHandleByIndex: GPU is lost (15)");
    CHECK(scan.remarks[1].starts_with(
        "/usr/bin/nvidia-ctk cdi generate: the program exited with 1: GPU is lost; "));
  }
}

TEST_CASE("a later failure of nvidia-ctk makes only cards Unhealthy that the specification does not name") {
  const FakeNvml fake(kTwoCards);
  ToolRig made;
  made.prints(specification_of({"GPU-a", "GPU-b"}));
  made.rig.scan();
  made.tool("echo 'GPU is lost' >&2; exit 1");
  fake.show("card GPU-a lost=1\ncard GPU-b minor=1\ncard GPU-c minor=2\n");
  const Scan scan = made.rig.scan();
  REQUIRE(ids_of(scan) == Texts{"GPU-a", "GPU-b", "GPU-c"});
  CHECK(scan.devices[0].error == "nvmlDeviceGetHandleByIndex: GPU is lost (15)");
  CHECK(scan.devices[1].healthy());
  CHECK(scan.devices[2].error == "/usr/bin/nvidia-ctk cdi generate: the program exited with 1: GPU is lost");
  CHECK(scan.remarks.size() == 1);
  CHECK(scan.cdi.size() == 1);
  made.prints(specification_of({"GPU-b", "GPU-c"}));
  made.rig.wait(30s);
  CHECK(made.rig.scan().remarks.empty());
  CHECK(made.rig.error("GPU-c").empty());
}

TEST_CASE(
    "a former specification is not used if it is invalid, names missing files, or names cards by index") {
  const FakeNvml fake(kTwoCards);
  const auto error = [](Keys keys, const std::string& former) {
    const ToolRig made(std::move(keys));
    made.rig.machine.tree().file("/var/run/cdi/k8s.device-plugin.nvidia.com-gpu.json", former);
    made.tool("exit 1");
    const Scan scan = made.rig.scan();
    CHECK(scan.cdi.empty());
    return scan.devices[1].error;
  };
  const std::string failed = "/usr/bin/nvidia-ctk cdi generate: the program exited with 1";
  const Keys by_uuid{{"deviceListStrategy", text("cdi-cri")}};
  const std::string cards = specification_of({"GPU-a", "GPU-b"});
  // As after an update of the driver: the named library is missing.
  CHECK(error(by_uuid, with_library(cards, "/lib/libcuda.so.550")).starts_with(failed));
  CHECK(error(by_uuid, "half of {").starts_with(failed));
  CHECK(error(by_uuid, R"({"devices":[{"name":7}],"containerEdits":"none"})").starts_with(failed));
  // The index may now belong to a different card.
  Keys by_index = by_uuid;
  by_index.emplace_back("deviceIDStrategy", text("index"));
  CHECK(error(by_index, specification_of({"0", "1"})).starts_with(failed));
}

// A ToolRig with a watch, in which nvidia-ctk does not block the scan.
struct WatchedTool {
  EventLoop loop;
  Programs programs{loop};
  ToolRig made;
  unsigned hints = 0;
  std::unique_ptr<SourceWatch> watch = made.rig.source->watch(programs, [this] { ++hints; });

  bool hinted() {
    return run_until(loop, [&, before = hints] { return hints > before; });
  }
};

TEST_CASE("a scan does not wait for nvidia-ctk, and is undecided until the cards are described") {
  const FakeNvml fake(kTwoCards);
  WatchedTool watched;
  watched.made.tool("until test -e \"${0%/usr/*}/go\"; do :; done; cat \"${0%/usr/*}/answer\"");
  watched.made.rig.machine.tree().file("answer", specification_of({"GPU-a", "GPU-b"}));
  CHECK(watched.made.rig.scan().undecided);
  REQUIRE(run_until(watched.loop, [&] { return watched.made.runs().size() == 1; }));
  CHECK(watched.made.rig.scan().undecided);
  watched.made.rig.machine.tree().file("go", "");
  REQUIRE(watched.hinted());
  const Scan scan = watched.made.rig.scan();
  CHECK_FALSE(scan.undecided);
  CHECK(scan.cdi.size() == 1);
  CHECK(scan.devices.at(0).healthy());
  CHECK(watched.made.runs().size() == 1);
}

TEST_CASE("if the cards change while nvidia-ctk runs, its output is not used, and nvidia-ctk runs again") {
  const FakeNvml fake(kTwoCards);
  WatchedTool watched;
  watched.made.prints(specification_of({"GPU-a", "GPU-b", "GPU-c"}));
  CHECK(watched.made.rig.scan().undecided);
  fake.show(kTwoCards + "card GPU-c minor=4\n");
  REQUIRE(watched.hinted());
  CHECK(watched.made.rig.scan().undecided);
  REQUIRE(watched.hinted());
  const Scan scan = watched.made.rig.scan();
  CHECK_FALSE(scan.undecided);
  CHECK(scan.devices.size() == 3);
  CHECK(watched.made.runs().size() == 2);
}

TEST_CASE("while a failed nvidia-ctk is retried its cards are listed, with the error") {
  const FakeNvml fake(kTwoCards);
  WatchedTool watched;
  watched.made.tool("cat \"${0%/usr/*}/answer\"");
  CHECK(watched.made.rig.scan().undecided);
  REQUIRE(watched.hinted());
  CHECK_FALSE(watched.made.rig.error("GPU-a").empty());
  watched.made.rig.machine.tree().file("answer", specification_of({"GPU-a", "GPU-b"}));
  watched.made.rig.wait(30s);
  const Scan meanwhile = watched.made.rig.scan();
  CHECK_FALSE(meanwhile.undecided);
  CHECK_FALSE(meanwhile.devices.at(0).healthy());
  REQUIRE(watched.hinted());
  CHECK(watched.made.rig.error("GPU-a").empty());
}

TEST_CASE("an nvidia-ctk that hangs ends with the entry") {
  const FakeNvml fake(kTwoCards);
  WatchedTool watched;
  watched.made.tool("echo $$ >\"${0%/usr/*}/pid\"; exec sleep 1000");
  watched.made.rig.scan();
  pid_t pid = 0;
  REQUIRE(run_until(watched.loop, [&] {
    return static_cast<bool>(std::ifstream(watched.made.rig.machine.tree().at("pid")) >> pid);
  }));
  watched.watch.reset();
  CHECK(run_until(watched.loop, [&] { return ::kill(pid, 0) != 0; }));
  CHECK(watched.hints == 0);
}

}  // namespace
}  // namespace plughost
