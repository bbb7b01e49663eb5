#include "dra/limits.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace plughost;

namespace {

PoolDevice named(std::string name) {
  return {.name = std::move(name)};
}

bool says(const std::vector<std::string>& sentences, const std::string& part) {
  for (const std::string& each : sentences)
    if (each.find(part) != std::string::npos) return true;
  return false;
}

PoolDevice shared(RequestPolicy policy, std::int64_t value = 8) {
  return {.name = "a", .capacity = {{"shares", {.value = value, .policy = policy}}}, .several_claims = true};
}

std::map<std::string, std::int64_t> counters(std::size_t count) {
  std::map<std::string, std::int64_t> all;
  for (std::size_t i = 0; i < count; ++i) all["c" + std::to_string(i)] = 1;
  return all;
}

}  // namespace

TEST_CASE("an attribute's name is a C identifier of 32 characters, with a domain of 63 before it") {
  for (const std::string& name :
       {std::string("model"), std::string("_a1"), std::string(32, 'a'), std::string("dra.net/numaNode"),
        std::string(31, 'a') + '.' + std::string(31, 'b') + "/x"})
    CHECK_MESSAGE(attribute_name_trouble(name).empty(), name);
  for (const std::string& name :
       {std::string(), std::string("1a"), std::string("a-b"), std::string("a.b"), std::string(33, 'a'),
        std::string("/a"), std::string("a.b/"), std::string("A.b/c"), std::string("a/b/c"),
        std::string(32, 'a') + '.' + std::string(31, 'b') + "/x"})
    CHECK_FALSE_MESSAGE(attribute_name_trouble(name).empty(), name);
}

TEST_CASE("a text has 64 bytes, and a version is one of semver.org's") {
  CHECK(attribute_value_trouble(true).empty());
  CHECK(attribute_value_trouble(std::int64_t{-1}).empty());
  CHECK(attribute_value_trouble(std::string()).empty());
  CHECK(attribute_value_trouble(std::string(64, 'a')).empty());
  CHECK(attribute_value_trouble(std::string(65, 'a')) == "it has 65 bytes, and may have 64");
  for (const char* const version :
       {"1.2.3", "0.0.0", "535.104.5", "1.2.3-rc.1", "1.2.3-0a.-", "1.2.3+007.b", "1.2.3-a+b-c"})
    CHECK_MESSAGE(attribute_value_trouble(SemanticVersion{version}).empty(), version);
  for (const char* const version : {"", "1.2", "1.2.3.4", "01.2.3", "1.2.03", "v1.2.3", "1.2.3-", "1.2.3-01",
                                    "1.2.3+", "1.2.3-a..b", "1.2.3 "})
    CHECK_FALSE_MESSAGE(attribute_value_trouble(SemanticVersion{version}).empty(), version);
  CHECK_FALSE(attribute_value_trouble(SemanticVersion{"1.2.3-" + std::string(59, 'a')}).empty());
  CHECK(attribute_value_trouble(SemanticVersion{"1.2.3-" + std::string(58, 'a')}).empty());
}

TEST_CASE("a device has 32 attributes and capacities together, and a DNS label as its name") {
  PoolDevice device = named("a");
  for (int i = 0; i < 30; ++i) device.attributes["a" + std::to_string(i)] = true;
  device.capacity["b"] = {.value = 1};
  device.capacity["c"] = {.value = 1};
  CHECK(limits_broken(device).empty());
  device.capacity["d"] = {.value = 1};
  CHECK(limits_broken(device) ==
        std::vector<std::string>{"it has 33 attributes and capacities, and may have 32"});
  CHECK(says(limits_broken(named("A")), "its name is no DNS label"));
  PoolDevice bad = named("a");
  bad.attributes["a b"] = std::string(65, 'x');
  bad.capacity["c d"] = {.value = -1};
  CHECK(limits_broken(bad).size() == 4);
}

TEST_CASE("a device has four taints at most, whose keys and values are labels'") {
  PoolDevice device = named("a");
  for (int i = 0; i < 4; ++i) device.taints.push_back({.key = "a.b/k" + std::to_string(i), .value = "v"});
  CHECK(limits_broken(device).empty());
  device.taints.push_back({.key = "k"});
  CHECK(limits_broken(device) == std::vector<std::string>{"it has 5 taints, and may have 4"});
  device.taints = {{.key = "", .value = "a b"}};
  CHECK(limits_broken(device).size() == 2);
}

