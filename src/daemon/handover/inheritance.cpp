#include "daemon/handover/inheritance.hpp"

#include <utility>

namespace plughost {
namespace {

using std::chrono::milliseconds;

std::int64_t age_at(Inheritance::Clock::time_point now, Inheritance::Clock::time_point then) {
  return std::chrono::duration_cast<milliseconds>(now - then).count();
}

// Returns {"resource": {"device": …}}.
template <typename Value, typename Written>
Json devices_json(const Inheritance::ByDevice<Value>& devices, Written written) {
  Json json = Json::Object();
  for (const auto& [resource, its] : devices) {
    Json& members = json[std::string_view(resource)] = Json::Object();
    for (const auto& [id, value] : its) members[std::string_view(id)] = written(value);
  }
  return json;
}

template <typename Value, typename Read>
Inheritance::ByDevice<Value> devices_of(const Json& json, Read read) {
  Inheritance::ByDevice<Value> devices;
  for (const auto& [resource, its] : json.object())
    for (const auto& [id, value] : its.object()) devices[resource][id] = read(value);
  return devices;
}

}  // namespace

Json Inheritance::json(Clock::time_point now) const {
  Json told{{"reload", reload}};
  told["resources"] = Json::Object();
  for (const auto& [resource, entry] : resources) told["resources"][std::string_view(resource)] = entry;
  told["flapping"] = devices_json(flapping, [now](Clock::time_point then) { return age_at(now, then); });
  told["faults"] = devices_json(faults, [](const std::string& fault) { return fault; });
  told["holds"] = Json::Array();
  for (const Ledger::Hold& hold : holds)
    told["holds"].push_back({{"resource", hold.name.resource},
                             {"device", hold.name.id},
                             {"who", hold.who},
                             {"ageMs", hold.age.count()}});
  return told;
}

Inheritance Inheritance::of(const Json& json, Clock::time_point now) {
  Inheritance told{.reload = json["reload"].truth()};
  for (const auto& [resource, entry] : json["resources"].object()) told.resources[resource] = entry.text();
  told.flapping = devices_of<Clock::time_point>(
      json["flapping"], [now](const Json& age) { return now - milliseconds(age.number()); });
  told.faults = devices_of<std::string>(json["faults"], [](const Json& fault) { return fault.text(); });
  for (const Json& hold : json["holds"].array())
    told.holds.push_back({.name = {hold["resource"].text(), hold["device"].text()},
                          .who = hold["who"].text(),
                          .age = milliseconds(hold["ageMs"].number())});
  return told;
}

}  // namespace plughost
