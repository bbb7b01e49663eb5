#include "dra/slice_json.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace plughost;

namespace {

const SliceOwner kOwner{.driver = "plughost.example.com", .node = "node-a", .node_uid = "uid-1"};

Slice everything() {
  PoolDevice device{.name = "gpu-0"};
  device.attributes = {{"model", std::string("A100")},
                       {"numa", std::int64_t{-1}},
                       {"dra.net/ready", true},
                       {"driver", SemanticVersion{"535.104.5"}}};
  device.capacity = {
      {"memory",
       {.value = std::int64_t{80} << 30u,
        .policy = RequestPolicy{.default_amount = 1 << 30,
                                .range = RequestPolicy::Range{.min = 1 << 30, .max = 8, .step = 2}}}},
      {"shares", {.value = 1000, .policy = RequestPolicy{.default_amount = 1, .values = {1, 2}}}},
      {"plain", {.value = 3}}};
  device.several_claims = true;
  device.taints = {{.key = "plughost.io/unhealthy", .value = "gone", .effect = TaintEffect::kNoExecute},
                   {.key = "k", .effect = TaintEffect::kNoSchedule},
                   {.key = "n", .effect = TaintEffect::kNone}};
  device.counters = {{.set = "card-0", .counters = {{"slots", 7}}}};
  return {.name = "00000-x",
          .pool = "node-a/p",
          .generation = 4,
          .slices = 2,
          .devices = {device},
          .counters = {{.name = "card-0", .counters = {{"slots", 7}, {"memory", 1000}}}}};
}

// Replaces what stands there once.
std::string with(std::string text, const std::string& part, const std::string& other) {
  const std::size_t at = text.find(part);
  REQUIRE_MESSAGE(at != std::string::npos, part);
  return text.replace(at, part.size(), other);
}

}  // namespace

TEST_CASE("a slice is written with its driver, its node and the Node that owns it") {
  Slice slice{
      .name = "00000-x", .pool = "node-a/p", .generation = 2, .slices = 1, .devices = {{.name = "a"}}};
  CHECK(slice_json(slice, kOwner, "v1", "17").dump() ==
        R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"00000-x",)"
        R"("resourceVersion":"17","ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"node-a",)"
        R"("uid":"uid-1","controller":true}]},"spec":{"driver":"plughost.example.com","nodeName":"node-a",)"
        R"("pool":{"name":"node-a/p","generation":2,"resourceSliceCount":1},"devices":[{"name":"a"}]}})");
  const std::string other = slice_json(slice, {.driver = "d", .node = "n", .node_uid = ""}, "v1beta2").dump();
  CHECK(other.find("resourceVersion") == std::string::npos);
  CHECK(other.find("ownerReferences") == std::string::npos);
  CHECK(other.find("resource.k8s.io/v1beta2") != std::string::npos);
}

TEST_CASE("all that a device can have is written as the API has it") {
  const Json json = slice_json(everything(), kOwner, "v1");
  const Json& device = json["spec"]["devices"].array()[0];
  CHECK(device["attributes"].dump() ==
        R"({"dra.net/ready":{"bool":true},"driver":{"version":"535.104.5"},"model":{"string":"A100"},)"
        R"("numa":{"int":-1}})");
  CHECK(
      device["capacity"].dump() ==
      R"({"memory":{"value":"80Gi","requestPolicy":{"default":"1Gi","validRange":{"min":"1Gi","max":"8","step":"2"}}},)"
      R"("plain":{"value":"3"},"shares":{"value":"1000","requestPolicy":{"default":"1","validValues":["1","2"]}}})");
  CHECK(device["allowMultipleAllocations"] == Json(true));
  CHECK(
      device["taints"].dump() ==
      R"([{"key":"plughost.io/unhealthy","value":"gone","effect":"NoExecute"},{"key":"k","effect":"NoSchedule"},)"
      R"({"key":"n","effect":"None"}])");
  CHECK(device["consumesCounters"].dump() ==
        R"([{"counterSet":"card-0","counters":{"slots":{"value":"7"}}}])");
  CHECK(json["spec"]["sharedCounters"].dump() ==
        R"([{"name":"card-0","counters":{"memory":{"value":"1000"},"slots":{"value":"7"}}}])");
}

TEST_CASE("a taint is called as kubectl writes it") {
  CHECK(taint_text({.key = "k", .value = "v", .effect = TaintEffect::kNoExecute}) == "k=v:NoExecute");
  CHECK(taint_text({.key = "k"}) == "k:NoSchedule");
}

TEST_CASE("what was written is read again as it was") {
  const ShownSlice shown = shown_slice(slice_json(everything(), kOwner, "v1", "9"));
  CHECK(shown.slice == everything());
  CHECK(shown.owner == kOwner);
  CHECK(shown.resource_version == "9");
  CHECK(shown.uid.empty());
  CHECK(shown.exact);
}

