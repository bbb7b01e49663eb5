#pragma once
// The control service's messages as JSON: what `-o json`, /status.json and the page read. Pure functions,
// thread-safe.

#include <nlohmann/json.hpp>
#include <string>

#include "plughost/v1/control.pb.h"

namespace plughost {

nlohmann::ordered_json json_of(const v1::Status& status);
nlohmann::ordered_json json_of(const v1::Event& event);
nlohmann::ordered_json json_of(const v1::ReloadResponse& answer);

// What people and programs call a stage: "attached".
std::string stage_name(v1::Stage stage);
// How many of the resource's ids pods hold, and how many ids of Healthy and Unhealthy devices there are.
struct DeviceCounts {
  std::size_t healthy = 0;
  std::size_t unhealthy = 0;
  std::size_t held = 0;
};
DeviceCounts counts_of(const v1::Resource& resource);

}  // namespace plughost
