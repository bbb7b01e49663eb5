#include "commands/simulate_claims.hpp"

#include <deque>
#include <iostream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/text.hpp"
#include "commands/given_file.hpp"
#include "commands/output.hpp"
#include "document/as_json.hpp"
#include "dra/claim_json.hpp"
#include "dra/names.hpp"
#include "dra/preparation.hpp"
#include "host/device_nodes.hpp"

namespace plughost {
namespace {

// What one claim's containers get, by request; or why nothing.
using ClaimAnswer = std::variant<std::map<std::string, Allocation>, std::string>;

Claim claim_in(const Node& node, const std::string& driver) {
  auto claim = parse_claim(as_json(node), driver);
  if (const auto* const why = std::get_if<std::string>(&claim))
    throw std::runtime_error(node.mark.text() + ": " + *why);
  return std::get<Claim>(std::move(claim));
}

// As they are called on the nodes whose devices the claims have.
OfferPools pools_of(const std::vector<Claim>& claims, std::span<const Offer> offers) {
  OfferPools pools;
  for (const Offer& offer : offers) {
    if (!offer.recipe->dra) continue;
    const auto shared = std::make_shared<const Offer>(offer);
    for (const Claim& claim : claims) {
      for (const AllocatedDevice& device : claim.devices)
        pools.emplace(pool_name(device.pool.substr(0, device.pool.find('/')), offer.resource), shared);
    }
  }
  return pools;
}

ClaimAnswer answer_of(const HostRoot& host, const ReadyClaim& ready, const OfferPools& pools) {
  std::map<std::string, Allocation> by_request;
  for (const ClaimedDevice& device : ready.claim.devices) {
    Allocation& allocation = by_request[device.allocated.main_request()];
    for (const std::string& name : device.cdi) {
      if (std::ranges::find(allocation.cdi, name) == allocation.cdi.end()) allocation.cdi.push_back(name);
    }
  }
  for (auto& [request, allocation] : by_request) {
    if (auto edits = request_edits(ready, request, pools)) allocation.by_cdi = *std::move(edits);
    if (std::string missing = missing_device_node(host, allocation); !missing.empty()) return missing;
  }
  return by_request;
}

Json json_of(const Claim& claim, const ClaimAnswer& told) {
  Json json{{"namespace", claim.ref.name_space}, {"claim", claim.ref.name}};
  if (const auto* const why = std::get_if<std::string>(&told)) json["refused"] = *why;
  if (const auto* const by_request = std::get_if<0>(&told)) {
    for (const auto& [request, allocation] : *by_request) {
      Json devices = Json::Array();
      for (const AllocatedDevice& device : claim.devices) {
        if (device.main_request() == request)
          devices.push_back({{"pool", device.pool}, {"device", device.device}});
      }
      json["requests"].push_back(
          {{"request", request}, {"devices", std::move(devices)}, {"answer", json_of(allocation)}});
    }
  }
  return json;
}

std::string text_of(const Claim& claim, const ClaimAnswer& told) {
  std::string text = printable(claim.ref.text());
  if (const auto* const why = std::get_if<std::string>(&told))
    return text + " is refused\n  " + printable(*why) + '\n';
  for (const auto& [request, allocation] : std::get<0>(told)) {
    text += "\n  gives a container with its request " + request + '\n';
    for (const AllocatedDevice& device : claim.devices) {
      if (device.main_request() == request)
        text += "    device      " + device.pool + '/' + device.device + '\n';
    }
    text += text_of(allocation, "    ");
    text.pop_back();
  }
  return text + '\n';
}

}  // namespace

int simulate_claims(const HostRoot& host, const Config& config, std::span<const Offer> offers,
                    const SimulateOptions& options) {
  if (!config.dra) throw std::runtime_error("no entry of the configuration has `advertise: dra`");
  const std::string& driver = config.dra->driver;
  std::vector<Claim> claims;
  for (const Node& node : objects_of_given(options.claims, "ResourceClaim", "resourceclaims"))
    claims.push_back(claim_in(node, driver));
  // Of a list, those that are ours.
  if (claims.size() > 1) std::erase_if(claims, [](const Claim& claim) { return claim.devices.empty(); });
  if (claims.empty()) throw std::runtime_error("no claim of these has a device of the driver " + driver);

  const OfferPools pools = pools_of(claims, offers);
  std::deque<PreparedClaim> prepared;
  std::vector<const PreparedClaim*> others;
  bool is_refused = false;
  Json list = Json::Array();
  for (const Claim& claim : claims) {
    auto outcome = prepare_claim(claim.ref, claim, {.driver = driver, .pools = pools, .others = others});
    ClaimAnswer told;
    if (auto* const ready = std::get_if<ReadyClaim>(&outcome)) {
      told = answer_of(host, *ready, pools);
      others.push_back(&prepared.emplace_back(std::move(ready->claim)));
    } else if (auto* const wait = std::get_if<ClaimWait>(&outcome)) {
      told = std::move(wait->why);
    } else {
      told = std::get<ClaimRefusal>(std::move(outcome)).why;
    }
    is_refused = is_refused || std::holds_alternative<std::string>(told);
    if (options.format == OutputFormat::kTable)
      std::cout << text_of(claim, told);
    else
      list.push_back(json_of(claim, told));
  }
  if (options.format != OutputFormat::kTable)
    print(std::cout, {{"driver", driver}, {"claims", std::move(list)}}, options.format);
  return is_refused ? 1 : 0;
}

}  // namespace plughost
