// Tests the errors in a `gpu` entry, and its key `assume`.

#include <doctest/doctest.h>

#include "unit/kinds/gpu/rig.hpp"

namespace plughost {
namespace {

using namespace test;
using Keys = GpuRig::Keys;

TEST_CASE("errors of `gpu` are found when it is read") {
  const auto problem = [](Keys keys) {
    const GpuRig rig(std::move(keys), "");
    return rig.problems.size() == 1 ? rig.problems[0] : std::to_string(rig.problems.size()) + " problems";
  };
  CHECK(problem({}) == "0 problems");
  CHECK(problem({{"vendor", text("nvida")}}).starts_with("resources[0].gpu.vendor: "));
  CHECK(problem({{"deviceListStrategy", list({text("envar")})}}).ends_with("(did you mean 'envvar'?)"));
  CHECK(problem({{"deviceListStrategy", list({})}}).ends_with("such as envvar"));
  CHECK(problem({{"mig", text("both")}}).starts_with("resources[0].gpu.mig: "));
  CHECK(problem({{"mig", text("single")}, {"mps", text("true")}}).find("exclude each other") !=
        std::string::npos);
  CHECK(problem({{"ignoredXids", text("x")}}).find("is no XID") != std::string::npos);
  CHECK(problem({{"imexChannels", text("4096")}}).find("is no IMEX channel") != std::string::npos);
  CHECK(problem({{"mpsRoot", text("run")}}).starts_with("resources[0].gpu.mpsRoot: "));
  CHECK(problem({{"driverRoot", text("run/nvidia")}}).starts_with("resources[0].gpu.driverRoot: "));
  CHECK(problem({{"nvidiaCtk", text("nvidia-ctk")}}).starts_with("resources[0].gpu.nvidiaCtk: "));
  for (const char* wrong : {"1", "GiB", "0GiB", "1GB", "-1GiB", "1.5GiB", ""}) {
    CAPTURE(wrong);
    CHECK(problem({{"unit", map({{"memory", text(wrong)}})}}).find("is not an amount of memory") !=
          std::string::npos);
  }
  CHECK(problem({{"unit", map({{"memory", text("1GiB")}, {"cores", text("1")}})}}).find("a unit is") !=
        std::string::npos);
  CHECK(problem({{"spanCards", text("true")}}).find("without `unit` an id is a whole card") !=
        std::string::npos);
  CHECK(problem({{"unit", map({{"cores", text("101")}})}}).starts_with("resources[0].gpu.unit.cores: "));
}

class AssumeRig {
 public:
  explicit AssumeRig(GpuRig::Keys keys, GpuRig::Keys gpu = {{"unit", map({{"memory", text("2GiB")}})}}) {
    const Node node = map({{"gpu", map(std::move(gpu))}, {"assume", map(std::move(keys))}});
    Diagnostics diagnostics;
    {
      Fields fields(node, "resources[0]", diagnostics);
      terms = read_gpu(fields, "")->assume();
    }
    for (const Diagnostic& each : diagnostics.all()) problems.push_back(each.what);
  }
  std::optional<AssumeTerms> terms;
  std::vector<std::string> problems;
};

TEST_CASE("`assume` has the dialect's terms, with the entry's own overrides") {
  const AssumeRig plain({{"dialect", text("gpushare")}});
  CHECK(plain.problems.empty());
  REQUIRE(plain.terms);
  CHECK(plain.terms->dialect == Dialect::kGpushare);
  CHECK(plain.terms->card_is == CardIs::kIndex);
  CHECK(!plain.terms->identify);
  CHECK(!plain.terms->only_card);
  CHECK(!plain.terms->answer_without_card);
  CHECK(plain.terms->sets_visible);
  CHECK(plain.terms->unit == 2048);
  const AssumeRig words({{"dialect", text("gpushare")},
                         {"identify", text("late")},
                         {"onlyCard", text("true")},
                         {"answerWithoutCard", text("true")},
                         {"time", text("x.com/time")},
                         {"assigned", text("x.com/assigned")},
                         {"card", text("x.com/card")},
                         {"cardIs", text("uuid")}});
  CHECK(words.problems.empty());
  REQUIRE(words.terms);
  CHECK(words.terms->late());
  CHECK(words.terms->only_card);
  CHECK(words.terms->answer_without_card);
  CHECK(words.terms->card_is == CardIs::kUuid);
  CHECK(words.terms->names ==
        std::vector<AssumeNames>{{.time = "x.com/time", .assigned = "x.com/assigned", .card = "x.com/card"}});
  const AssumeRig one_word({{"dialect", text("doslab")}, {"card", text("x.com/card")}});
  REQUIRE(one_word.terms->names.size() == 2);
  CHECK(one_word.terms->names[0].time == "DOSLAB_IO_GPU_ASSUME_TIME");
  CHECK(one_word.terms->names[1].time == "doslab.io/gpu-assume-time");
  CHECK(one_word.terms->names[1].card == "x.com/card");
}

TEST_CASE("a dialect sets NVIDIA_VISIBLE_DEVICES only if the `deviceListStrategy` uses it") {
  const auto sets = [](std::vector<Node> strategies) {
    return AssumeRig({{"dialect", text("doslab")}}, {{"unit", map({{"memory", text("1GiB")}})},
                                                     {"deviceListStrategy", list(std::move(strategies))}})
        .terms->sets_visible;
  };
  CHECK(sets({text("envvar")}));
  CHECK(sets({text("envvar"), text("cdi-cri")}));
  CHECK(!sets({text("envvar"), text("volume-mounts")}));
  CHECK(!sets({text("cdi-cri")}));
}

}  // namespace
}  // namespace plughost
