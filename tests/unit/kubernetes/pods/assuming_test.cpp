#include "kubernetes/pods/assuming.hpp"

#include <doctest/doctest.h>

#include "model/assume/answer.hpp"
#include "unit/kubernetes/pods/rig.hpp"

namespace plughost {
namespace {

using Names = std::set<std::string>;
using Told = std::function<void(const std::string& error)>;

// Returns a checkpoint with one pod that holds these ids.
std::string checkpoint_of(const std::string& ids) {
  return R"({"Data":{"PodDeviceEntries":[{"PodUID":"a","ContainerName":"c0","ResourceName":")" +
         std::string(kGpuMemory) + R"(","DeviceIDs":{"-1":[)" + ids +
         R"(]},"AllocResp":""}],"RegisteredDevices":{}},"Checksum":1})";
}

struct AssumingRig : test::PodsRig {
  NodeWatch nodes{server};
  CheckpointReader reader{workers, log, directory.at(kCheckpointName), directory.at("pods")};
  std::vector<Told> writing;
  std::vector<Names> kept;
  Assuming assuming{
      {.loop = loop,
       .log = log,
       .api_server = server,
       .node_watch = nodes,
       .checkpoint = [this]() -> CheckpointReader& { return reader; },
       .write_late = [this](const std::string&, const std::string&, Told done) { writing.push_back(done); },
       .remove_other_late = [this](const Names& names) { kept.push_back(names); }},
      directory.at("pods-api.sock")};
  std::vector<std::string> told;

  void specify(const std::string& name) {
    assuming.specify(name, "text", [this](const std::string& error) { told.push_back(error); });
  }
  Names tidied() {
    const std::size_t before = kept.size();
    assuming.tidy_later();
    REQUIRE(until([&] { return kept.size() > before; }));
    return kept.back();
  }
};

const std::string kHeld = late_device(IdSet::of(kGpuMemory, std::vector<std::string>{"x", "y"}));

TEST_CASE("the CDI specification of a late device is kept while the kubelet's checkpoint has its ids") {
  AssumingRig rig;
  rig.directory.file(kCheckpointName, checkpoint_of(R"("y","x")"));
  CHECK(rig.tidied() == Names{kHeld});
  rig.directory.file(kCheckpointName, checkpoint_of(R"("z")"));
  CHECK(rig.tidied() == Names{late_device(IdSet::of(kGpuMemory, std::vector<std::string>{"z"}))});
}

TEST_CASE(
    "the CDI specification of a late device is kept while it is being written, and later only if the "
    "checkpoint has its ids") {
  AssumingRig rig;
  rig.specify("late-new");
  CHECK(rig.tidied() == Names{"late-new"});
  CHECK(rig.told.empty());
  REQUIRE(rig.writing.size() == 1);
  rig.writing[0]("no room");
  CHECK(rig.told == std::vector<std::string>{"no room"});
  // The checkpoint was read after the write, so it would have the ids.
  CHECK(rig.tidied().empty());
  rig.specify("late-new");
  CHECK(rig.tidied() == Names{"late-new"});
}

TEST_CASE("without a readable checkpoint no CDI specification is removed") {
  AssumingRig rig;
  rig.directory.file(kCheckpointName, "{");
  rig.assuming.tidy_later();
  CHECK_FALSE(test::run_until(
      rig.loop, [&] { return !rig.kept.empty(); }, Assuming::kQuiet + std::chrono::milliseconds(300)));
  rig.directory.file(kCheckpointName, checkpoint_of(R"("x","y")"));
  CHECK(rig.tidied() == Names{kHeld});
}

}  // namespace
}  // namespace plughost
