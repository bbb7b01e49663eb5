#include "convert/arguments.hpp"

#include <doctest/doctest.h>

namespace plughost {
namespace {

using Texts = std::vector<std::string>;

Arguments arguments(Texts words, std::map<std::string, std::string> environment = {}) {
  Diagnostics diagnostics;
  Arguments found({.image = {}, .words = std::move(words), .environment = std::move(environment)}, "a pod",
                  diagnostics);
  CHECK_FALSE(diagnostics.has_errors());
  return found;
}

TEST_CASE("a flag has the value behind it or behind its '=', and the last one counts") {
  Arguments given = arguments({"/bin/plugin", "run", "--a", "1", "-b=2", "--c", "--a=3", "--d"});
  CHECK(given.value("a") == "3");
  CHECK(given.values("a") == Texts{"1", "3"});
  CHECK(given.value("b") == "2");
  CHECK(given.value("c") == "");
  CHECK(given.value("e") == std::nullopt);
  CHECK(given.unused() == Texts{"d"});
  CHECK(given.has("d"));
  CHECK_FALSE(given.has("run"));
}

TEST_CASE("a variable stands for a flag that is not given") {
  Arguments given = arguments(
      {"--mig-strategy", "mixed"},
      {{"MIG_STRATEGY", "none"}, {"DEVICE_ID_STRATEGY", "index"}, {"GDS_ENABLED", "False"}, {"DOMAIN", ""}});
  CHECK(given.value("mig-strategy") == "mixed");
  CHECK(given.value("device-id-strategy") == "index");
  CHECK(given.truth("gds-enabled") == false);
  CHECK(given.value("domain") == std::nullopt);
  CHECK(given.variable("DOMAIN") == "");
  CHECK(given.unused().empty());
}

TEST_CASE("a flag is true unless it says false") {
  Arguments given = arguments({"--a", "--b=true", "--c=false", "--d=0", "--e=f", "--g=F"});
  CHECK(given.truth("a") == true);
  CHECK(given.truth("b") == true);
  CHECK(given.truth("c") == false);
  CHECK(given.truth("d") == false);
  CHECK(given.truth("e") == false);
  CHECK(given.truth("g") == false);
  CHECK(given.truth("h") == std::nullopt);
}

TEST_CASE("a word that belongs to no flag is reported") {
  Diagnostics diagnostics;
  const Arguments given({.image = {}, .words = {"plugin", "--a", "b", "c"}, .environment = {}}, "a pod",
                        diagnostics);
  REQUIRE(diagnostics.all().size() == 1);
  CHECK(diagnostics.all()[0].text() == "a pod: 'c' belongs to no flag; flags begin with '-'");
}

}  // namespace
}  // namespace plughost
