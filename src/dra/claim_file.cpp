#include "dra/claim_file.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/number.hpp"
#include "base/text.hpp"
#include "device/cdi.hpp"
#include "dra/claim_json.hpp"
#include "dra/names.hpp"
#include "dra/uid.hpp"

namespace plughost {
namespace {

constexpr const char* kVersion = "0.6.0";  // the first with annotations
constexpr std::size_t kMostAnnotations = std::size_t{256} << 10u;
// Whoever has more, such as all nodes below a directory, is not recognised by them.
constexpr std::size_t kMostPlaces = 16;
constexpr std::string_view kEnding = ".json";

constexpr const char* kNamespace = "plughost.io/namespace";
constexpr const char* kName = "plughost.io/name";

std::string device_key(std::size_t n) {
  return "plughost.io/device-" + std::to_string(n);
}

std::string pod_key(std::size_t n) {
  return "plughost.io/pod-" + std::to_string(n);
}

std::string kind_of(std::string_view driver) {
  return std::string(driver) + "/claim";
}

std::string device_name(std::string_view uid, std::string_view request) {
  return std::string(uid) + '-' + std::string(request);
}

// A path may have them: "%20", and then a '%' is "%25".
std::string without_blanks_in(std::string_view value) {
  std::string text;
  for (const char c : value) text += c == ' ' ? "%20" : c == '%' ? "%25" : std::string(1, c);
  return text;
}

std::string with_blanks_in(std::string_view text) {
  std::string value;
  while (!text.empty()) {
    const bool blank = text.starts_with("%20");
    const bool escaped = blank || text.starts_with("%25");
    value += blank ? ' ' : text.front();
    text.remove_prefix(escaped ? 3 : 1);
  }
  return value;
}

// Words with a value each, and blanks between them: no value has one.
std::string text_of(const ClaimedDevice& device) {
  const AllocatedDevice& allocated = device.allocated;
  std::string text =
      "request=" + allocated.request + " pool=" + allocated.pool + " device=" + allocated.device;
  if (allocated.admin_access) text += " adminAccess=true";
  if (allocated.share_id) text += " share=" + *allocated.share_id;
  for (const auto& [name, amount] : allocated.consumed)
    text += " consumed:" + name + '=' + std::to_string(amount);
  for (const std::string& name : device.cdi) text += " cdi=" + name;
  if (device.pre_start) text += " preStart=true";
  const auto add = [&](const char* key, const std::string& value) {
    if (!value.empty()) text += std::string(" ") + key + '=' + without_blanks_in(value);
  };
  add("uuid", device.identity.uuid);
  add("card", device.identity.card);
  add("pci", device.identity.pci);
  if (device.identity.places.size() > kMostPlaces) return text;
  for (const std::string& place : device.identity.places) add("place", place);
  return text;
}

// nullopt: the text is no device. Words that are not known are those of another version.
std::optional<ClaimedDevice> device_in(std::string_view text) {
  constexpr std::string_view kConsumed = "consumed:";
  ClaimedDevice device;
  AllocatedDevice& allocated = device.allocated;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const std::string_view key = word.substr(0, equals);
    const std::string_view value = word.substr(equals + 1);
    if (key == "request") allocated.request = value;
    if (key == "pool") allocated.pool = value;
    if (key == "device") allocated.device = value;
    if (key == "adminAccess") allocated.admin_access = value == "true";
    if (key == "share") allocated.share_id = value;
    if (key == "cdi") device.cdi.emplace_back(value);
    if (key == "preStart") device.pre_start = value == "true";
    if (key == "uuid") device.identity.uuid = with_blanks_in(value);
    if (key == "card") device.identity.card = with_blanks_in(value);
    if (key == "pci") device.identity.pci = with_blanks_in(value);
    if (key == "place") device.identity.places.insert(with_blanks_in(value));
    if (key.starts_with(kConsumed)) {
      const auto amount = number_in<std::int64_t>(value);
      if (!amount) return std::nullopt;
      allocated.consumed.emplace(key.substr(kConsumed.size()), *amount);
    }
  }
  const bool whole = !allocated.request.empty() && !allocated.pool.empty() && !allocated.device.empty() &&
                     !device.cdi.empty();
  return whole ? std::optional(std::move(device)) : std::nullopt;
}

// "<uid> <name>"
std::optional<Claim::Consumer> pod_in(std::string_view text) {
  const std::size_t blank = text.find(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  return Claim::Consumer{.uid = std::string(text.substr(0, blank)),
                         .name = std::string(text.substr(blank + 1))};
}

Json annotations_of(const PreparedClaim& claim) {
  Json annotations{{kNamespace, claim.ref.name_space}, {kName, claim.ref.name}};
  for (std::size_t n = 0; n < claim.devices.size(); ++n)
    annotations[device_key(n)] = text_of(claim.devices[n]);
  for (std::size_t n = 0; n < claim.consumers.size(); ++n)
    annotations[pod_key(n)] = claim.consumers[n].uid + ' ' + claim.consumers[n].name;
  return annotations;
}

std::size_t size_of(const Json& annotations) {
  std::size_t size = 0;
  for (const auto& [key, value] : annotations.object()) size += key.size() + value.text().size();
  return size;
}

}  // namespace

std::vector<PreparedDevice> PreparedClaim::answer() const {
  std::vector<PreparedDevice> answer;
  for (const ClaimedDevice& device : devices) {
    answer.push_back({.requests = {device.allocated.main_request()},
                      .pool = device.allocated.pool,
                      .device = device.allocated.device,
                      .cdi = device.cdi,
                      .share_id = device.allocated.share_id});
  }
  return answer;
}

std::string claim_cdi_name(std::string_view driver, std::string_view uid, std::string_view request) {
  return kind_of(driver) + '=' + device_name(uid, request);
}

std::optional<std::string> claim_specification(std::string_view driver, const PreparedClaim& claim,
                                               const std::map<std::string, CdiEdits>& edits) {
  Json annotations = annotations_of(claim);
  if (size_of(annotations) > kMostAnnotations) return std::nullopt;
  Json devices = Json::Array();
  for (const auto& [request, of_request] : edits)
    devices.push_back(
        {{"name", device_name(claim.ref.uid, request)}, {"containerEdits", cdi_edits_json(of_request)}});
  if (edits.empty()) {
    // CDI takes no specification without a device. Nobody names this one.
    CdiEdits marker;
    marker.env["PLUGHOST_CLAIM"] = claim.ref.uid;
    devices.push_back({{"name", claim.ref.uid}, {"containerEdits", cdi_edits_json(marker)}});
  }
  const bool moves_interfaces = std::ranges::any_of(
      edits, [](const auto& of_request) { return !of_request.second.net_devices.empty(); });
  const Json specification{{"cdiVersion", moves_interfaces ? kCdiOfInterfaces : kVersion},
                           {"kind", kind_of(driver)},
                           {"annotations", std::move(annotations)},
                           {"devices", std::move(devices)}};
  std::string text = specification.dump_indented() + '\n';
  if (text.size() > kMostClaimFile) return std::nullopt;
  return text;
}

std::string driver_of_claim_specification(const Json& specification) {
  const std::string& kind = specification["kind"].text();
  std::string driver = kind.substr(0, kind.find('/'));
  return driver_name_trouble(driver).empty() ? driver : std::string();
}

std::variant<PreparedClaim, std::string> parse_claim_specification(const Json& specification,
                                                                   std::string_view driver,
                                                                   std::string_view uid) {
  if (specification["kind"].text() != kind_of(driver))
    return "its kind is \"" + printable(specification["kind"].text().substr(0, 253)) + "\", and not " +
           kind_of(driver);
  const Json& annotations = specification["annotations"];
  PreparedClaim claim{.ref = {.uid = std::string(uid),
                              .name_space = annotations[kNamespace].text(),
                              .name = annotations[kName].text()}};
  if (claim.ref.name_space.empty() || claim.ref.name.empty())
    return std::string("its annotations do not say whose it is");
  for (std::size_t n = 0; n < kMostAllocated && !annotations[device_key(n)].is_null(); ++n) {
    auto device = device_in(annotations[device_key(n)].text());
    if (!device) return "the annotation " + device_key(n) + " is no device";
    claim.devices.push_back(*std::move(device));
  }
  if (claim.devices.empty()) return std::string("its annotations name no device");
  for (std::size_t n = 0; n < kMostConsumers && !annotations[pod_key(n)].is_null(); ++n) {
    auto pod = pod_in(annotations[pod_key(n)].text());
    if (!pod) return "the annotation " + pod_key(n) + " is no pod";
    claim.consumers.push_back(*std::move(pod));
  }
  return claim;
}

std::string claim_file_name(std::string_view owner, std::string_view uid) {
  return std::string(owner) + "-claim-" + std::string(uid) + std::string(kEnding);
}

std::optional<std::string_view> uid_of_claim_file(std::string_view owner, std::string_view file) {
  constexpr std::string_view kClaim = "-claim-";
  if (!file.starts_with(owner)) return std::nullopt;
  file.remove_prefix(owner.size());
  if (!file.starts_with(kClaim) || !file.ends_with(kEnding)) return std::nullopt;
  const std::string_view uid = file.substr(kClaim.size(), file.size() - kClaim.size() - kEnding.size());
  // A resource's name has a '_' there, for its '/'.
  return is_uid(uid) ? std::optional(uid) : std::nullopt;
}

}  // namespace plughost
