// The command plughost doctor.

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "unit/temp_dir.hpp"
#include "unit/tools/commands/run_plughost.hpp"

using namespace plughost::test;

TEST_CASE("doctor exits with 1 if there is a problem, and prints what to do") {
  const TempDir dir;
  dir.file("config.yaml", "kubelet: {directory: " + dir.at("plugins").string() +
                              "}\nresources:\n"
                              "- {name: example.com/x, count: 0}\n");
  const std::string config = dir.at("config.yaml");
  const CommandResult json = run_plughost({"doctor", "--config", config, "-o", "json"});
  CHECK(json.exit_code == 1);
  const auto findings = nlohmann::json::parse(json.printed);
  const auto found =
      std::ranges::find(findings, "configuration", [](const auto& each) { return each.at("check"); });
  REQUIRE(found != findings.end());
  CHECK(found->at("level") == "problem");
  CHECK(found->at("advice").template get<std::string>().starts_with("correct it"));
  const CommandResult text = run_plughost({"doctor", "--config", config});
  CHECK(text.exit_code == 1);
  CHECK(text.output.find("  do:  correct it") != std::string::npos);
  CHECK(text.output.find(" problems, ") != std::string::npos);
}

TEST_CASE("doctor: --quiet leaves out what is in order, in the table and in JSON") {
  const TempDir dir;
  dir.file("config.yaml", "kubelet: {directory: " + dir.at("plugins").string() +
                              "}\nresources: [{name: example.com/x, count: 1}]\n");
  const std::string config = dir.at("config.yaml");
  const CommandResult all = run_plughost({"doctor", config});
  const CommandResult quiet = run_plughost({"doctor", config, "--quiet"});
  CHECK(has(all.printed, "\nok "));
  CHECK_FALSE(has(quiet.printed, "\nok "));
  CHECK(has(quiet.printed, "problem"));
  CHECK(quiet.exit_code == all.exit_code);
  CHECK_FALSE(has(run_plughost({"doctor", config, "-q", "-o", "json"}).printed, "\"ok\""));
}
