#pragma once
// What an entry with `advertise: dra` says on top of its recipe. A plain value.

#include <map>
#include <string>
#include <vector>

#include "device/attribute_type.hpp"
#include "device/recipe.hpp"
#include "device/template.hpp"

namespace plughost {

// What becomes of a device in its pool while it is Unhealthy.
enum class OnUnhealthy {
  kTaint,     // NoSchedule: nobody new gets it
  kEvict,     // NoExecute: and the pods that hold it are evicted
  kWithdraw,  // it is not in the pool, unless a claim holds it: then it is tainted
};

// One that the entry adds.
struct DraAttribute {
  std::string name;  // "model", or "dra.net/numaNode" with a domain of its own
  Template value;
  AttributeType type = AttributeType::kText;

  bool operator==(const DraAttribute&) const = default;
};

struct DraTerms {
  OnUnhealthy on_unhealthy = OnUnhealthy::kTaint;
  std::vector<DraAttribute> attributes;
  std::map<std::string, AttributeType, std::less<>> types;  // of the kind's own: those that are no text
  CardUnit unit;                                            // of which a card's replicas are

  bool operator==(const DraTerms&) const = default;
};

}  // namespace plughost
