#include "dra/slice_json.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/words.hpp"
#include "device/quantity.hpp"

namespace plughost {
namespace {

constexpr Word<TaintEffect> kEffects[] = {{"None", TaintEffect::kNone},
                                          {"NoSchedule", TaintEffect::kNoSchedule},
                                          {"NoExecute", TaintEffect::kNoExecute}};
constexpr const char* kNodeKind = "Node";

Json quantity_json(std::int64_t value) {
  return value < 0 ? std::to_string(value) : quantity_text(static_cast<std::uint64_t>(value));
}

Json attribute_json(const AttributeValue& value) {
  return std::visit(
      [](const auto& each) -> Json {
        using Value = std::decay_t<decltype(each)>;
        if constexpr (std::is_same_v<Value, bool>)
          return {{"bool", each}};
        else if constexpr (std::is_same_v<Value, std::int64_t>)
          return {{"int", each}};
        else if constexpr (std::is_same_v<Value, std::string>)
          return {{"string", each}};
        else
          return {{"version", each.text}};
      },
      value);
}

Json policy_json(const RequestPolicy& policy) {
  Json json{{"default", quantity_json(policy.default_amount)}};
  for (const std::int64_t value : policy.values) json["validValues"].push_back(quantity_json(value));
  if (policy.range) {
    Json& range = json["validRange"];
    range["min"] = quantity_json(policy.range->min);
    if (policy.range->max) range["max"] = quantity_json(*policy.range->max);
    if (policy.range->step) range["step"] = quantity_json(*policy.range->step);
  }
  return json;
}

Json counters_json(const std::map<std::string, std::int64_t>& counters) {
  Json::Object object;
  for (const auto& [name, value] : counters) object.emplace_back(name, Json{{"value", quantity_json(value)}});
  return object;
}

Json device_json(const PoolDevice& device) {
  Json json{{"name", device.name}};
  for (const auto& [name, value] : device.attributes) json["attributes"][name] = attribute_json(value);
  for (const auto& [name, capacity] : device.capacity) {
    Json& object = json["capacity"][name];
    object["value"] = quantity_json(capacity.value);
    if (capacity.policy) object["requestPolicy"] = policy_json(*capacity.policy);
  }
  if (device.several_claims) json["allowMultipleAllocations"] = true;
  for (const DeviceTaint& taint : device.taints) {
    Json object{{"key", taint.key}};
    if (!taint.value.empty()) object["value"] = taint.value;
    object["effect"] = word_of(kEffects, taint.effect);
    json["taints"].push_back(std::move(object));
  }
  for (const CounterUse& use : device.counters)
    json["consumesCounters"].push_back(
        Json{{"counterSet", use.set}, {"counters", counters_json(use.counters)}});
  return json;
}

// Reads what is known, and notes what is not.
class SliceReading {
 public:
  explicit SliceReading(ShownSlice& shown) : shown_(shown) {}

  void read(const Json& object) {
    const Json& metadata = object["metadata"];
    shown_.slice.name = metadata["name"].text();
    shown_.uid = metadata["uid"].text();
    shown_.resource_version = metadata["resourceVersion"].text();
    const Json::Array& owners = metadata["ownerReferences"].array();
    if (owners.size() == 1 && owners[0]["kind"].text() == kNodeKind)
      shown_.owner.node_uid = owners[0]["uid"].text();

    const Json& spec = object["spec"];
    for (const auto& [key, value] : spec.object()) {
      if (key == "driver")
        shown_.owner.driver = text(value);
      else if (key == "nodeName")
        shown_.owner.node = text(value);
      else if (key == "pool")
        read_pool(value);
      else if (key == "devices")
        for (const Json& each : value.array()) shown_.slice.devices.edit().push_back(device(each));
      else if (key == "sharedCounters")
        for (const Json& each : value.array()) shown_.slice.counters.push_back(counter_set(each));
      else
        shown_.exact = false;
    }
  }

 private:
  const std::string& text(const Json& value) {
    if (value != Json(value.text())) shown_.exact = false;
    return value.text();
  }
  std::int64_t number(const Json& value) {
    if (value != Json(value.number())) shown_.exact = false;
    return value.number();
  }
  std::int64_t quantity(const Json& value) {
    const auto whole =
        value == Json(value.number()) ? std::optional<std::uint64_t>() : whole_quantity(value.text());
    if (whole && std::in_range<std::int64_t>(*whole)) return static_cast<std::int64_t>(*whole);
    return number(value);
  }

  void read_pool(const Json& pool) {
    for (const auto& [key, value] : pool.object()) {
      if (key == "name")
        shown_.slice.pool = text(value);
      else if (key == "generation")
        shown_.slice.generation = number(value);
      else if (key == "resourceSliceCount")
        shown_.slice.slices = number(value);
      else
        shown_.exact = false;
    }
  }

  PoolDevice device(const Json& json) {
    PoolDevice device;
    for (const auto& [key, value] : json.object()) {
      if (key == "name")
        device.name = text(value);
      else if (key == "attributes")
        for (const auto& [name, each] : value.object()) add_attribute(device, name, each);
      else if (key == "capacity")
        for (const auto& [name, each] : value.object()) device.capacity[name] = capacity(each);
      else if (key == "allowMultipleAllocations")
        device.several_claims = value.truth();
      else if (key == "taints")
        for (const Json& each : value.array()) device.taints.push_back(taint(each));
      else if (key == "consumesCounters")
        for (const Json& each : value.array()) device.counters.push_back(use(each));
      else
        shown_.exact = false;
    }
    return device;
  }

