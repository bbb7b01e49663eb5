#include "kubernetes/kubelet/holdings.hpp"

#include <doctest/doctest.h>

using namespace plughost;

namespace {

Holder holder(const std::string& pod, const std::string& container = "main") {
  return {.pod_namespace = "default", .pod = pod, .container = container};
}

std::string text_of(std::span<const HoldersOfIds::Held> held) {
  std::string text;
  for (const auto& [id, its] : held) text += std::string(id) + '=' + its->pod + '/' + its->container + ' ';
  return text;
}

std::string held_text(const Holdings& holdings, const std::string& resource, const Device& device) {
  std::string text;
  for (const auto* const held : held_ids(holdings, resource, device)) text += std::string(held->id) + ' ';
  return text;
}

Device device(const std::string& id, unsigned replicas) {
  Device made;
  made.id = id;
  made.replicas = replicas;
  return made;
}

}  // namespace

TEST_CASE("holders: ids are sorted, and if several containers of a pod hold an id, the last one is kept") {
  const HoldersOfIds held{{"b", holder("p", "init")}, {"a", holder("q")}, {"b", holder("p")}};
  CHECK(text_of(held.all()) == "a=q/main b=p/main ");
}

TEST_CASE("holders: an id that the kubelet has given twice has both pods, in order") {
  const HoldersOfIds held{
      {"a", holder("p", "init")}, {"a", holder("q")}, {"a", holder("p")}, {"b", holder("q")}};
  CHECK(text_of(held.of("a")) == "a=p/main a=q/main ");
  CHECK(held.contains("b"));
  CHECK_FALSE(held.contains("c"));
  CHECK_FALSE(HoldersOfIds().contains(""));
}

TEST_CASE("holders: two values are equal if their ids and holders are equal") {
  const HoldersOfIds held{{"a", holder("p")}};
  CHECK(held == HoldersOfIds{{"a", holder("p")}});
  CHECK_FALSE(held == HoldersOfIds{{"a", holder("q")}});
  CHECK_FALSE(held == HoldersOfIds{{"b", holder("p")}});
  CHECK_FALSE(held == HoldersOfIds());
}

TEST_CASE("holders: the builder's texts may be destroyed after building") {
  HoldingsBuilder builder;
  std::string id = "an id that is too long to be stored within a string";
  builder.add("x.com/a", id, std::make_shared<const Holder>(holder("p")));
  const Holdings holdings = std::move(builder).build();
  id.assign(id.size(), '?');
  CHECK(holdings.at("x.com/a").contains("an id that is too long to be stored within a string"));
}

TEST_CASE("holders: the ids of a device are those of its replicas, and not ids that only look similar") {
  const Holdings holdings{{"x.com/a",
                           {{"gpu", holder("p")},
                            {"gpu::0", holder("p")},
                            {"gpu::3", holder("p")},
                            {"gpu::4", holder("p")},
                            {"gpu::x", holder("p")},
                            {"gpu::1::2", holder("p")},
                            {"gpu:", holder("p")},
                            {"gpu2::0", holder("p")}}}};
  CHECK(held_text(holdings, "x.com/a", device("gpu", 4)) == "gpu::0 gpu::3 ");
  CHECK(held_text(holdings, "x.com/a", device("gpu", 1)) == "gpu ");
  CHECK(held_text(holdings, "x.com/a", device("gpu::1", 3)) == "gpu::1::2 ");
  CHECK(held_text(holdings, "x.com/a", device("other", 4)) == "");
  CHECK(held_text(holdings, "x.com/b", device("gpu", 4)) == "");
}
