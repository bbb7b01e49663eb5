#pragma once
// The CDI specification of a prepared claim: what containers get beside the devices' own specifications, and
// in its annotations all that has to be known of the claim when plughost starts again. Pure functions,
// thread-safe. Source: SPEC.md, specs-go and internal/validation of the CDI project.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.hpp"
#include "device/allocation.hpp"
#include "device/device_identity.hpp"
#include "dra/claim.hpp"

namespace plughost {

// CDI's limit for the annotations of a specification is 256 KiB, and what is beside them is less.
inline constexpr std::size_t kMostClaimFile = std::size_t{1} << 20u;

// A device of it, and what the kubelet was answered.
struct ClaimedDevice {
  AllocatedDevice allocated;
  std::vector<std::string> cdi;
  bool pre_start = false;        // a program runs for it before each start
  DeviceIdentity identity = {};  // nothing is known of what somebody has for administration
  bool operator==(const ClaimedDevice&) const = default;
};

struct PreparedClaim {
  ClaimRef ref;
  std::vector<ClaimedDevice> devices;
  std::vector<Claim::Consumer> consumers;  // as they were when it was prepared

  std::vector<PreparedDevice> answer() const;
  bool operator==(const PreparedClaim&) const = default;
};

// "plughost.example.com/claim=<uid>-camera": what the request's devices bring in together.
std::string claim_cdi_name(std::string_view driver, std::string_view uid, std::string_view request);

// The specification: JSON, the same for the same content. edits: by request, none of them empty. nullopt: it
// would be larger than CDI takes.
std::optional<std::string> claim_specification(std::string_view driver, const PreparedClaim& claim,
                                               const std::map<std::string, CdiEdits>& edits);

// Whose it is; empty: no driver's.
std::string driver_of_claim_specification(const Json& specification);

// What was written so; or why it is no such file: as a sentence on one line.
std::variant<PreparedClaim, std::string> parse_claim_specification(const Json& specification,
                                                                   std::string_view driver,
                                                                   std::string_view uid);

// The file that holds it: "plughost-claim-<uid>.json". No resource's is called so.
std::string claim_file_name(std::string_view owner, std::string_view uid);
// The UID in such a name; nullopt: it is no such name.
std::optional<std::string_view> uid_of_claim_file(std::string_view owner, std::string_view file);

}  // namespace plughost
