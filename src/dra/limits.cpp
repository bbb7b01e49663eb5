#include "dra/limits.hpp"

#include <algorithm>
#include <functional>
#include <set>

#include "base/ascii.hpp"
#include "base/text.hpp"
#include "device/id.hpp"
#include "device/label.hpp"
#include "dra/names.hpp"

namespace plughost {
namespace {

using Found = std::vector<std::string>;

std::string cut_quote(std::string_view text) {
  constexpr std::size_t kMost = 80;
  return in_quotes(printable(text.substr(0, kMost)) + (text.size() > kMost ? "…" : ""));
}

std::string more_than(std::size_t count, std::size_t most, const std::string& what) {
  return "it has " + std::to_string(count) + ' ' + what + ", and may have " + std::to_string(most);
}

bool is_c_identifier(std::string_view text) {
  if (text.empty() || is_digit(text.front())) return false;
  return std::ranges::all_of(text, [](char c) { return is_letter_or_digit(c) || c == '_'; });
}

// A number of a version: no zero stands before others.
bool is_version_number(std::string_view text) {
  return is_digits(text) && (text == "0" || text.front() != '0');
}

// Parts with dots between them, none of them empty.
template <typename IsPart>
bool are_parts(std::string_view text, IsPart is_part) {
  for (std::size_t from = 0;;) {
    const std::size_t dot = text.find('.', from);
    if (!is_part(text.substr(from, dot - from))) return false;
    if (dot == std::string_view::npos) return true;
    from = dot + 1;
  }
}

bool is_build_part(std::string_view part) {
  return !part.empty() && std::ranges::all_of(part, [](char c) { return is_letter_or_digit(c) || c == '-'; });
}

// semver.org 2.0: 1.2.3, 1.2.3-rc.1+build.7
bool is_semantic_version(std::string_view text) {
  const std::size_t plus = text.find('+');
  if (plus != std::string_view::npos && !are_parts(text.substr(plus + 1), is_build_part)) return false;
  text = text.substr(0, plus);
  const std::size_t minus = text.find('-');
  const auto is_release_part = [](std::string_view part) {
    return is_build_part(part) && (!is_digits(part) || is_version_number(part));
  };
  if (minus != std::string_view::npos && !are_parts(text.substr(minus + 1), is_release_part)) return false;
  text = text.substr(0, minus);
  return std::ranges::count(text, '.') == 2 && are_parts(text, is_version_number);
}

void look_at_policy(const std::string& name, const DeviceCapacity& capacity, Found& found) {
  const RequestPolicy& policy = *capacity.policy;
  const auto refuse = [&](const std::string& why) {
    found.push_back("what a request takes of the capacity " + cut_quote(name) + ' ' + why);
  };
  const auto number = [](std::int64_t value) { return std::to_string(value); };
  if (!policy.values.empty() && policy.range) return refuse("is said by values and by a range: one of them");
  if (policy.values.size() > kMostPolicyValues)
    refuse("is one of " + number(static_cast<std::int64_t>(policy.values.size())) +
           " values, and may be one of " + number(static_cast<std::int64_t>(kMostPolicyValues)));
  if (!policy.values.empty()) {
    if (std::ranges::adjacent_find(policy.values, std::greater_equal<>()) != policy.values.end())
      refuse("is one of values that are not in ascending order");
    if (policy.values.back() > capacity.value) refuse("may be more than there is of it");
    if (std::ranges::find(policy.values, policy.default_amount) == policy.values.end())
      refuse("is " + number(policy.default_amount) + " by default, which is none of its values");
  }
  if (!policy.range) return;
  const RequestPolicy::Range& range = *policy.range;
  const std::int64_t most = range.max.value_or(capacity.value);
  if (most > capacity.value || range.min > capacity.value) refuse("may be more than there is of it");
  if (range.max && range.min > *range.max) refuse("has a least that is more than its most");
  if (policy.default_amount < range.min || policy.default_amount > most)
    refuse("is " + number(policy.default_amount) + " by default, which is not in its range");
  if (!range.step) return;
  if (*range.step <= 0) return refuse("has a step of " + number(*range.step) + ", and needs one above 0");
  if (*range.step > capacity.value - range.min) refuse("has a step that leads to more than there is of it");
  const auto steps = [&](std::int64_t value) { return (value - range.min) % *range.step == 0; };
  if (!steps(policy.default_amount) || (range.max && !steps(*range.max)))
    refuse("has a default or a most that its steps do not lead to");
}

void look_at_taints(const PoolDevice& device, Found& found) {
  if (device.taints.size() > kMostTaints)
    found.push_back(more_than(device.taints.size(), kMostTaints, "taints"));
  for (const DeviceTaint& taint : device.taints) {
    std::string trouble = taint.key.empty() ? "it is empty" : label_key_trouble(taint.key);
    if (!trouble.empty()) found.push_back("the key of its taint " + cut_quote(taint.key) + ": " + trouble);
    trouble = label_value_trouble(taint.value);
    if (!trouble.empty()) found.push_back("the value of its taint " + cut_quote(taint.key) + ": " + trouble);
  }
}

// Of a set that is there, or of what a device uses of one.
void look_at_counters(const std::string& set, const std::map<std::string, std::int64_t>& counters,
                      Found& found) {
  const auto refuse_name = [&](const std::string& name) {
    found.push_back("the counters " + cut_quote(set) + " have the name " + cut_quote(name) +
                    ", which is no DNS label of 63 characters at most");
  };
  if (!is_dns_label(set)) refuse_name(set);
  if (counters.empty()) found.push_back("there are no counters in " + cut_quote(set));
  if (counters.size() > kMostCountersOfSet) {
    found.push_back("there are " + std::to_string(counters.size()) + " counters in " + cut_quote(set) +
                    ", and may be " + std::to_string(kMostCountersOfSet));
  }
  for (const auto& [name, value] : counters)
    if (!is_dns_label(name)) refuse_name(name);
}

}  // namespace

std::string attribute_name_trouble(std::string_view name) {
  const std::size_t slash = name.find('/');
  const std::string_view domain = slash == std::string_view::npos ? "" : name.substr(0, slash);
  const std::string_view id = slash == std::string_view::npos ? name : name.substr(slash + 1);
  if (slash != std::string_view::npos &&
      (domain.size() > kLongestAttributeDomain || !is_dns_subdomain(domain)))
    return "the domain before the '/' is a DNS subdomain of 63 characters at most: small letters, digits, "
           "'-' "
           "and '.'";
  if (id.size() > kLongestAttributeId)
    return "it has at most 32 characters after its domain; this one has " + std::to_string(id.size());
  if (!is_c_identifier(id))
    return "it is made of letters, digits and '_', and begins with no digit, as \"numaNode\"";
  return {};
}

std::string attribute_value_trouble(const AttributeValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  if (const auto* const version = std::get_if<SemanticVersion>(&value)) {
    if (!is_semantic_version(version->text))
      return cut_quote(version->text) + " is no version as semver.org has them, as \"1.2.3\"";
    text = &version->text;
  }
  if (!text || text->size() <= kLongestAttributeText) return {};
  return "it has " + std::to_string(text->size()) + " bytes, and may have " +
         std::to_string(kLongestAttributeText);
}

std::vector<std::string> limits_broken(const PoolDevice& device) {
  Found found;
  if (!is_dns_label(device.name)) found.push_back("its name is no DNS label of 63 characters at most");
  const std::size_t values = device.attributes.size() + device.capacity.size();
  if (values > kMostAttributesAndCapacities)
    found.push_back(more_than(values, kMostAttributesAndCapacities, "attributes and capacities"));
  for (const auto& [name, value] : device.attributes) {
    for (const std::string& trouble : {attribute_name_trouble(name), attribute_value_trouble(value)})
      if (!trouble.empty()) found.push_back("the attribute " + cut_quote(name) + ": " + trouble);
  }
  for (const auto& [name, capacity] : device.capacity) {
    if (const std::string trouble = attribute_name_trouble(name); !trouble.empty())
      found.push_back("the capacity " + cut_quote(name) + ": " + trouble);
    if (capacity.value < 0) found.push_back("the capacity " + cut_quote(name) + " is below zero");
    if (capacity.policy && !device.several_claims)
      found.push_back("what a request takes of the capacity " + cut_quote(name) +
                      " is only said where several claims may share the device");
    else if (capacity.policy)
      look_at_policy(name, capacity, found);
  }
  look_at_taints(device, found);
  if (device.counters.size() > kMostCounterSetsOfDevice)
    found.push_back(more_than(device.counters.size(), kMostCounterSetsOfDevice, "counter sets"));
  std::set<std::string> sets;
  for (const CounterUse& use : device.counters) {
    look_at_counters(use.set, use.counters, found);
    if (!sets.insert(use.set).second)
      found.push_back("the counters " + cut_quote(use.set) + " stand there twice");
  }
  return found;
}

std::vector<std::string> limits_broken(const Pool& pool) {
  Found found;
  if (pool.name.size() > kLongestPoolName)
    found.push_back("the pool's name has " + std::to_string(pool.name.size()) + " characters, and may have " +
                    std::to_string(kLongestPoolName));
  std::map<std::string, const CounterSet*> sets;
  for (const CounterSet& set : pool.counters) {
    look_at_counters(set.name, set.counters, found);
    if (!sets.emplace(set.name, &set).second)
      found.push_back("the counters " + cut_quote(set.name) + " stand there twice");
  }
  std::set<std::string> names;
  for (const PoolDevice& device : pool.devices) {
    const auto refuse = [&](const std::string& why) {
      found.push_back("device " + cut_quote(device.name) + ": " + why);
    };
    for (const std::string& why : limits_broken(device)) refuse(why);
    if (!names.insert(device.name).second) refuse("another one has its name");
    for (const CounterUse& use : device.counters) {
      const auto set = sets.find(use.set);
      if (set == sets.end()) {
        refuse("the pool has no counters " + cut_quote(use.set));
        continue;
      }
      for (const auto& [name, value] : use.counters)
        if (!set->second->counters.contains(name))
          refuse("the pool's counters " + cut_quote(use.set) + " have no " + cut_quote(name));
    }
  }
  return found;
}

}  // namespace plughost
