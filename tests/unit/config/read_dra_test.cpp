#include "config/read_dra.hpp"

#include <doctest/doctest.h>

#include "dra/terms.hpp"
#include "unit/config/config_of.hpp"

namespace plughost {
namespace {

std::shared_ptr<const DraTerms> terms_of(const std::string& entry) {
  return test::config_of("apiServer: {}\nresources:\n- {name: x.com/a, " + entry + "}\n")
      .resources.at(0)
      .recipe->dra;
}

TEST_CASE("an entry is for device plugins unless it says otherwise") {
  CHECK(terms_of("count: 2") == nullptr);
  CHECK(terms_of("count: 2, advertise: plugin") == nullptr);
  const auto terms = terms_of("count: 2, advertise: dra");
  REQUIRE(terms);
  CHECK(*terms == DraTerms{});
  CHECK(terms->on_unhealthy == OnUnhealthy::kTaint);
}

TEST_CASE("what a claim gets comes by CDI") {
  const std::string text = "apiServer: {}\nresources:\n- {name: x.com/a, count: 2, advertise: ";
  CHECK(test::config_of(text + "dra}\n").resources.at(0).recipe->cdi == CdiNames::kCri);
  CHECK(test::config_of(text + "dra, cdi: true}\n").resources.at(0).recipe->cdi == CdiNames::kCri);
  CHECK(test::config_of(text + "plugin}\n").resources.at(0).recipe->cdi == CdiNames::kNone);
}

TEST_CASE("a sick device is tainted, evicted from, or withdrawn") {
  CHECK(terms_of("count: 2, advertise: dra, onUnhealthy: taint")->on_unhealthy == OnUnhealthy::kTaint);
  CHECK(terms_of("count: 2, advertise: dra, onUnhealthy: evict")->on_unhealthy == OnUnhealthy::kEvict);
  CHECK(terms_of("count: 2, advertise: dra, onUnhealthy: withdraw")->on_unhealthy == OnUnhealthy::kWithdraw);
}

TEST_CASE("an attribute's type does not depend on the device") {
  const auto terms = terms_of(
      "pci: {vendors: [15b3]}, advertise: dra, attributes: {x.com/node: \"{numa}\", text: \"{numa} \", name: "
      "\"{name}\", seven: 7, below: -7, old: \"7\", octal: 07, yes: true, no: false, quoted: \"true\", word: "
      "lab}");
  REQUIRE(terms);
  using enum AttributeType;
  const std::vector<DraAttribute> expected{{"x.com/node", Template("{numa}"), kNumber},
                                           {"text", Template("{numa} "), kText},
                                           {"name", Template("{name}"), kText},
                                           {"seven", Template("7"), kNumber},
                                           {"below", Template("-7"), kNumber},
                                           {"old", Template("7"), kText},
                                           {"octal", Template("07"), kText},
                                           {"yes", Template("true"), kFlag},
                                           {"no", Template("false"), kFlag},
                                           {"quoted", Template("true"), kText},
                                           {"word", Template("lab"), kText}};
  CHECK(terms->attributes == expected);
  CHECK(terms->types.at("vf") == kNumber);
  CHECK_FALSE(terms->types.contains("name"));
}

TEST_CASE("as many attributes, and values and a name as long, as a device may have") {
  std::string attributes;
  for (int n = 0; n < 23; ++n) attributes += "a" + std::to_string(n) + ": 1, ";
  const auto terms = terms_of("count: 2, advertise: dra, attributes: {" + attributes +
                              "long: " + std::string(64, 'x') + "}");
  REQUIRE(terms);
  CHECK(terms->attributes.size() == 24);
  const std::string name = "x.com/" + std::string(58, 'a');
  CHECK(test::config_of("apiServer: {}\nresources:\n- {name: " + name + ", count: 2, advertise: dra}\n")
            .resources.at(0)
            .recipe->dra);
}

TEST_CASE("what every device has is no name for another attribute") {
  for (const char* const name : {"entry", "resource", "id"}) {
    CAPTURE(name);
    CHECK_THROWS_AS(terms_of("count: 2, advertise: dra, attributes: {" + std::string(name) + ": a}"),
                    ConfigError);
  }
}

TEST_CASE("a unit of a card is in the terms") {
  CHECK(terms_of("gpu: {unit: {memory: 2GiB}}, advertise: dra")->unit ==
        CardUnit{.memory = 2048 * CardUnit::kMiB});
  CHECK(terms_of("gpu: {unit: {cores: 10}}, advertise: dra")->unit == CardUnit{.cores = 10});
  CHECK(terms_of("gpu: {}, advertise: dra")->unit.whole());
  CHECK(terms_of("gpu: {}, advertise: dra")->types.at("memory") == AttributeType::kMemory);
  CHECK(terms_of("gpu: {}, advertise: dra, attributes: {mib: \"{memory}\"}")->attributes[0].type ==
        AttributeType::kNumber);
}

TEST_CASE("the driver is called after the one domain of its resources, or as the file says") {
  const std::string entries =
      "apiServer: {}\nresources:\n- {name: x.com/a, count: 2, advertise: dra}\n- {name: y.com/b, count: 2}\n"
      "- {name: x.com/c, count: 2, advertise: dra}\n";
  const Config config = test::config_of(entries);
  REQUIRE(config.dra);
  CHECK(config.dra->driver == "plughost.x.com");
  CHECK(config.dra->where == config.resources[0].where);
  const Config said = test::config_of("dra: {driver: d.example.org}\n" + entries);
  REQUIRE(said.dra);
  CHECK(said.dra->driver == "d.example.org");
  CHECK(said.dra->where.ends_with("a.yaml:1:6"));
  CHECK(test::config_of("dra: {}\n" + entries).dra->driver == "plughost.x.com");
  CHECK_FALSE(test::config_of("apiServer: {}\nresources: [{name: x.com/a, count: 1}]\n").dra);
  CHECK(test::config_of("dra: {driver: d.example.org}\nresources: []\n").dra->driver == "d.example.org");
}

}  // namespace
}  // namespace plughost
