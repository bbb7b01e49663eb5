#include "device/choice.hpp"

#include <doctest/doctest.h>

#include "device/assembly.hpp"

namespace plughost {
namespace {

using Texts = std::vector<std::string>;

Device card(std::string id, const std::string& name, const std::string& pci) {
  Device made;
  made.id = std::move(id);
  made.attributes = {{"name", name}, {"pci", pci}};
  return made;
}

std::vector<Device> cards() {
  return {card("GPU-a", "NVIDIA A100-SXM4-40GB", "0000:3b:00.0"), card("GPU-b", "Tesla T4", "0000:86:00.0"),
          card("GPU-c", "NVIDIA A100-SXM4-80GB", "0000:af:00.0")};
}

struct Chosen {
  Texts ids;
  Texts remarks;
};

Chosen chosen(const Choice& choice) {
  Chosen result;
  std::vector<Device> devices = cards();
  choose(choice, devices, result.remarks);
  for (const Device& device : devices) result.ids.push_back(device.id);
  return result;
}

TEST_CASE("without a choice every device is taken") {
  CHECK(chosen({}).ids == Texts{"GPU-a", "GPU-b", "GPU-c"});
  CHECK(chosen({}).remarks.empty());
}

TEST_CASE("`only` takes those that match one of its patterns, in all of its attributes") {
  CHECK(chosen({.only = {{{{"name", {"*A100*"}}}, "only[0]"}}, .except = {}}).ids == Texts{"GPU-a", "GPU-c"});
  CHECK(chosen({.only = {{{{"name", {"*A100*"}}, {"pci", {"0000:3b:*"}}}, "only[0]"}}, .except = {}}).ids ==
        Texts{"GPU-a"});
  CHECK(chosen({.only = {{{{"id", {"GPU-b"}}}, "only[0]"}, {{{"pci", {"*:af:*"}}}, "only[1]"}}, .except = {}})
            .ids == Texts{"GPU-b", "GPU-c"});
}

TEST_CASE("of several patterns of an attribute one has to match, and all of its value") {
  CHECK(chosen({.only = {{{{"id", {"GPU-a", "GPU-b"}}}, "only[0]"}}, .except = {}}).ids ==
        Texts{"GPU-a", "GPU-b"});
  CHECK(chosen({.only = {{{{"name", {"A100", "Tesla"}}}, "only[0]"}}, .except = {}}).ids.empty());
}

TEST_CASE("`except` leaves out those that match, whatever `only` says") {
  CHECK(chosen({.only = {}, .except = {{{{"pci", {"0000:3b:00.0"}}}, "except[0]"}}}).ids ==
        Texts{"GPU-b", "GPU-c"});
  CHECK(
      chosen({.only = {{{{"name", {"*A100*"}}}, "only[0]"}}, .except = {{{{"id", {"GPU-c"}}}, "except[0]"}}})
          .ids == Texts{"GPU-a"});
}

TEST_CASE("a device without the attribute does not match, and a pattern without a device is remarked on") {
  const Chosen none = chosen({.only = {{{{"serial", {"*"}}}, "only[0]"}}, .except = {}});
  CHECK(none.ids.empty());
  CHECK(none.remarks == Texts{"`only[0]` matches no device that is here now"});
  const Chosen excepted =
      chosen({.only = {{{{"name", {"*"}}}, "only[0]"}},
              .except = {{{{"id", {"GPU-b"}}}, "except[0]"}, {{{"id", {"GPU-x"}}}, "except[1]"}}});
  CHECK(excepted.ids == Texts{"GPU-a", "GPU-c"});
  CHECK(excepted.remarks == Texts{"`except[1]` matches no device that is here now"});
}

TEST_CASE("'*' matches what a path has: '/', and a leading '.'") {
  CHECK(matches("/dev/*", "/dev/snd/.hidden"));
  CHECK(matches("*", ""));
  CHECK_FALSE(matches("a?", "a"));
  CHECK_FALSE(matches("a", "ab"));
}

TEST_CASE("positions in an entry are counted among the devices that it takes") {
  Recipe recipe;
  recipe.name = Template("example.com/x");
  recipe.id = Template("{n}");
  recipe.choice.except = {{{{"id", {"GPU-a"}}}, "except[0]"}};
  const Assembly assembly = assemble(recipe, cards());
  Texts ids;
  for (const Device& device : assembly.resources.at("example.com/x")) ids.push_back(device.id);
  CHECK(ids == Texts{"0", "1"});
}

TEST_CASE("replicas by pattern: any attribute, the first pattern's, and what is named alone comes before") {
  Recipe recipe;
  recipe.name = Template("example.com/x");
  recipe.replicas = 3;
  recipe.replicas_by_pattern = {{"*T4", 2}, {"*80GB", 5}, {"*A100*", 4}};
  recipe.replicas_of = {{"GPU-c", 7}};
  const Assembly assembly = assemble(recipe, cards());
  std::vector<unsigned> replicas;
  for (const Device& device : assembly.resources.at("example.com/x")) replicas.push_back(device.replicas);
  CHECK(replicas == std::vector<unsigned>{4, 2, 7});
  recipe.replicas_of.clear();
  recipe.replicas_by_pattern = {{"*80GB", 5}, {"*A100*", 4}};
  replicas.clear();
  for (const Device& device : assemble(recipe, cards()).resources.at("example.com/x"))
    replicas.push_back(device.replicas);
  CHECK(replicas == std::vector<unsigned>{4, 3, 5});
}

}  // namespace
}  // namespace plughost
