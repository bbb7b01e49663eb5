// What is wrong with an entry of the kind `gpu`, as it is read.

#include <doctest/doctest.h>

#include "unit/kinds/gpu/rig.hpp"

namespace plughost {
namespace {

using namespace test;
using Keys = GpuRig::Keys;

TEST_CASE("mistakes in `gpu` are found when it is read") {
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
    CHECK(problem({{"unit", map({{"memory", text(wrong)}})}}).find("is no unit of memory") !=
          std::string::npos);
  }
  CHECK(problem({{"unit", map({{"memory", text("1GiB")}, {"cores", text("1")}})}}).find("a unit is") !=
        std::string::npos);
  CHECK(problem({{"spanCards", text("true")}}).find("without `unit` an id is a whole card") !=
        std::string::npos);
  CHECK(problem({{"unit", map({{"cores", text("101")}})}}).starts_with("resources[0].gpu.unit.cores: "));
}

}  // namespace
}  // namespace plughost