TEST_CASE("the API server's own form of a number, and when a taint was added, make no difference") {
  std::string text = slice_json(everything(), kOwner, "v1").dump();
  text = with(text, R"("value":"1000")", R"("value":"1k")");
  text = with(text, R"("value":"80Gi")", R"("value":"81920Mi")");
  text = with(text, R"("effect":"NoExecute")", R"("effect":"NoExecute","timeAdded":"2026-11-23T00:00:00Z")");
  text = with(text, R"("name":"00000-x")",
              R"("name":"00000-x","uid":"u","generation":3,"creationTimestamp":"x")");
  const ShownSlice shown = shown_slice(Json::parse(text));
  CHECK(shown.slice == everything());
  CHECK(shown.exact);
  CHECK(shown.uid == "u");
}

TEST_CASE("what we have not written is noticed, wherever it stands") {
  const std::string text = slice_json(everything(), kOwner, "v1").dump();
  const auto exact = [&](const std::string& part, const std::string& other) {
    return shown_slice(Json::parse(with(text, part, other))).exact;
  };
  CHECK(exact("NoExecute", "NoExecute"));
  CHECK_FALSE(exact(R"("nodeName":)", R"("allNodes":true,"nodeName":)"));
  CHECK_FALSE(exact(R"("generation":4)", R"("generation":4,"x":1)"));
  CHECK_FALSE(exact(R"("generation":4)", R"("generation":"4")"));
  CHECK_FALSE(exact(R"({"name":"gpu-0")", R"({"bindingConditions":["a"],"name":"gpu-0")"));
  CHECK_FALSE(exact(R"({"string":"A100"})", R"({"strings":["A100"]})"));
  CHECK_FALSE(exact(R"({"string":"A100"})", R"({"string":"A100","int":1})"));
  CHECK_FALSE(exact(R"({"value":"3"})", R"({"value":"3","x":1})"));
  CHECK_FALSE(exact(R"({"value":"3"})", R"({"value":"500m"})"));
  CHECK_FALSE(exact(R"({"default":"1")", R"({"x":1,"default":"1")"));
  CHECK_FALSE(exact(R"("step":"2")", R"("step":"2","x":1)"));
  CHECK_FALSE(exact(R"("key":"k")", R"("key":"k","x":1)"));
  CHECK_FALSE(exact(R"("key":"k")", R"("key":7)"));
  CHECK_FALSE(exact(R"({"value":"3"})", R"({"value":"9223372036854775808"})"));
  CHECK_FALSE(exact("NoExecute", "Sometimes"));
  CHECK_FALSE(exact(R"({"counterSet")", R"({"x":1,"counterSet")"));
  CHECK_FALSE(exact(R"("sharedCounters":[{)", R"("sharedCounters":[{"x":1,)"));
  CHECK_FALSE(exact(R"({"slots":{)", R"({"slots":{"x":1,)"));
}

TEST_CASE("only one Node is an owner, and what is no slice at all is read as nothing") {
  const std::string text = slice_json(everything(), kOwner, "v1").dump();
  CHECK(shown_slice(Json::parse(with(text, R"("kind":"Node")", R"("kind":"Pod")"))).owner.node_uid.empty());
  CHECK(shown_slice(Json::parse(with(text, R"([{"apiVersion":"v1","kind":"Node")",
                                     R"([{"kind":"Pod"},{"apiVersion":"v1","kind":"Node")")))
            .owner.node_uid.empty());
  CHECK(shown_slice(Json::parse(with(text, R"("controller":true})", R"("controller":true},{"kind":"Pod"})")))
            .owner.node_uid.empty());
  for (const char* const other : {"null", "[]", "7", R"({"spec":[]})", R"({"spec":{"devices":{"a":1}}})"}) {
    const ShownSlice shown = shown_slice(Json::parse(other));
    CHECK(shown.slice.name.empty());
    CHECK(shown.slice.devices.empty());
    CHECK(shown.slice.generation == 0);
    CHECK(shown.slice.slices == 0);
  }
}

TEST_CASE("a feature whose fields are gone is off") {
  const Slice sent = everything();
  CHECK(features_kept(sent, sent) == DraFeatures{});
  Slice shown = sent;
  shown.devices.edit()[0].taints.clear();
  CHECK(features_kept(sent, shown) == DraFeatures{.taints = false});
  shown = sent;
  shown.devices.edit().push_back(sent.devices[0]);
  shown.devices.edit()[0].taints.clear();
  CHECK(features_kept(sent, shown) == DraFeatures{});  // some are there
  shown = sent;
  shown.devices.edit()[0].several_claims = false;
  CHECK(features_kept(sent, shown) == DraFeatures{.sharing = false});
  shown = sent;
  shown.devices.edit()[0].counters.clear();
  CHECK(features_kept(sent, shown) == DraFeatures{.partitions = false});
  shown = sent;
  shown.counters.clear();
  CHECK(features_kept(sent, shown) == DraFeatures{.partitions = false});
  CHECK(features_kept(Slice(), Slice()) == DraFeatures{});
}
