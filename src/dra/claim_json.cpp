#include "dra/claim_json.hpp"

#include <limits>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "device/quantity.hpp"
#include "device/resource_name.hpp"
#include "dra/names.hpp"
#include "dra/uid.hpp"

namespace plughost {
namespace {

constexpr std::size_t kLongestObjectName = 253;
constexpr std::size_t kLongestCapacityName = 63 + 1 + 32;
constexpr std::size_t kMostCapacities = 128;

// Labels with that many slashes between them at most.
bool is_path(std::string_view text, std::size_t longest, std::size_t most_slashes) {
  if (text.size() > longest) return false;
  for (std::size_t slashes = 0;; ++slashes) {
    const std::size_t slash = text.find('/');
    if (slashes > most_slashes || !is_name_part(text.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    text.remove_prefix(slash + 1);
  }
}

std::string shown(std::string_view text) {
  return '"' + printable(text.substr(0, kLongestObjectName)) + '"';
}

// A manifest that was read as YAML has text for it.
bool is_true(const Json& value) {
  return value.truth() || value.text() == "true";
}

// Of a quantity; nullopt: none, or no whole one.
std::optional<std::int64_t> amount_of(const Json& value) {
  if (value.text().empty()) {
    if (value != Json(value.number()) || value.number() < 0) return std::nullopt;
    return value.number();
  }
  const auto amount = whole_quantity(value.text());
  if (!amount || *amount > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return std::nullopt;
  return static_cast<std::int64_t>(*amount);
}

// Of one result. The first trouble is what counts.
class Reading {
 public:
  Reading(std::string_view driver, std::size_t index)
      : driver_(driver), where_("status.allocation.devices.results[" + std::to_string(index) + "]") {}

  AllocatedDevice read(const Json& result) {
    AllocatedDevice device{.request = result["request"].text(),
                           .pool = result["pool"].text(),
                           .device = result["device"].text(),
                           .admin_access = is_true(result["adminAccess"])};
    if (!is_path(device.request, kLongestLabel * 2 + 1, 1))
      note(".request", shown(device.request) + " is no request's name");
    if (!is_path(device.pool, kLongestPoolName, kLongestPoolName))
      note(".pool", shown(device.pool) + " is no pool's name");
    if (!is_path(device.device, kLongestLabel, 0))
      note(".device", shown(device.device) + " is no device's name");
    if (const Json& share = result["shareID"]; !share.is_null()) {
      device.share_id = share.text();
      if (!is_uid(*device.share_id)) note(".shareID", shown(*device.share_id) + " is no UID");
    }
    read_capacity(result["consumedCapacity"], device);
    return device;
  }
  const std::string& trouble() const { return trouble_; }

 private:
  void read_capacity(const Json& consumed, AllocatedDevice& device) {
    if (consumed.object().size() > kMostCapacities) return note(".consumedCapacity", "there are too many");
    for (const auto& [full_name, value] : consumed.object()) {
      std::string_view name = full_name;
      if (name.starts_with(driver_) && name.substr(driver_.size()).starts_with('/'))
        name.remove_prefix(driver_.size() + 1);
      const auto amount = amount_of(value);
      if (name.empty() || name.size() > kLongestCapacityName)
        note(".consumedCapacity", shown(name) + " is no capacity's name");
      else if (!amount)
        note(".consumedCapacity", shown(name) + " has " +
                                      printable(value.dump().substr(0, kLongestObjectName)) +
                                      ", which is no whole number");
      else
        device.consumed.emplace(name, *amount);
    }
  }

  void note(const char* what, const std::string& why) {
    if (trouble_.empty()) trouble_ = where_ + what + ": " + why;
  }

  std::string_view driver_;
  std::string where_;
  std::string trouble_;
};

std::vector<Claim::Consumer> consumers_in(const Json& reserved_for) {
  std::vector<Claim::Consumer> consumers;
  for (const Json& each : reserved_for.array()) {
    if (consumers.size() == kMostConsumers) break;
    Claim::Consumer consumer{.uid = each["uid"].text(), .name = each["name"].text()};
    const bool is_pod = each["resource"].text() == "pods" && is_uid(consumer.uid) &&
                        is_path(consumer.name, kLongestObjectName, 0);
    if (is_pod) consumers.push_back(std::move(consumer));
  }
  return consumers;
}

}  // namespace

std::variant<Claim, std::string> parse_claim(const Json& object, std::string_view driver) {
  if (const std::string& kind = object["kind"].text(); !kind.empty() && kind != "ResourceClaim")
    return "a ResourceClaim is wanted, and this is a " + shown(kind);
  const Json& metadata = object["metadata"];
  Claim claim{.ref = {.uid = metadata["uid"].text(),
                      .name_space = metadata["namespace"].text(),
                      .name = metadata["name"].text()}};
  if (!is_path(claim.ref.name_space, kLongestLabel, 0) || !is_path(claim.ref.name, kLongestObjectName, 0))
    return std::string("metadata: a ResourceClaim has a namespace and a name");
  if (!is_uid(claim.ref.uid)) return "metadata.uid: " + shown(claim.ref.uid) + " is no UID";

  const Json& status = object["status"];
  claim.allocated = !status["allocation"].is_null();
  claim.reserved = !status["reservedFor"].array().empty();
  claim.consumers = consumers_in(status["reservedFor"]);
  const Json::Array& results = status["allocation"]["devices"]["results"].array();
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i]["driver"].text() != driver) continue;
    if (claim.devices.size() == kMostAllocated)
      return "status.allocation.devices.results: more than " + std::to_string(kMostAllocated) +
             " devices are allocated";
    Reading reading(driver, i);
    claim.devices.push_back(reading.read(results[i]));
    if (!reading.trouble().empty()) return reading.trouble();
  }
  return claim;
}

}  // namespace plughost