TEST_CASE("what a request takes of a capacity is one of its values") {
  CHECK(limits_broken(shared({.default_amount = 1, .values = {1, 2, 8}})).empty());
  CHECK(says(limits_broken(shared({.default_amount = 3, .values = {1, 2}})), "which is none of its values"));
  CHECK(says(limits_broken(shared({.default_amount = 1, .values = {1, 9}})), "more than there is"));
  CHECK(says(limits_broken(shared({.default_amount = 1, .values = {2, 1}})), "ascending"));
  CHECK(says(limits_broken(shared({.default_amount = 1, .values = {1, 1}})), "ascending"));
  RequestPolicy many{.default_amount = 1, .values = {}};
  for (int i = 1; i <= 10; ++i) many.values.push_back(i);
  CHECK(limits_broken(shared(many, 20)).empty());
  many.values.push_back(11);
  CHECK(says(limits_broken(shared(many, 20)), "one of 11 values, and may be one of 10"));
  CHECK(says(
      limits_broken(shared({.default_amount = 1, .values = {1}, .range = RequestPolicy::Range{.min = 1}})),
      "by values and by a range"));
  PoolDevice alone = shared({.default_amount = 1, .values = {1}});
  alone.several_claims = false;
  CHECK(says(limits_broken(alone), "only said where several claims may share"));
}

TEST_CASE("what a request takes of a capacity is in its range, and its steps lead there") {
  const auto broken = [](std::int64_t amount, RequestPolicy::Range range) {
    return limits_broken(shared({.default_amount = amount, .range = range}));
  };
  CHECK(broken(1, {.min = 1}).empty());
  CHECK(broken(8, {.min = 8}).empty());
  CHECK(broken(4, {.min = 2, .max = 8, .step = 2}).empty());
  CHECK(broken(2, {.min = 2, .step = 6}).empty());
  CHECK(says(broken(2, {.min = 2, .step = 7}), "leads to more than there is"));
  CHECK(says(broken(9, {.min = 9}), "more than there is of it"));
  CHECK(says(broken(1, {.min = 1, .max = 9}), "more than there is of it"));
  CHECK(says(broken(0, {.min = 1}), "0 by default, which is not in its range"));
  CHECK(says(broken(5, {.min = 1, .max = 4}), "5 by default, which is not in its range"));
  CHECK(says(broken(4, {.min = 4, .max = 3}), "a least that is more than its most"));
  CHECK(says(broken(3, {.min = 2, .step = 2}), "do not lead to"));
  CHECK(says(broken(2, {.min = 2, .max = 7, .step = 2}), "do not lead to"));
  CHECK(says(broken(2, {.min = 2, .step = 0}), "needs one above 0"));
}

TEST_CASE("a device uses counters of two sets at most, and those of its pool") {
  Pool pool{.name = "node-a/p",
            .devices = {named("a")},
            .counters = {{.name = "s1", .counters = counters(32)}, {.name = "s2", .counters = counters(1)}}};
  pool.devices.edit()[0].counters = {{.set = "s1", .counters = counters(32)},
                                     {.set = "s2", .counters = counters(1)}};
  CHECK(limits_broken(pool).empty());
  pool.devices.edit()[0].counters.push_back({.set = "s1", .counters = counters(1)});
  CHECK(says(limits_broken(pool), "device \"a\": it has 3 counter sets, and may have 2"));
  CHECK(says(limits_broken(pool), "device \"a\": the counters \"s1\" stand there twice"));
  pool.devices.edit()[0].counters = {{.set = "s3", .counters = counters(1)},
                                     {.set = "s2", .counters = counters(2)}};
  CHECK(says(limits_broken(pool), "the pool has no counters \"s3\""));
  CHECK(says(limits_broken(pool), "the pool's counters \"s2\" have no \"c1\""));
  pool.devices.edit().clear();
  pool.counters[0].counters["c32"] = 1;
  CHECK(says(limits_broken(pool), "there are 33 counters in \"s1\", and may be 32"));
  pool.counters = {{.name = "A", .counters = {}}, {.name = "b", .counters = {{"C", 1}}}};
  CHECK(limits_broken(pool).size() == 3);
  pool.counters = {{.name = "b", .counters = counters(1)}, {.name = "b", .counters = counters(1)}};
  CHECK(says(limits_broken(pool), "the counters \"b\" stand there twice"));
}

TEST_CASE("no two devices of a pool have one name, and the pool's has 253 characters") {
  Pool pool{.name = std::string(253, 'a'), .devices = {named("a"), named("b")}, .counters = {}};
  CHECK(limits_broken(pool).empty());
  pool.devices.edit()[1].name = "a";
  CHECK(limits_broken(pool) == std::vector<std::string>{"device \"a\": another one has its name"});
  pool.devices.edit().clear();
  pool.name += 'a';
  CHECK(says(limits_broken(pool), "the pool's name has 254 characters, and may have 253"));
}

TEST_CASE("nothing of a capacity, and a range of one amount, are within what can be") {
  CHECK(limits_broken(PoolDevice{.name = "a", .capacity = {{"memory", {.value = 0}}}}).empty());
  CHECK_FALSE(limits_broken(PoolDevice{.name = "a", .capacity = {{"memory", {.value = -1}}}}).empty());
  RequestPolicy policy{.default_amount = 2, .values = {}, .range = RequestPolicy::Range{.min = 2, .max = 2}};
  CHECK(limits_broken(shared(policy)).empty());
  policy.range->max = 1;
  CHECK_FALSE(limits_broken(shared(policy)).empty());
  PoolDevice device = named("a");
  device.taints = {{.key = "a b", .value = "v"}};
  CHECK(says(limits_broken(device), "the key of its taint \"a b\""));
}