  void add_attribute(PoolDevice& device, const std::string& name, const Json& json) {
    if (json.object().size() != 1) {
      shown_.exact = false;
      return;
    }
    const auto& [kind, value] = json.object().front();
    if (kind == "bool")
      device.attributes[name] = value.truth();
    else if (kind == "int")
      device.attributes[name] = number(value);
    else if (kind == "string")
      device.attributes[name] = text(value);
    else if (kind == "version")
      device.attributes[name] = SemanticVersion{text(value)};
    else
      shown_.exact = false;
  }

  DeviceCapacity capacity(const Json& json) {
    DeviceCapacity capacity;
    for (const auto& [key, value] : json.object()) {
      if (key == "value")
        capacity.value = quantity(value);
      else if (key == "requestPolicy")
        capacity.policy = policy(value);
      else
        shown_.exact = false;
    }
    return capacity;
  }

  RequestPolicy policy(const Json& json) {
    RequestPolicy policy;
    for (const auto& [key, value] : json.object()) {
      if (key == "default")
        policy.default_amount = quantity(value);
      else if (key == "validValues")
        for (const Json& each : value.array()) policy.values.push_back(quantity(each));
      else if (key == "validRange")
        policy.range = range(value);
      else
        shown_.exact = false;
    }
    return policy;
  }

  RequestPolicy::Range range(const Json& json) {
    RequestPolicy::Range range;
    for (const auto& [key, value] : json.object()) {
      if (key == "min")
        range.min = quantity(value);
      else if (key == "max")
        range.max = quantity(value);
      else if (key == "step")
        range.step = quantity(value);
      else
        shown_.exact = false;
    }
    return range;
  }

  DeviceTaint taint(const Json& json) {
    DeviceTaint taint;
    for (const auto& [key, value] : json.object()) {
      if (key == "key") {
        taint.key = text(value);
      } else if (key == "value") {
        taint.value = text(value);
      } else if (key == "effect") {
        const auto effect = value_of(kEffects, value.text());
        shown_.exact = shown_.exact && effect;
        taint.effect = effect.value_or(TaintEffect::kNone);
      } else if (key != "timeAdded") {
        shown_.exact = false;
      }
    }
    return taint;
  }

  CounterUse use(const Json& json) {
    CounterUse use;
    for (const auto& [key, value] : json.object()) {
      if (key == "counterSet")
        use.set = text(value);
      else if (key == "counters")
        use.counters = counters(value);
      else
        shown_.exact = false;
    }
    return use;
  }

  CounterSet counter_set(const Json& json) {
    CounterSet set;
    for (const auto& [key, value] : json.object()) {
      if (key == "name")
        set.name = text(value);
      else if (key == "counters")
        set.counters = counters(value);
      else
        shown_.exact = false;
    }
    return set;
  }

  std::map<std::string, std::int64_t> counters(const Json& json) {
    std::map<std::string, std::int64_t> counters;
    for (const auto& [name, each] : json.object()) {
      counters[name] = quantity(each["value"]);
      if (each.object().size() != 1) shown_.exact = false;
    }
    return counters;
  }

  ShownSlice& shown_;
};

bool has_taints(const PoolDevice& device) {
  return !device.taints.empty();
}

bool has_counters(const PoolDevice& device) {
  return !device.counters.empty();
}

}  // namespace

std::string version_of_slices(const std::vector<std::string>& served) {
  // What they have in common is all that is used.
  for (const char* const version : {"v1", "v1beta2"})
    if (std::ranges::find(served, version) != served.end()) return version;
  return {};
}

Json slice_json(const Slice& slice, const SliceOwner& owner, std::string_view version,
                const std::string& resource_version) {
  Json metadata{{"name", slice.name}};
  if (!resource_version.empty()) metadata["resourceVersion"] = resource_version;
  if (!owner.node_uid.empty())
    metadata["ownerReferences"].push_back(Json{{"apiVersion", "v1"},
                                               {"kind", kNodeKind},
                                               {"name", owner.node},
                                               {"uid", owner.node_uid},
                                               {"controller", true}});
  Json spec{
      {"driver", owner.driver},
      {"nodeName", owner.node},
      {"pool",
       Json{{"name", slice.pool}, {"generation", slice.generation}, {"resourceSliceCount", slice.slices}}}};
  for (const PoolDevice& device : slice.devices) spec["devices"].push_back(device_json(device));
  for (const CounterSet& set : slice.counters)
    spec["sharedCounters"].push_back(Json{{"name", set.name}, {"counters", counters_json(set.counters)}});
  return {{"apiVersion", std::string(kSliceGroup) + '/' + std::string(version)},
          {"kind", "ResourceSlice"},
          {"metadata", std::move(metadata)},
          {"spec", std::move(spec)}};
}

ShownSlice shown_slice(const Json& object) {
  ShownSlice shown{.exact = true};
  shown.slice.generation = 0;
  shown.slice.slices = 0;
  SliceReading(shown).read(object);
  return shown;
}

std::string taint_text(const DeviceTaint& taint) {
  return taint.key + (taint.value.empty() ? "" : '=' + taint.value) + ':' +
         std::string(word_of(kEffects, taint.effect));
}

DraFeatures features_kept(const Slice& sent, const Slice& shown) {
  DraFeatures kept;
  const auto lost = [&](auto has) {
    return std::ranges::any_of(sent.devices, has) && std::ranges::none_of(shown.devices, has);
  };
  kept.taints = !lost(has_taints);
  kept.sharing = !lost([](const PoolDevice& device) { return device.several_claims; });
  kept.partitions = !lost(has_counters) && (sent.counters.empty() || !shown.counters.empty());
  return kept;
}

}  // namespace plughost
